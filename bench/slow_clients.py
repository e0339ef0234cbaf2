"""`python -m bench.slow_clients` measures how slow clients affect the latency of others.

Bad clients connect again as soon as they are dropped. `--server` are arguments of gunicorn, to
compare: `--server="--worker-class=sync"`.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from bench.__main__ import Databases
from bench.clients import KINDS
from bench.clouds import flat
from bench.scenarios import FLAT, limited
from bench.servers import REPOSITORY, Server, serving
from tests.kit.engines import SERVERS

ESTABLISHED = 1
HEAD = "Host: x\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n\r\n"


# Function that does one step each second, until its iterator ends.
Act = Callable[[socket.socket], Iterator[None]]


def idle(sock: socket.socket) -> Iterator[None]:
    """Send nothing."""
    while established(sock):
        yield


def trickle(sock: socket.socket) -> Iterator[None]:
    """Send one byte each second."""
    while established(sock):
        sock.send(b"G")
        yield


def never_read(sock: socket.socket) -> Iterator[None]:
    """Request a large response, and never read it."""
    sock.sendall(f"GET {limited(FLAT, 1000)} HTTP/1.1\r\n{HEAD}".encode())
    while established(sock):
        yield


def established(sock: socket.socket) -> bool:
    """Return whether the server has not closed the connection."""
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO) == ESTABLISHED


class Bad(threading.Thread):
    """A client that connects, misbehaves until it is disconnected, and connects again."""

    def __init__(self, port: int, act: Act) -> None:
        super().__init__(daemon=True)
        self._port = port
        self._act = act
        self.over = threading.Event()

    def run(self) -> None:
        """Continue until the measurement ends."""
        while not self.over.wait(0.1):
            with socket.socket() as sock, suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.settimeout(1)
                sock.connect(("127.0.0.1", self._port))
                for _ in self._act(sock):
                    if self.over.wait(1):
                        break


ROWS: dict[str, list[tuple[int, Act]]] = {
    "nobody": [],
    "500 idle": [(500, idle)],
    "50 send a byte a second": [(50, trickle)],
    "50 never read": [(50, never_read)],
    "all of them": [(500, idle), (50, trickle), (50, never_read)],
}


def row(server: Server, name: str, seconds: float) -> None:
    """Measure one row, and print its medians and maxima in milliseconds."""
    crowd = [Bad(server.port, act) for number, act in ROWS[name] for _ in range(number)]
    for bad in crowd:
        bad.start()
    time.sleep(2 if crowd else 0)
    cells = []
    for kind, what in (("get", limited(FLAT, 10)), ("put", "")):
        client = KINDS[kind](server.port, flat(1000, 20), what, 1)
        times: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            started = time.monotonic()
            try:
                client.turn()
            except Exception as error:
                cells.append(f"{kind} {type(error).__name__}")
            times.append(1000 * (time.monotonic() - started))
        cells.append(f"{statistics.median(times):8.1f} {max(times):8.1f} {len(times):6d}")
        client.clean()
    for bad in crowd:
        bad.over.set()
    for bad in crowd:
        bad.join()
    print(f"{name:24} {'   '.join(cells)}", flush=True)


def main() -> None:
    """Run the measurements that the options select."""
    parser = argparse.ArgumentParser(prog="python -m bench.slow_clients", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--seconds", type=float, default=15.0, help="for each figure")
    parser.add_argument("--server", default="", help="arguments for gunicorn")
    parser.add_argument("--only", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    options = parser.parse_args()
    os.environ["GUNICORN_CMD_ARGS"] = options.server
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        url = databases.of("ours", flat(1000, 20))
        print(f"{'':24} {'GET median':>8} {'worst':>5} {'number':>6}      PUT")
        for name in options.only.split(","):
            home = Path(scratch) / "ours"
            with serving("ours", url, home, databases.server, checkout=REPOSITORY) as server:
                row(server, name, options.seconds)


if __name__ == "__main__":
    main()
