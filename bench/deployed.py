"""`python -m bench.deployed` compares both services under one uWSGI, as kolla-ansible deploys them.

Both have two processes with four threads, uWSGI's and kolla-ansible's options (the files are those
of `tests/deploy/deployers/kolla`), and the same cloud of 1,000 hosts. Both are also measured under
gunicorn with threads (`gthread`). Several clients request ten candidates at the same time, on
connections that they keep, or on a new one for each request. With kolla-ansible's file, uWSGI ends
each connection after the response. The columns are requests per second, the median latency, the
processor time of the server for each request, and the connections to the database that were opened
for each 1,000 requests.

`--only rows` measures the requests that nova and nova-compute send, under the same uWSGI. One row
has tokens of an identity service, with memcached as kolla-ansible configures it.

uWSGI contains the Python of the Linux distribution, so both services must be installed for the same
version.
"""

from __future__ import annotations

import argparse
import http.client
import os
import site
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlalchemy as sa

from bench.__main__ import Databases
from bench.aims import times_faster, times_less_cpu
from bench.clients import all_at_once, crowd
from bench.clouds import computes, flat
from bench.measure import measure as measure_scenario
from bench.scenario import Scenario
from bench.scenarios import FLAT, OF_NOVA, limited
from bench.servers import ENTRY, REPOSITORY, Server, serving
from bench.tables import Cell, Table, figure
from tests.api import identity
from tests.kit.cloud import Cloud, consumer_uuid, provider_uuid
from tests.kit.engines import SERVERS
from tests.kit.listener import listening
from tests.kit.peer import peer_environment
from tests.kit.ports import free_port
from tests.kit.service import HEADERS

KOLLA = REPOSITORY / "tests/deploy/deployers/kolla"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
PATH = limited(FLAT, 10)
HOSTS = 1000
CLIENTS = 8


FLAT_CLOUD, COMPUTES = flat(HOSTS, 20), computes(HOSTS, 20)
# nova's request with the trait that an image of a usual format requires.
REQUEST = f"{OF_NOVA}&required=COMPUTE_IMAGE_TYPE_QCOW2"
FIFTY = limited(REQUEST.replace("&limit=1000", ""), 50)
BY_MEMORY = '[{"by": "free", "resource_class": "MEMORY_MB", "first": "most"}]'


def _rows(cloud: Cloud, rows: Iterable[tuple[str, str, str, int]]) -> list[Scenario]:
    return [Scenario(name, cloud, does, what, at_once=number) for name, does, what, number in rows]


# Part of placement.conf, and whether callers have tokens -> the rows that are measured with it.
ROWS: dict[tuple[str, bool], list[Scenario]] = {
    ("", False): [
        *_rows(
            COMPUTES,
            [
                ("nova's request", "get at 1.36", REQUEST, 1),
                ("nova's request and PUT, 8 clients", "schedule", REQUEST, 8),
                ("nova-compute, nothing changed", "update", "", 1),
                ("nova-compute, an inventory changed", "update changed", "", 1),
            ],
        ),
        *_rows(
            FLAT_CLOUD,
            [
                ("PUT allocations", "put", "", 1),
                ("DELETE allocations", "delete", "", 1),
                ("one provider", "get", f"/resource_providers/{provider_uuid(77)}", 1),
                ("GET /", "get", "/", 1),
                ("claims on one host, 8 clients", "contend", "", 8),
                ("one consumer", "get", f"/allocations/{consumer_uuid(7)}", 1),
            ],
        ),
    ],
    (f"[placement]\norder = {BY_MEMORY}\n", False): _rows(
        COMPUTES,
        [
            ("nova's request, limit 50, order", "get at 1.36", FIFTY, 1),
            ("the same and PUT, 8 clients", "schedule", FIFTY, 8),
        ],
    ),
    ("", True): _rows(
        FLAT_CLOUD, [("one consumer, a token", "get", f"/allocations/{consumer_uuid(7)}", 1)]
    ),
}


def uwsgi(packages: Path, home: Path) -> list[str]:
    """Return the command for uWSGI with kolla-ansible's file and the packages of a virtualenv."""
    virtualenv = home / "virtualenv"
    create = ["/usr/bin/python3", "-m", "venv", "--without-pip", str(virtualenv)]
    subprocess.run(create, check=True)
    line = f"import site; site.addsitedir({str(packages)!r})\n"
    (virtualenv / f"lib/{PYTHON}/site-packages/bench.pth").write_text(line)
    left_out = ("http =", "logto2 =", "uid =", "processes =", "threads =", "static-map =")
    lines = (KOLLA / "placement-api-uwsgi.ini").read_text().splitlines()
    ini = home / "uwsgi.ini"
    ini.write_text("\n".join(line for line in lines if not line.startswith(left_out)))
    return [
        "uwsgi", "--plugin", "http,python3", "--virtualenv", str(virtualenv), "--need-app",
        "--ini", str(ini), "--http", "{address}", "--processes=2", "--threads=4",
    ]  # fmt: skip


def gthread(programs: Path) -> list[str]:
    """Return the command for gunicorn with threads, from the programs of a virtualenv."""
    command = [str(programs / "python"), "-m", "gunicorn", "--worker-class=gthread"]
    return [*command, "--workers=2", "--threads=4", "--keep-alive=75", "--bind={address}", ENTRY]


def measure(server: Server, seconds: float, *, kept: bool) -> Sequence[float]:
    """Send requests in several threads. Return the columns of a row."""
    times: list[float] = []
    failures: list[BaseException] = []
    until = time.monotonic() + seconds
    headers = HEADERS if kept else {**HEADERS, "Connection": "close"}

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            while time.monotonic() < until:
                started = time.perf_counter()
                connection.request("GET", PATH, headers=headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    raise RuntimeError(f"status {answer.status}")
                times.append(time.perf_counter() - started)
        except BaseException as error:
            failures.append(error)
        finally:
            connection.close()

    before, opened = server.spent(), count_connections(server)
    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    passed = time.monotonic() - started
    cpu = (server.spent() - before).server
    connections = count_connections(server) - opened - 1
    number = len(times)
    return (
        number / passed,
        1000 * statistics.median(times),
        1000 * cpu / number,
        1000 * connections / number,
    )


def count_connections(server: Server) -> int:
    """Return how many connections the database has accepted, including the one for this query."""
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        return int(conn.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Connections'").one()[1])


@contextmanager
def authentication() -> Iterator[str]:
    """Run memcached and an identity service. Yield kolla-ansible's placement.conf for them."""
    # The token that all clients send.
    identity.TOKENS["admin"] = identity.TOKENS["token-admin"]
    port = free_port()
    command = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-u", "nobody"]
    with listening(identity.identity) as url, subprocess.Popen(command) as cache:
        text = (
            (KOLLA / "placement.conf").read_text().replace("127.0.0.1:11211", f"127.0.0.1:{port}")
        )
        try:
            yield text.replace("http://127.0.0.1:5000", url)
        finally:
            cache.terminate()


def measure_rows(
    databases: Databases, sides: dict[str, tuple[Path, Path | None]], home: Path, seconds: float
) -> Table:
    """Measure the rows on all sides: name -> packages, and the checkout unless it is the peer."""
    rows: dict[str, list[Cell]] = {}
    with authentication() as configuration:
        for number, ((part, tokens), scenarios) in enumerate(ROWS.items()):
            for cloud in {each.cloud.name: each.cloud for each in scenarios}.values():
                with ExitStack() as stack:
                    servers = []
                    for name, (packages, checkout) in sides.items():
                        place = home / f"{name}-{cloud.name}-{number}"
                        place.mkdir()
                        served = serving(
                            name,
                            databases.of(name, cloud),
                            place,
                            databases.server,
                            checkout=checkout,
                            command=uwsgi(packages, place),
                            configuration=configuration + part,
                            authentication="keystone" if tokens else "noauth2",
                        )
                        servers.append(stack.enter_context(served))
                    for row in (each for each in scenarios if each.cloud.name == cloud.name):
                        rows[row.name] = _cells(row, servers, seconds)
                        print(row.name, *rows[row.name], sep="  ", flush=True)
    columns = [f"{name} {unit}" for name in sides for unit in ("ms", "CPU ms")]
    others = [name for name in sides if name != "ours"]
    columns += [f"times {unit} of {name}" for name in others for unit in ("ms", "CPU")]
    return Table.of_run(databases.engine, "request", columns, rows)


def warm_up(row: Scenario, server: Server) -> None:
    """Have all workers serve the row. The first request of a worker takes up to a second."""
    for _ in range(3):
        clients = crowd(row.does, server.port, row.cloud, row.what, CLIENTS)
        all_at_once([client.warm_up for client in clients])


def _cells(row: Scenario, servers: list[Server], seconds: float) -> list[Cell]:
    for server in servers:
        warm_up(row, server)
    figures = {name: vars(each) for name, each in measure_scenario(row, servers, seconds).items()}
    ours, cells = figures["ours"], list[Cell]()
    for server in servers:
        side = figures.get(server.name)
        cells += [figure(side["median"]), figure(side["cpu"])] if side else [None, None]
    for server in servers:
        side = figures.get(server.name)
        if server.name != "ours":
            ratios = (times_faster, times_less_cpu)
            cells += [figure(ratio(ours, side)) if side else None for ratio in ratios]
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.deployed", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each row")
    parser.add_argument("--only", choices=("candidates", "rows"), default="candidates")
    parser.add_argument("--engine", choices=tuple(SERVERS), default="mariadb", help="of the rows")
    parser.add_argument(
        "--beside", type=Path, metavar="CHECKOUT", help="with the rows, as in bench"
    )
    options = parser.parse_args()
    os.environ.setdefault("PLACEMENT_PEER", ".venv/openstack-placement")
    packages = {
        "ours": Path(site.getsitepackages()[0]),
        "peer": peer_environment() / f"lib/{PYTHON}/site-packages",
    }
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, Path(scratch))
        if options.only == "candidates":
            measure_candidates(databases, packages, Path(scratch), options.seconds)
            return
        sides: dict[str, tuple[Path, Path | None]] = {"ours": (packages["ours"], REPOSITORY)}
        if options.beside is not None:
            beside = options.beside.resolve()
            sides["before"] = (beside / f".venv/lib/{PYTHON}/site-packages", beside)
        sides["peer"] = (packages["peer"], None)
        table = measure_rows(databases, sides, Path(scratch), options.seconds)
    table.keep("deployed-rows")


def measure_candidates(
    databases: Databases, packages: dict[str, Path], scratch: Path, seconds: float
) -> None:
    """Measure one search under uWSGI and gunicorn."""
    programs = {"ours": Path(sys.executable).parent, "peer": peer_environment() / "bin"}
    rows: dict[str, list[Cell]] = {}
    for under in ("uWSGI", "gthread"):
        for name in ("ours", "peer"):
            home = scratch / f"{under}-{name}"
            home.mkdir()
            command = gthread(programs[name])
            if under == "uWSGI":
                command = uwsgi(packages[name], home)
            with ExitStack() as stack:
                served = serving(
                    name,
                    databases.of(name, FLAT_CLOUD),
                    home,
                    databases.server,
                    checkout=REPOSITORY if name == "ours" else None,
                    command=command,
                    configuration=(KOLLA / "placement.conf").read_text(),
                )
                server = stack.enter_context(served)
                measure(server, 2, kept=False)  # caches
                for kept in (False, True):
                    row = measure(server, seconds, kept=kept)
                    title = f"{name}, {under}, {'kept' if kept else 'closed'}"
                    rows[title] = [figure(each) for each in row]
                    print(title, *rows[title], flush=True)
    columns = ["requests/s", "median ms", "CPU ms of the server", "connections per 1,000 requests"]
    Table.of_run("mariadb", "service, server, connections", columns, rows).keep("deployed")


if __name__ == "__main__":
    main()
