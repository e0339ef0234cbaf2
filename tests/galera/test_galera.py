"""Clients of all nodes of a cluster while a node is killed, or the majority is lost.

A hundredth of `PLACEMENT_GALERA` is the number of races, at least 10.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pymysql
import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.operate import preflight
from tests.cluster.test_histories import check_rounds, disconnect
from tests.cluster.test_race import CLIENTS, PATIENT, ROOM, Racers, claim
from tests.galera.nodes import Node, start_cluster
from tests.kit.builders import prepare, settings
from tests.kit.holds import Service, race_for_group, race_for_hold
from tests.kit.processes import Answer, Process, new_host, send, serving
from tests.kit.proxy import Proxy

RACES = max(10, int(os.environ["PLACEMENT_GALERA"]) // 100)
WAITING = {"OS_PLACEMENT_DATABASE__MYSQL_WSREP_SYNC_WAIT": "1"}


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[Node]]:
    made = start_cluster()
    yield made
    for node in made:
        node.discard()


@pytest.fixture
def database(nodes: list[Node], request: pytest.FixtureRequest) -> str:
    name = f"placement_{abs(hash(request.node.name))}"
    nodes[0].execute(f"CREATE DATABASE {name}")
    prepare(nodes[0].url(name))
    return name


def retried(processes: list[Process]) -> int:
    """Return the number of writes that were repeated because another node was faster."""
    return sum(len(re.findall("tried again", process.log())) for process in processes)


def same_everywhere(nodes: list[Node], database: str) -> None:
    """Check that every node has the same rows."""
    contents = []
    for node in nodes:
        engine = sa.create_engine(node.url(database), poolclass=sa.NullPool)
        with engine.connect() as conn:
            conn.exec_driver_sql("SET SESSION wsrep_sync_wait = 1")
            tables = sorted(sa.inspect(conn).get_table_names())
            contents.append(
                {table: sorted(map(str, conn.exec_driver_sql(f"SELECT * FROM {table}")))
                 for table in tables}
            )  # fmt: skip
    assert contents[0] == contents[1] == contents[2]


@pytest.mark.parametrize(
    ("ports", "options", "dangers", "notes"),
    [
        (3, {}, {"flush", "stale-reads"}, {"writers", "cluster"}),
        (3, {"mysql_wsrep_sync_wait": 1}, {"flush"}, {"writers", "cluster"}),
        (1, {}, {"flush"}, {"stale-reads", "cluster"}),
    ],
)
def test_preflight_finds_the_nodes_behind_a_balancer(
    nodes: list[Node],
    database: str,
    ports: int,
    options: dict[str, object],
    dangers: set[str],
    notes: set[str],
) -> None:
    proxy = Proxy(*[node.port for node in nodes[:ports]])
    url = nodes[0].url(database).replace(f":{nodes[0].port}/", f":{proxy.port}/")
    made = settings(url, placement_database=options).database
    balanced = Database(made)
    found = preflight.inspect(balanced, made, preflight.Workers())
    assert {hazard.name for hazard in found if hazard.wrong} == dangers
    assert {hazard.name for hazard in found if not hazard.wrong} == notes
    assert preflight.measure_commits(balanced) is not None
    balanced.dispose()
    proxy.close()
    same_everywhere(nodes, database)


def test_exactly_what_fits_is_admitted_on_three_nodes(
    nodes: list[Node], database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = 10
    urls = [node.url(database) for node in nodes]
    with serving(tmp_path, urls, 1, **WAITING, **PATIENT) as processes:
        racers = Racers(urls[0], processes)
        hosts = []
        for _ in range(rounds):
            host = new_host(racers.port, VCPU=ROOM)
            hosts.append(host)

            def until_full(_number: int, port: int, host: str = host) -> list[Answer]:
                answers: list[Answer] = []
                while not answers or answers[-1].status == 204:
                    answers.append(send(port, "PUT", f"/allocations/{uuid4()}", claim(host)))
                return answers

            answers = racers.race(until_full)
            assert {answer.status for answer in answers} == {204, 409}
            assert sum(answer.status == 204 for answer in answers) == ROOM
        racers.check(hosts)
        again = retried(processes)
    same_everywhere(nodes, database)
    with capsys.disabled():
        print(
            f"\ngalera, {CLIENTS} clients on 3 nodes: {rounds} rounds, {rounds * ROOM} claims "
            f"admitted of {rounds * ROOM} that fit, {again} writes run again"
        )


@pytest.mark.parametrize("race", [race_for_hold, race_for_group])
def test_of_racing_requests_on_three_nodes_as_many_succeed_as_may(
    nodes: list[Node], tmp_path: Path, database: str, race: Callable[[Sequence[Service], int], None]
) -> None:
    options = {"mysql_wsrep_sync_wait": 1, "write_timeout": 60}
    with ExitStack() as stack:
        services = [
            stack.enter_context(
                Service(tmp_path, url=node.url(database), placement_database=options)
            )
            for node in nodes
        ]
        race(services, RACES)
        services[1].check_used()
    same_everywhere(nodes, database)


@pytest.mark.parametrize("waiting", [True, False])
def test_histories_are_serializable_while_nodes_and_connections_are_killed(
    nodes: list[Node],
    database: str,
    tmp_path: Path,
    waiting: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If reads do not wait for the commits on other nodes, they may be outdated."""
    *urls, killed = [node.url(database) for node in nodes]
    proxy = Proxy(nodes[2].port, nodes[0].port)
    urls.append(killed.replace(f":{nodes[2].port}/", f":{proxy.port}/"))

    def restart_node() -> None:
        nodes[2].kill()
        time.sleep(0.3)
        nodes[2].start()
        nodes[2].await_joined(3)

    with serving(tmp_path, urls, 1, **(WAITING if waiting else {})) as processes:
        faults = [
            processes[0].kill_worker,
            lambda: disconnect(nodes[1], urls[1]),
            restart_node,
        ]
        name = f"galera, wsrep_sync_wait {int(waiting)}"
        check_rounds(name, processes, faults, capsys, current=waiting)
    same_everywhere(nodes, database)


def test_histories_are_serializable_when_commits_meet_the_loss_of_the_majority(
    nodes: list[Node], database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such a COMMIT fails with 1180, and may be executed when the nodes are connected again."""
    apart = 3  # seconds during which the node refuses writes
    patient = {**WAITING, "OS_PLACEMENT_DATABASE__WRITE_TIMEOUT": "45"}

    def isolate(which: int) -> None:
        for node in nodes[1:]:
            # SQLAlchemy begins with statements that a node alone refuses.
            with pymysql.connect(host="127.0.0.1", port=node.port, user="root") as conn:
                isolation = f"gmcast.isolate={which}"
                conn.cursor().execute(f"SET GLOBAL wsrep_provider_options = '{isolation}'")

    def lose_majority() -> None:
        try:
            isolate(1)
            nodes[0].await_minority()
            time.sleep(apart)
        finally:
            isolate(0)
        for node in nodes:
            node.await_joined(3)

    with serving(tmp_path, [nodes[0].url(database)] * 3, 1, **patient) as processes:
        check_rounds("galera, majority lost", processes, [lose_majority] * 2, capsys)
        log = "".join(process.log() for process in processes)
    same_everywhere(nodes, database)
    assert re.search(r"COMMIT was lost: .*\(error 1180\)", log)
    with capsys.disabled():
        print(f"{log.count('COMMIT took effect')} of {log.count('COMMIT was lost')} took effect")
