"""Failovers to a replica under load: no acknowledged write is lost, and the service goes on.

Each commit waits for the replica, by `synchronous_standby_names` of PostgreSQL or semi-synchronous
replication of MariaDB. `PLACEMENT_FAILOVERS` is the number of rounds of each kind, each with
new servers and another seed (default 1), and `PLACEMENT_FAILOVERS_SEED` the first seed.
"""

import os
import time
import uuid as uuids
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.cluster.model import complaints
from tests.kit.cycles import anomalies
from tests.kit.dependencies import transactions
from tests.kit.engines import ENGINE, FAMILY
from tests.kit.processes import new_host, send, serving
from tests.kit.recording import Recorded
from tests.kit.replication import DATABASE, MariaDbPair, Pair, await_true, replicated
from tests.kit.service import claim

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")

ROUNDS = int(os.environ.get("PLACEMENT_FAILOVERS", "1"))
SEED = int(os.environ.get("PLACEMENT_FAILOVERS_SEED", "1"))
OPERATIONS = 150  # before and after a failover
READERS = 8


class Figures:
    """What happened in the rounds of a test."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.operations = 0
        # Seconds from the beginning of a failover to the next acknowledged write.
        self.pauses: list[float] = []

    def add(self, cloud: Recorded) -> None:
        """Add a round."""
        self.counts += cloud.counts
        self.operations += len(cloud.history.operations) + len(cloud.history.shown)

    def __str__(self) -> str:
        unknown = sum(n for kind, n in self.counts.items() if kind.endswith(": no answer"))
        unavailable = sum(n for kind, n in self.counts.items() if kind.endswith(": 503"))
        return (
            f"{len(self.pauses)} times, {self.operations} operations, {unknown} unanswered, "
            f"{unavailable} answered 503, writes after {max(self.pauses):.1f} s at the most, "
            "0 lost, 0 violations, 0 cycles"
        )


def writes(cloud: Recorded) -> int:
    """Return the number of acknowledged writes of allocations."""
    return cloud.counts["PUT /allocations: 204"]


def check_round(
    cloud: Recorded, pair: Pair, disturb: Callable[[], None], *, current: bool = True
) -> float:
    """Run clients before, during and after a failover, and check what they have seen.

    current: whether reads must return the latest state. If not, they must return an earlier one.

    Returns the seconds from the beginning of the failover to the next acknowledged write.
    """
    pause = 0.0

    def fail(cloud: Recorded) -> None:
        nonlocal pause
        cloud.wait_for_operations(OPERATIONS)
        began = time.monotonic()
        disturb()
        done = writes(cloud)
        await_true(lambda: cloud.stop.is_set() or writes(cloud) > done)
        pause = time.monotonic() - began
        cloud.wait_for_operations(OPERATIONS)

    cloud.run(fail)
    violations = list(cloud.history.violations(current=current))
    violations += anomalies(transactions(cloud.history), real_time=current)
    assert not violations, violations[:10]
    engine = sa.create_engine(pair.primary.url(DATABASE), poolclass=sa.NullPool)
    with engine.connect() as conn:
        assert not list(complaints(conn, list(cloud.trees.values())))
    return pause


@pytest.mark.parametrize("kind", ["fail_over", "hand_over"])
def test_no_acknowledged_write_is_lost_when_a_replica_becomes_the_primary(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = Figures()
    for number in range(ROUNDS):
        directory = tmp_path / str(number)
        with replicated() as pair, serving(directory, [pair.url()] * 2) as processes:
            cloud = Recorded([process.port for process in processes], SEED + number)
            figures.pauses.append(check_round(cloud, pair, getattr(pair, kind)))
            figures.add(cloud)
    with capsys.disabled():
        print(f"\n{kind}, {ENGINE}: {figures}")


@pytest.mark.skipif(FAMILY != "mariadb", reason="a server of PostgreSQL restarts as a standby")
def test_writes_go_on_if_connections_to_the_first_server_remain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first server refuses the next write of a process. Until then, reads may be outdated."""
    with replicated() as pair, serving(tmp_path, [pair.url()] * 2) as processes:
        assert isinstance(pair, MariaDbPair)
        cloud = Recorded([process.port for process in processes], SEED)
        pause = check_round(cloud, pair, pair.hand_over_with_connections, current=False)
        pair.stop_replication()
        pair.acknowledge_early()
        for process in processes:
            path = f"/allocations/{uuids.uuid4()}"
            host = new_host(process.port, VCPU=8)
            send(process.port, "PUT", path, claim({host: {"VCPU": 3}}))
            with ThreadPoolExecutor(READERS) as pool:
                for read in pool.map(partial(send, process.port, "GET"), [path] * 5 * READERS):
                    assert host in read.body["allocations"]
    with capsys.disabled():
        print(f"\nconnections remain, {ENGINE}: writes after {pause:.1f} s")


@pytest.mark.skipif("PLACEMENT_FAILOVERS" not in os.environ, reason="only in long runs")
def test_a_failover_that_loses_acknowledged_writes_is_found(tmp_path: Path) -> None:
    with replicated() as pair, serving(tmp_path, [pair.url()] * 2) as processes:
        cloud = Recorded([process.port for process in processes], SEED)

        def lose(cloud: Recorded) -> None:
            cloud.wait_for_operations(OPERATIONS)
            pair.acknowledge_early()
            pair.stop_replication()
            cloud.wait_for_operations(OPERATIONS)
            pair.fail_over()
            cloud.wait_for_operations(OPERATIONS)

        cloud.run(lose)
    violations = list(cloud.history.violations())
    violations += anomalies(transactions(cloud.history), real_time=True)
    names = {each.partition(":")[0] for each in violations}
    assert {"stale", "lost update"} <= names
    assert any(name.startswith("G") for name in names)


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_write_whose_connection_is_lost_is_acknowledged_only_after_the_replica_has_it(
    tmp_path: Path, is_killed: bool
) -> None:
    """The server shows a write whose COMMIT no longer waits, but a failover could lose it."""
    with replicated() as pair, serving(tmp_path, [pair.url()]) as (process,):
        host = new_host(process.port, VCPU=8)
        path = f"/allocations/{uuids.uuid4()}"
        pair.stop_replication()
        with ThreadPoolExecutor() as pool:
            body = claim({host: {"VCPU": 3}})
            answer = pool.submit(send, process.port, "PUT", path, body)
            await_true(pair.waiting_commits)
            lost = pair.waiting_commits()
            pair.disconnect(*lost)
            await_true(lambda: answer.done() or set(pair.waiting_commits()) - set(lost))
            assert not answer.done()
            if is_killed:
                pair.fail_over()
            else:
                pair.resume_replication()
            assert answer.result().status == 204
        if not is_killed:
            pair.fail_over()
        read = send(process.port, "GET", path)
        assert read.body["allocations"][host]["resources"] == {"VCPU": 3}
