"""The configuration of the servers in these tests, and functions that wait for them."""

from __future__ import annotations

import configparser
import socket
import subprocess
import time
from pathlib import Path

from tests.kit.processes import REPOSITORY, START, NoAnswerError, send

# Runs a command with the socket that is its standard input, as systemd passes it.
ACTIVATED = ("sh", "-c", 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&0 </dev/null', "sh")

CONFIGURATION = """
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////var/lib/placement/placement.db
[oslo_middleware]
enable_proxy_headers_parsing = true
[explorer]
enabled = true
"""


def listen(port: int) -> socket.socket:
    """Open a port as systemd does for `placement.socket`."""
    unit = configparser.ConfigParser()
    unit.read(REPOSITORY / "etc/deploy/systemd/placement.socket")
    backlog = unit.getint("Socket", "Backlog")
    return socket.create_server(("127.0.0.1", port), backlog=backlog)


def await_answer(port: int, process: subprocess.Popen[bytes], log: Path, path: str = "/") -> None:
    """Wait until a server responds. Raise RuntimeError with its log if it does not respond."""
    deadline = time.monotonic() + START
    while True:
        try:
            if send(port, "GET", path).status == 200:
                return
        except (NoAnswerError, ValueError):
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"no server: {log.read_text(errors='replace')[-3000:]}")
        time.sleep(0.05)
