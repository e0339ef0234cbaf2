"""`python -m bench.http` measures the minimum cost of a request in several HTTP servers.

One client asks in turns `GET /`, for one provider and for ten candidates of 1,000 hosts, of each
server with one worker: gunicorn's, and uWSGI (`pip install uWSGI gunicorn_h1c`; what is not
installed is left out). What the client waits, and the processor time of the server and of the
database: medians, in microseconds. Then, if the kernel counts them, the thousands of instructions
of the server, but for those of the kernel: other work of the machine does not change them.
"""

from __future__ import annotations

import argparse
import http.client
import math
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from bench.__main__ import Databases
from bench.clouds import flat
from bench.instruction_rows import Instructions
from bench.scenarios import FLAT, limited
from bench.servers import REPOSITORY, Server, gunicorn, serving, uwsgi
from bench.tables import Cell, Table
from tests.kit.cloud import provider_uuid
from tests.kit.engines import SERVERS
from tests.kit.service import HEADERS

TURNS = 12
REQUESTS = 200  # requests in one turn
HOSTS = 1000
REQUESTED = {
    "GET /": "/",
    "one provider": f"/resource_providers/{provider_uuid(500)}",
    "10 candidates": limited(FLAT, 10),
}

KEPT = "kept"  # in names: the connection carries any number of requests
KEEPS = ("--keep-alive=75",)
# Name -> arguments of gunicorn, which all serve one worker of four threads but where they say so.
GUNICORN: dict[str, Sequence[str]] = {
    "gthread": ("--threads=4",),
    "gthread, kept": ("--threads=4", *KEEPS),
    "sync": ("--worker-class=sync", "--threads=1", "--http-parser=python"),
}
FAST: dict[str, Sequence[str]] = {
    "gthread, kept, C parser": ("--threads=4", "--http-parser=fast", *KEEPS),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.http", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--beside", type=Path, help="another checkout: its server and ours alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch, ExitStack() as stack:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        url = databases.of("ours", flat(HOSTS, 20))
        servers = []
        for number, (name, checkout, command) in enumerate(_ways(options.beside)):
            home = Path(scratch) / f"server{number}"
            way = serving(
                name, url, home, databases.server, checkout=checkout, workers=1, command=command
            )
            servers.append(stack.enter_context(way))
        measure(servers).keep("http")


def _ways(beside: Path | None) -> Iterator[tuple[str, Path, Sequence[str]]]:
    """Yield name, checkout and command of each server."""
    if beside is not None:
        checkout = beside.resolve()
        yield "beside", checkout, gunicorn(checkout)
        yield "ours", REPOSITORY, gunicorn(REPOSITORY)
        yield f"ours, {KEPT}", REPOSITORY, gunicorn(REPOSITORY)
        return
    ways = {**GUNICORN, **(FAST if find_spec("gunicorn_h1c") else {})}
    for name, arguments in ways.items():
        yield name, REPOSITORY, [*gunicorn(REPOSITORY), *arguments]
    if Path(uwsgi()[0]).exists():
        yield "uWSGI", REPOSITORY, uwsgi()


def measure(servers: Sequence[Server]) -> Table:
    """Send the requests to each server in turns. The first turn is not measured."""
    times: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for turn in range(TURNS + 1):
        for server in servers:
            for name, path in REQUESTED.items():
                measured = _turn(server, path)
                if turn:  # the first turn fills the caches
                    times.setdefault((server.name, name), []).append(measured)
    rows: dict[str, list[Cell]] = {}
    for server in servers:
        cells: list[Cell] = []
        used = []
        for name in REQUESTED:
            figures = zip(*times[server.name, name], strict=True)
            medians = [statistics.median(each) for each in figures]
            shown = [median for median in medians if not math.isnan(median)]
            cells.append(" / ".join(f"{median:.0f}" for median in shown))
            used.append(medians[1] + medians[2])
        rows[server.name] = [*cells, f"{used[1] / used[0]:.2f}"]
    columns = [*REQUESTED, "provider to root"]
    return Table.of_run("mariadb", "waits / server / database", columns, rows)


def _turn(server: Server, path: str) -> tuple[float, ...]:
    """Send many requests. Return the figures of one request, in the columns of the table."""
    waits = []
    counters = _counters(server)
    before = server.processor_times()
    kept = KEPT in server.name
    headers = HEADERS if kept else {**HEADERS, "Connection": "close"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(REQUESTS):
        started = time.perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        if not kept:
            connection.close()  # not all servers announce this
        waits.append(time.perf_counter() - started)
        assert answer.status == 200, path
    connection.close()
    after = server.processor_times()
    ours, database = (late - early for late, early in zip(after, before, strict=True))
    instructions = sum(counter.so_far() for counter in counters) if counters else math.nan
    for counter in counters:
        counter.close()
    return (
        1e6 * statistics.median(waits),
        1e6 * ours / REQUESTS,
        1e6 * database / REQUESTS,
        instructions / 1000 / REQUESTS,
    )


def _counters(server: Server) -> list[Instructions]:
    """Count the instructions of a server. Yield nothing if the kernel does not allow this."""
    try:
        return [Instructions(thread) for thread in server.threads()]
    except OSError:
        return []


if __name__ == "__main__":
    main()
