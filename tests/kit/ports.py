"""Ports for servers that are configured before they start, or that start again."""

from __future__ import annotations

import fcntl
import functools
import os
import socket
import tempfile
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

FIRST = 10_000
SHARE = 400  # ports of one test process
KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port without a listener, which is reused only after all others of this process."""
    ports = _own_ports()
    for _ in range(SHARE):
        port = next(ports)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("no port is free")


def ports_for_servers() -> Sequence[int]:
    """Return the ports outside the kernel's ephemeral range."""
    least, most = map(int, KERNEL.read_text().split()) if KERNEL.exists() else (32768, 60999)
    ports = [port for port in range(FIRST, 65536) if not least <= port <= most]
    return ports if len(ports) >= 4 * SHARE else range(FIRST, 65536)


_locks: list[object] = []


@functools.cache
def _own_ports() -> cycle[int]:
    """Reserve a share of the ports for the lifetime of this process."""
    ports = ports_for_servers()
    directory = Path(tempfile.gettempdir()) / f"placement-ports-{os.geteuid()}"
    directory.mkdir(exist_ok=True)
    for start in range(0, len(ports) - SHARE + 1, SHARE):
        lock = (directory / str(start)).open("a")  # of another user, it may be a link
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _locks.append(lock)
        return cycle(ports[start : start + SHARE])
    raise RuntimeError(f"all shares of the ports are taken: {directory}")
