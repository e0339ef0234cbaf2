"""Failovers to a replica under load: no acknowledged write is lost, and the service goes on.

Each commit waits for the replica, by `synchronous_standby_names` of PostgreSQL or semi-synchronous
replication of MariaDB. `PLACEMENT_FAILOVERS` is the number of rounds of each kind, each with
new servers and another seed (default 1), and `PLACEMENT_FAILOVERS_SEED` the first seed.
"""

import os
import uuid as uuids
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.cluster.model import complaints
from tests.kit.cycles import anomalies
from tests.kit.dependencies import transactions
from tests.kit.engines import ENGINE, FAMILY
from tests.kit.patroni_pair import PatroniPair
from tests.kit.processes import new_host, send, serving
from tests.kit.recording import Recorded
from tests.kit.replication import (
    DATABASE,
    PAIRS,
    MariaDbPair,
    MySqlGroup,
    Pair,
    await_true,
    replicated,
)
from tests.kit.service import claim

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")

ROUNDS = int(os.environ.get("PLACEMENT_FAILOVERS", "1"))
SEED = int(os.environ.get("PLACEMENT_FAILOVERS_SEED", "1"))
OPERATIONS = 150  # before and after a failover
READERS = 8
# Engine -> its pairs.
SETUPS = {engine: [pair] for engine, pair in PAIRS.items()} | {"sqlite": []}
SETUPS["mysql"].append(MySqlGroup)
SETUPS["postgresql"].append(PatroniPair)


def writes(cloud: Recorded) -> int:
    """Return the number of acknowledged writes of allocations."""
    return cloud.counts["PUT /allocations: 204"]


def check_round(
    cloud: Recorded, pair: Pair, disturb: Callable[[], None], *, current: bool = True
) -> float:
    """Run clients before, during and after a failover, and check what they have seen.

    current: whether reads must return the latest state. If not, they must return an earlier one.

    Returns the longest time in seconds without an acknowledged write.
    """

    def fail(cloud: Recorded) -> None:
        cloud.wait_for_operations(OPERATIONS)
        disturb()
        done = writes(cloud)
        await_true(lambda: cloud.stop.is_set() or writes(cloud) > done)
        cloud.wait_for_operations(OPERATIONS)

    cloud.run(fail)
    violations = list(cloud.history.violations(current=current))
    violations += anomalies(transactions(cloud.history), real_time=current)
    assert not violations, violations[:10]
    engine = sa.create_engine(pair.primary.url(DATABASE), poolclass=sa.NullPool)
    with engine.connect() as conn:
        assert not list(complaints(conn, list(cloud.trees.values())))
    acknowledged = [each for each in cloud.history.operations if each.writes and each.is_known]
    ended = sorted(each.ended for each in acknowledged if each.request)
    return max(after - before for before, after in pairwise(ended))


@pytest.mark.parametrize(
    ("servers", "event"),
    [(servers, event) for servers in SETUPS[ENGINE] for event in servers.events],
)
def test_no_acknowledged_write_is_lost_when_a_replica_becomes_the_primary(
    tmp_path: Path, servers: type[Pair], event: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(SEED, SEED + ROUNDS):
        directory = tmp_path / str(number)
        with replicated(servers) as pair, serving(directory, [pair.url()] * 2) as processes:
            cloud = Recorded([process.port for process in processes], number)
            pause = check_round(cloud, pair, getattr(pair, event))
        counts = cloud.counts.items()
        with capsys.disabled():
            print(
                f"\n{event}, {servers.__name__}, seed {number}: {len(cloud.history.operations)} "
                f"operations, {sum(n for kind, n in counts if kind.endswith(': no answer'))} "
                f"unanswered, {sum(n for kind, n in counts if kind.endswith(': 503'))} answered "
                f"503, no write for {pause:.1f} s, 0 lost, 0 violations, 0 cycles"
            )


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
        print(f"\nconnections remain, {ENGINE}: no write for {pause:.1f} s")


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
