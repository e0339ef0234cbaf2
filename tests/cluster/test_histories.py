"""Histories of concurrent clients, checked while workers, connections and databases are killed.

They must be linearizable, and the dependencies of their requests must have no cycle.
`PLACEMENT_HISTORIES` is the time in seconds for which rounds are repeated, each with a new cloud
and another seed (default: one round), and `PLACEMENT_HISTORIES_SEED` the first seed.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.kit.builders import database_url
from tests.kit.cycles import anomalies, number_of_dependencies
from tests.kit.dependencies import transactions
from tests.kit.engines import ENGINE, Server, server
from tests.kit.processes import Process, serving
from tests.kit.recording import Recorded
from tests.kit.replication import DATABASE, replicated

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")

SECONDS = float(os.environ.get("PLACEMENT_HISTORIES", "0"))
SEED = int(os.environ.get("PLACEMENT_HISTORIES_SEED", "1"))
OPERATIONS = 150  # between two faults

Fault = Callable[[], None]


def disconnect(database: Server, url: str) -> None:
    """Kill all connections to a database."""
    name = url.rpartition("/")[2]
    if database.scheme.startswith("postgresql"):
        database.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        return
    engine = sa.create_engine(
        database.url(database.admin), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
    )
    with engine.connect() as conn:
        for number, _user, _host, connected, *_rest in conn.exec_driver_sql("SHOW PROCESSLIST"):
            if connected == name:
                with suppress(sa.exc.OperationalError):  # it has ended since it was listed
                    conn.exec_driver_sql(f"KILL {number}")


def restart(database: Server) -> None:
    """Kill a server and start it again."""
    database.kill()
    time.sleep(0.3)
    database.start()


def check_rounds(
    name: str,
    processes: Sequence[Process],
    faults: Sequence[Fault],
    capsys: pytest.CaptureFixture[str],
    *,
    current: bool = True,
) -> None:
    """Record and check histories with these faults. Print a line of figures.

    current: whether reads must return the latest state. If not, they must return an earlier one.
    """
    began = time.monotonic()
    counts: Counter[str] = Counter()
    rounds = operations = edges = 0
    ports = [process.port for process in processes]
    while not rounds or time.monotonic() < began + SECONDS:
        cloud = Recorded(ports, SEED + rounds)

        def disturb(cloud: Recorded) -> None:
            for fault in faults:
                cloud.wait_for_operations(OPERATIONS)
                fault()
            cloud.wait_for_operations(OPERATIONS)

        cloud.run(disturb)
        rounds += 1
        operations += len(cloud.history.operations) + len(cloud.history.shown)
        counts += cloud.counts
        violations = list(cloud.history.violations(current=current))
        dependent = transactions(cloud.history)
        edges += number_of_dependencies(dependent)
        violations += anomalies(dependent, real_time=current)
        assert not violations, (f"seed {SEED + rounds - 1}", violations[:10])
    unknown = sum(n for kind, n in counts.items() if kind.endswith(": no answer"))
    unavailable = sum(n for kind, n in counts.items() if kind.endswith(": 503"))
    with capsys.disabled():
        print(
            f"\nhistories, {name}: {rounds} rounds in {time.monotonic() - began:.0f} s, "
            f"{operations} operations, {rounds * len(faults)} faults, {unknown} unanswered, "
            f"{unavailable} answered 503, {counts['changing providers']} providers and "
            f"{counts['changing trees']} trees marked as changing, {edges} dependencies, "
            f"0 violations, 0 cycles"
        )


def test_histories_are_linearizable_while_processes_and_connections_are_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database_url(tmp_path)
    with serving(tmp_path, [url] * 3) as processes:
        faults = [
            processes[0].kill_worker,
            lambda: disconnect(server(), url),
            lambda: restart(server()),
        ]
        check_rounds(ENGINE, processes, faults, capsys)


def test_histories_are_serializable_with_reads_from_a_replica_that_is_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reads may be outdated, because the replica applies commits later."""
    with replicated() as pair:
        reading = {"OS_PLACEMENT_DATABASE__SLAVE_CONNECTION": pair.replica_url()}
        with serving(tmp_path, [pair.url()] * 3, 1, **reading) as processes:
            faults = [
                processes[0].kill_worker,
                lambda: disconnect(pair.primary, pair.primary.url(DATABASE)),
                lambda: restart(pair.replica),
            ]
            name = f"{ENGINE} with a replica"
            check_rounds(name, processes, faults, capsys, current=False)
