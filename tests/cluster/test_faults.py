"""Faults during claims: no acknowledged write is lost, and the service recovers.

Each test prints a line of the table: fault, engine, operations, how many were left without an
answer, and the seconds from the end of the fault to the first write that was done.
`PLACEMENT_FAULTS` says how often each fault happens (default 1). If it is repeated, there are more
operations between two faults.
"""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.model import PATIENCE, Model
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, FAMILY, behind, server
from tests.kit.processes import NoAnswerError, Process, send, serving
from tests.kit.proxy import Cut

TIMES = int(os.environ.get("PLACEMENT_FAULTS", "1"))
OPERATIONS = 150 if TIMES > 1 else 50  # between two faults

served_by_a_server = pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")
in_a_file = pytest.mark.skipif(ENGINE != "sqlite", reason="the database is no file of the service")


class Table:
    """The effects of a fault, which are measured while writers are active."""

    def __init__(self, fault: str, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
        self._fault = fault
        self._model = model
        self._capsys = capsys
        self.recoveries: list[float] = []

    def wait_for_operations(self, number: int = OPERATIONS) -> None:
        """Wait until the writers have executed more operations."""
        goal = self._model.operations + number
        self.wait_until(lambda: self._model.operations >= goal, "the writers are stuck")

    def wait_until(self, condition: Callable[[], bool], otherwise: str) -> None:
        """Wait for a condition while writers are active. `otherwise`: what is wrong if it fails."""
        deadline = time.monotonic() + PATIENCE
        while not condition() and not self._model.shared.stop:
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.02)

    def wait_for_service(self) -> None:
        """Wait for the first successful write, and record how long it took."""
        began = time.monotonic()
        port = self._model.shared.ports[0]
        while True:
            try:
                name = f"CUSTOM_{time.monotonic_ns()}"
                if send(port, "PUT", f"/traits/{name}").status == 201:
                    break
            except NoAnswerError:
                pass
            assert time.monotonic() < began + PATIENCE, "service does not come back"
            time.sleep(0.02)
        self.recoveries.append(time.monotonic() - began)

    def show(self) -> None:
        """Print a line of the table."""
        counts = self._model.shared.operations
        unknown = sum(n for kind, n in counts.items() if kind.endswith(": unknown"))
        unavailable = sum(n for kind, n in counts.items() if kind.endswith(": unavailable"))
        slowest = f"{max(self.recoveries):.2f}" if self.recoveries else "-"
        with self._capsys.disabled():
            print(
                f"\n{self._fault} | {ENGINE} | {len(self.recoveries)} times | "
                f"{self._model.operations} operations | {unknown} unanswered | "
                f"{unavailable} answered 503 | 0 lost | back after {slowest} s at the most"
            )


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url(tmp_path)


Disturb = Callable[[Table], None]


def endure(
    fault: str,
    url: str,
    processes: list[Process],
    disturb: Disturb,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run writers while `disturb` causes a fault. Then check everything."""
    model = Model([process.port for process in processes], seed=7)
    table = Table(fault, model, capsys)

    def meanwhile() -> None:
        for _ in range(TIMES):
            table.wait_for_operations()
            disturb(table)
            table.wait_for_service()
        table.wait_for_operations()

    model.run(OPERATIONS, meanwhile)
    model.check(url)
    table.show()


@served_by_a_server
def test_a_database_that_is_killed_and_started_again(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def disturb(table: Table) -> None:
        server().kill()
        time.sleep(0.5)
        server().start()

    with serving(tmp_path, [url] * 2) as processes:
        endure("database killed", url, processes, disturb, capsys)


def test_a_worker_that_is_killed(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, [url] * 2, workers=2) as processes:

        def disturb(table: Table) -> None:
            for _ in range(5):
                processes[0].kill_worker()
                table.wait_for_operations(20)

        endure("worker killed", url, processes, disturb, capsys)


def test_a_server_process_that_is_killed_and_started_again(
    tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path, [url] * 2) as processes:

        def disturb(table: Table) -> None:
            processes[0].kill()
            table.wait_for_operations(20)
            processes[0].start()

        endure("server killed", url, processes, disturb, capsys)


@served_by_a_server
@pytest.mark.parametrize("cut", [Cut.BEFORE_COMMIT, Cut.AFTER_COMMIT])
def test_connections_that_are_cut_during_commit(
    tmp_path: Path, url: str, cut: Cut, capsys: pytest.CaptureFixture[str]
) -> None:
    through, proxy = behind(url)
    proxy.every = 5
    settled = "took effect" if cut is Cut.AFTER_COMMIT else "did not take effect"
    with serving(tmp_path, [through] * 2) as processes:

        def logged(text: str) -> int:
            return sum(process.log().count(text) for process in processes)

        def disturb(table: Table) -> None:
            proxy.cut = cut
            table.wait_for_operations(2 * OPERATIONS)
            # Which COMMITs are cut is random, and a read loses nothing with its own.
            table.wait_until(lambda: logged("a COMMIT was lost") > 5, "few COMMITs were lost")
            table.wait_until(lambda: logged(settled) > 0, f"no log says that a write {settled}")
            proxy.cut = Cut.NEVER

        endure(f"cut: {cut.value}", url, processes, disturb, capsys)
        assert proxy.cuts > 5
        assert logged("a COMMIT was lost") > 5
        assert logged(settled) > 0


@in_a_file
def test_a_database_that_is_read_only_is_read(tmp_path: Path, url: str) -> None:
    read_only = f"sqlite:///file:{url.removeprefix('sqlite:///')}?mode=ro&uri=true"
    with serving(tmp_path, [url, read_only], OS_PLACEMENT_DATABASE__WRITE_TIMEOUT="1") as both:
        able, unable = (process.port for process in both)
        assert send(able, "PUT", "/traits/CUSTOM_ONE").status == 201
        assert send(unable, "GET", "/traits/CUSTOM_ONE").status == 204
        assert send(unable, "PUT", "/traits/CUSTOM_OTHER").status == 503
        assert send(able, "GET", "/traits/CUSTOM_OTHER").status == 404


@in_a_file
def test_a_disk_that_fills_up(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path, [url]) as processes:

        def disturb(table: Table) -> None:
            limit(processes[0], 8192)
            time.sleep(1)
            limit(processes[0], resource.RLIM_INFINITY)

        endure("disk full", url, processes, disturb, capsys)


def limit(process: Process, size: int) -> None:
    """Limit the size of files that the process may write."""
    for number in process.worker_ids():
        resource.prlimit(number, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@served_by_a_server
def test_a_database_that_takes_no_writes_answers_503_until_it_does(
    tmp_path: Path, url: str
) -> None:
    name = url.rpartition("/")[2]
    close, reopen = {
        "mariadb": ("SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF"),
        "postgresql": (
            f"ALTER DATABASE {name} SET default_transaction_read_only = on",
            f"ALTER DATABASE {name} RESET default_transaction_read_only",
        ),
    }[FAMILY]
    if FAMILY == "mariadb":
        # The administrator himself is not bound by it.
        server().execute(
            "CREATE USER IF NOT EXISTS placement@127.0.0.1",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO placement@127.0.0.1",
        )
        url = url.replace("root@", "placement@")
    with serving(tmp_path, [url], OS_PLACEMENT_DATABASE__WRITE_TIMEOUT="1") as processes:
        port = processes[0].port
        assert send(port, "PUT", "/traits/CUSTOM_BEFORE").status == 201
        server().execute(close)
        if ENGINE == "postgresql":
            server().execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )
        try:
            answer = send(port, "PUT", "/traits/CUSTOM_MEANWHILE")
            assert answer.status == 503
            assert send(port, "GET", "/traits/CUSTOM_BEFORE").status == 204
        finally:
            server().execute(reopen)
        assert send(port, "PUT", "/traits/CUSTOM_AFTER").status == 201
        assert send(port, "GET", "/traits/CUSTOM_MEANWHILE").status == 404
