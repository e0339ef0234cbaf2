"""`python -m bench.deployed` compares both services under one uWSGI, as kolla-ansible deploys them.

Both have two processes with four threads, uWSGI's and kolla-ansible's options (the files are those
of `tests/deploy/deployers/kolla`), and the same cloud of 1,000 hosts. Both are also measured under
gunicorn with threads (`gthread`). Several clients request ten candidates at the same time, on
connections that they keep, or on a new one for each request. With kolla-ansible's file, uWSGI ends
each connection after the response. The columns are requests per second, the median latency, the
processor time of the server for each request, and the connections to the database that were opened
for each 1,000 requests.

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
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa

from bench.__main__ import Databases
from bench.clouds import flat
from bench.scenarios import FLAT, limited
from bench.servers import ENTRY, REPOSITORY, Server, serving
from bench.tables import Cell, Table, figure
from tests.kit.peer import peer_environment
from tests.kit.service import HEADERS

KOLLA = REPOSITORY / "tests/deploy/deployers/kolla"
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
PATH = limited(FLAT, 10)
HOSTS = 1000
CLIENTS = 8


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.deployed", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each row")
    options = parser.parse_args()
    os.environ.setdefault("PLACEMENT_PEER", ".venv/openstack-placement")
    packages = {
        "ours": Path(site.getsitepackages()[0]),
        "peer": peer_environment() / f"lib/{PYTHON}/site-packages",
    }
    programs = {"ours": Path(sys.executable).parent, "peer": peer_environment() / "bin"}
    rows: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases("mariadb", Path(scratch))
        for under in ("uWSGI", "gthread"):
            for name in ("ours", "peer"):
                home = Path(scratch) / f"{under}-{name}"
                home.mkdir()
                command = gthread(programs[name])
                if under == "uWSGI":
                    command = uwsgi(packages[name], home)
                with ExitStack() as stack:
                    served = serving(
                        name,
                        databases.of(name, flat(HOSTS, 20)),
                        home,
                        databases.server,
                        checkout=REPOSITORY if name == "ours" else None,
                        command=command,
                        configuration=(KOLLA / "placement.conf").read_text(),
                    )
                    server = stack.enter_context(served)
                    measure(server, 2, kept=False)  # caches
                    for kept in (False, True):
                        row = measure(server, options.seconds, kept=kept)
                        title = f"{name}, {under}, {'kept' if kept else 'closed'}"
                        rows[title] = [figure(each) for each in row]
                        print(title, *rows[title], flush=True)
    columns = ["requests/s", "median ms", "CPU ms of the server", "connections per 1,000 requests"]
    Table.of_run("mariadb", "service, server, connections", columns, rows).keep("deployed")


if __name__ == "__main__":
    main()
