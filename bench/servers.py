"""The measured servers, and the resources that they use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from tests.kit.engines import Server as DatabaseServer
from tests.kit.peer import peer_environment
from tests.kit.ports import free_port
from tests.kit.processes import NoAnswerError, send

REPOSITORY = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
START = 120  # seconds
ENTRY = "placement.wsgi.api:application"


@dataclass(frozen=True)
class Spent:
    """The cost of requests."""

    # CPU seconds of the server.
    server: float
    # CPU seconds of the database.
    database: float
    statements: int
    # Number of rows that the database has read.
    rows: int

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.server - other.server,
            self.database - other.database,
            # Without the statement that reads the counters.
            self.statements - other.statements - (self.statements > 0),
            self.rows - other.rows,
        )


class Server:
    """A server with its workers, on a database."""

    def __init__(
        self,
        name: str,
        port: int,
        process: subprocess.Popen[bytes],
        url: str,
        database: DatabaseServer | None,
        *,
        can_stop: bool = True,
    ) -> None:
        """can_stop: whether `only` stops workers. uWSGI's may lose a connection then."""
        self.name = name
        self.port = port
        self.url = url
        self._process = process
        self._database = database
        self._can_stop = can_stop
        self._engine = sa.create_engine(url, poolclass=sa.StaticPool)

    def spent(self) -> Spent:
        """Return the total cost so far. Workers run until the server ends."""
        database = descendants(self._database.pid) if self._database else ()
        return Spent(
            sum(map(cpu_seconds, self._processes())),
            sum(map(cpu_seconds, database)),
            *_counters(self._engine),
        )

    def processor_times(self) -> tuple[float, float]:
        """Return the CPU time of the server and the database in seconds, with nanoseconds."""
        database = descendants(self._database.pid) if self._database else ()
        return _processor_time(self._processes()), _processor_time(database)

    def workers(self) -> list[int]:
        master, *workers = self._processes()
        return workers or [master]

    @contextmanager
    def only(self, worker: int) -> Iterator[None]:
        """Stop all other workers during the block.

        Otherwise, the kernel may give all requests of one client to the same worker.
        """
        others = [each for each in self.workers() if self._can_stop and each != worker]
        try:
            for each in others:
                os.kill(each, signal.SIGSTOP)
            yield
        finally:
            for each in others:
                os.kill(each, signal.SIGCONT)

    def threads(self) -> list[int]:
        paths = (Path(f"/proc/{pid}/task") for pid in self._processes())
        return [int(task.name) for path in paths for task in path.iterdir()]

    def peak_memory(self) -> float:
        """Return the peak memory of any worker, in MiB."""
        return max(_status(number, "VmHWM") for number in self._processes()) / 1024

    def _processes(self) -> list[int]:
        return descendants(self._process.pid)


def gunicorn(checkout: Path) -> list[str]:
    """Return the command that serves the service by default."""
    python = sys.executable if checkout == REPOSITORY else str(checkout / ".venv/bin/python")
    options = ["--config", "etc/gunicorn.conf.py", "--bind={address}"]
    return [python, "-m", "gunicorn", *options, ENTRY]


def uwsgi(entry: str = ENTRY) -> list[str]:
    """Return the command that serves an application with one worker of uWSGI."""
    command = [str(Path(sys.executable).with_name("uwsgi")), "--master", "--enable-threads"]
    command += ["--need-app", "--die-on-term", "--threads=4", "--disable-logging"]
    return [*command, f"--module={entry}", "--http-socket={address}"]


def peer_gunicorn() -> list[str]:
    """Return the command that serves openstack-placement by default."""
    options = ["--preload", "--timeout=600", "--limit-request-line=0", "--bind={address}"]
    return [str(peer_environment() / "bin/gunicorn"), *options, ENTRY]


def descendants(pid: int) -> list[int]:
    """Return a process and all of its descendants."""
    found = [pid]
    for parent in found:
        path = Path(f"/proc/{parent}/task/{parent}/children")
        if path.exists():
            found += [int(number) for number in path.read_text().split()]
    return found


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process with its threads, and of its ended children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # it has just ended: the next time of its parent contains its own
        return 0
    return sum(int(number) for number in fields[11:15]) / TICKS


def _processor_time(pids: Iterable[int]) -> float:
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def _counters(engine: sa.Engine) -> tuple[int, int]:
    """Return the numbers of statements executed and of rows read by the database."""
    if engine.dialect.name != "mysql":
        return 0, 0
    with engine.connect() as conn:
        rows = conn.exec_driver_sql(
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Innodb_rows_read', "
            "'Com_begin', 'Com_commit', 'Com_rollback', 'Com_set_option')"
        )
        counters = {row.Variable_name: int(row.Value) for row in rows}
    steering = ("Com_begin", "Com_commit", "Com_rollback", "Com_set_option")
    asked = counters["Questions"] - sum(counters[name] for name in steering)
    return asked, counters.get("Innodb_rows_read", 0)


@contextmanager
def serving(
    name: str,
    url: str,
    home: Path,
    database: DatabaseServer | None,
    *,
    checkout: Path | None,
    workers: int = 2,
    command: Sequence[str] = (),
    configuration: str = "",
    authentication: str = "noauth2",
) -> Iterator[Server]:
    """Serve on a database until the block ends, or on SQLite without `database`.

    checkout: checkout of this service, with the virtualenv that `make` creates. None means
    openstack-placement.
    command: another server of the service; `{address}` is replaced by host and port.
    configuration: the content of placement.conf.
    authentication: the value of [api] auth_strategy.
    """
    home.mkdir(parents=True, exist_ok=True)
    (home / "placement.conf").write_text(configuration)
    port = free_port()
    outside = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    # The peer must not import the package of this service, which has the same name.
    outside.pop("PYTHONPATH", None)
    variables = {
        **outside,
        "WEB_CONCURRENCY": str(workers),
        "OS_PLACEMENT_CONFIG_DIR": str(home),
        "OS_PLACEMENT_DATABASE__CONNECTION": url,
        "OS_API__AUTH_STRATEGY": authentication,
        "OS_DEFAULT__LOG_FILE": str(home / "log"),
        # The peer uses the same default number of candidates as this service, so none is omitted.
        "OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES": "100000",
    }
    if checkout is not None:
        command = command or gunicorn(checkout)
        where = checkout
    else:
        command = command or peer_gunicorn()
        where = home
        variables["OS_PLACEMENT_DATABASE__CONNECTION"] = url.replace("+psycopg:", "+psycopg2:")
    filled = [part.replace("{address}", f"127.0.0.1:{port}") for part in command]
    with (home / "gunicorn.log").open("wb") as log:
        process = subprocess.Popen(filled, cwd=where, env=variables, stdout=log, stderr=log)
    try:
        _wait(port, process, home)
        yield Server(name, port, process, url, database, can_stop="--ini" not in command)
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes], home: Path) -> None:
    deadline = time.monotonic() + START
    while True:
        try:
            send(port, "GET", "/")
            return
        except NoAnswerError:
            if process.poll() is not None or time.monotonic() > deadline:
                log = (home / "gunicorn.log").read_text(errors="replace")
                raise RuntimeError(f"no server: {log[-2000:]}") from None
            time.sleep(0.1)
