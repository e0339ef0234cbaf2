"""The rows that a request reads depend on its result, not on the cloud.

The cloud is large enough for planners to choose as they do at scale, and known to them. A change of
a statement or index that causes a full scan of a table is detected here, for any plan.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import os_traits
import pytest
import sqlalchemy as sa

from placement.db import schema
from placement.db import tables as t
from placement.entry import app
from placement.objects import derived
from tests.db.hot_requests import (
    AGGREGATES,
    CANDIDATES,
    COMMON,
    FLAVOR,
    SEARCH,
    STOCK,
    Step,
    mixed,
    story,
)
from tests.kit.cloud import (
    SHARING,
    Cloud,
    Provider,
    aggregate_uuid,
    load,
    write,
)
from tests.kit.engines import ENGINE, FAMILY, server
from tests.kit.reads import Reads, counted_reads
from tests.kit.rows import OURS, damage
from tests.kit.service import Service

SIZES = (800, 8000)  # hosts
PER_PROVIDER = 60  # rows for each provider of the cloud, where all are looked at


@dataclass
class Measured:
    """A step, and the maximum number of rows read in any round, by the number of hosts."""

    step: Step
    reads: dict[int, list[Reads]] = field(default_factory=dict)

    def add(self, hosts: int, reads: list[Reads]) -> None:
        """Record the reads of a round if they are the highest so far."""
        if total(reads) >= total(self.reads.get(hosts, [])):
            self.reads[hosts] = reads


def total(reads: list[Reads]) -> int:
    """Return the rows of all statements."""
    return sum(each.rows for each in reads)


def measure(service: Service, hosts: int, turns: int, measured: dict[str, Measured]) -> None:
    """Send all requests, several times.

    Claims choose a candidate at random, and a search reads the trees that were claimed since: both
    clouds have the same sequence of choices.
    """
    for turn in range(turns):
        random.seed(turn)
        for step in story(service, turn):
            with counted_reads(service.database) as reads:
                answer = service.send(step.method, step.path, step.body, step.version)
            assert answer.status_code < 300, (step.name, answer.text)
            measured.setdefault(step.name, Measured(step)).add(hosts, reads)


# Engine -> how a table is told to keep its statistics.
KEPT_STATISTICS = {
    "mariadb": "STATS_AUTO_RECALC = 0",
    "postgresql": "SET (autovacuum_enabled = false)",
}


def keep_statistics(conn: sa.Connection) -> None:
    """Let no server renew the statistics of a table while requests are measured."""
    for table in t.metadata.tables if FAMILY in KEPT_STATISTICS else ():
        conn.exec_driver_sql(f"ALTER TABLE {table} {KEPT_STATISTICS[FAMILY]}")


def new(service: Service, cloud: Cloud) -> None:
    """Create a cloud with this service."""
    load(service.database.writer, cloud)
    with service.database.writer.begin() as conn:  # a slow run would see other plans
        keep_statistics(conn)


def adopted(service: Service, cloud: Cloud) -> None:
    """Create a cloud, remove this service's columns from the tables, and adopt them."""
    new(service, cloud)
    on_table = " ON inventories" if FAMILY == "mariadb" else ""
    damage(
        service.database,
        [
            f"DROP INDEX inventories_resource_class_max_unit_idx{on_table}",
            *(f"ALTER TABLE {table} DROP COLUMN {column}" for table, column in OURS),
            f"DROP TABLE {schema.VERSION_TABLE}",
        ],
    )
    service.database.dispose()
    app.migrate(service.database)


def restored(service: Service, cloud: Cloud) -> None:
    """Create a cloud, restore it on PostgreSQL without statistics, and run `db sync`."""
    with service.database.writer.begin() as conn:
        keep_statistics(conn)
        write(conn, cloud)
    app.migrate(service.database)


def filled(service: Service, cloud: Cloud) -> None:
    """Create a cloud with the statistics of empty tables, which MariaDB reads when it starts."""
    with service.database.writer.begin() as conn:
        keep_statistics(conn)
        write(conn, cloud)
    if FAMILY == "mariadb":
        service.database.dispose()
        server().kill()
        server().start()


# How often all requests are sent. PostgreSQL may have another plan for what it has prepared.
MAKERS = {new: 12 if ENGINE == "postgresql" else 2, adopted: 2}
if ENGINE == "postgresql":
    MAKERS[restored] = 2


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: str(maker.__name__))
def measured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Measured]:
    make, turns = request.param, MAKERS[request.param]
    steps: dict[str, Measured] = {}
    for hosts in SIZES:
        with Service(tmp_path_factory.mktemp("reads")) as service:
            make(service, mixed(hosts))
            measure(service, hosts, turns, steps)
    return steps


@pytest.mark.parametrize(
    ("condition", "least", "most"), [("used >= 0", 500, 5000), ("id = 77", 1, 50)]
)
def test_a_row_that_is_read_is_counted(
    tmp_path: Path, condition: str, least: int, most: int
) -> None:
    with Service(tmp_path) as service:
        load(service.database.writer, mixed(100))
        query = sa.text(f"SELECT used FROM allocations WHERE {condition}")
        with counted_reads(service.database) as reads, service.database.read() as conn:
            conn.execute(query).all()
    assert least <= total(reads) <= most


def test_a_rare_trait_is_looked_up_also_where_the_usual_trait_is_one_of_all_hosts(
    tmp_path: Path,
) -> None:
    """If all hosts have a trait, its statistics make it a bad starting point."""
    hosts, usual = 4000, sorted(os_traits.get_traits())[:50]
    rare = {hosts // 3, hosts // 2, hosts - 4}

    def members() -> Iterator[Provider]:
        for number in range(hosts):
            yield Provider(STOCK, (*usual, "CUSTOM_RARE") if number in rare else usual)

    query = "/allocation_candidates?resources=VCPU:1&required=CUSTOM_RARE&limit=10"
    with Service(tmp_path) as service:
        load(service.database.writer, Cloud("alike", members))
        with counted_reads(service.database) as reads:
            answer = service.get(query)
    assert len(answer["allocation_requests"]) == len(rare)
    assert total(reads) <= SEARCH, reads


def shared_disks(hosts: int) -> Cloud:
    """Hosts without a disk, and a shared disk for each of their aggregates."""

    def members() -> Iterator[Provider]:
        for number in range(hosts):
            stock = {"VCPU": 64, "MEMORY_MB": 262_144}
            yield Provider(stock, COMMON, None, (aggregate_uuid(number % AGGREGATES),))
        for number in range(AGGREGATES):
            yield Provider({"DISK_GB": 10**6}, (SHARING,), None, (aggregate_uuid(number),))

    return Cloud(f"shared_disks_{hosts}", members, 0, hosts)


@pytest.mark.parametrize("make", [new, filled])
def test_a_limited_search_beside_shared_disks_reads_the_same_in_a_larger_cloud(
    tmp_path: Path, make: Callable[[Service, Cloud], None]
) -> None:
    """The first round also reads the trees, which are cached in the second one."""
    # Without statistics, PostgreSQL sorts all roots to find the first ones.
    looks = 4 if (ENGINE, make) == ("postgresql", filled) else 0
    rows: dict[int, list[int]] = {}
    for hosts in (1000, 10_000):
        with Service(tmp_path) as service:
            make(service, shared_disks(hosts))
            for _ in range(2):
                with counted_reads(service.database) as reads:
                    answer = service.get(f"{CANDIDATES}{FLAVOR}&limit=10")
                assert len(answer["allocation_requests"]) == 10
                rows.setdefault(hosts, []).append(total(reads))
        assert max(rows[hosts]) <= SEARCH + looks * hosts, rows
    small, large = map(max, rows.values())
    assert large <= 1.02 * small + looks * hosts, rows


@pytest.mark.skipif(ENGINE == "postgresql", reason="it prefers to read a small table completely")
def test_the_check_at_a_start_reads_each_tree_once(tmp_path: Path) -> None:
    per_host = []
    for hosts in (1000, 8000):
        with Service(tmp_path) as service:
            new(service, shared_disks(hosts))
            with counted_reads(service.database) as reads, service.database.read() as conn:
                assert derived.is_correct(conn)
            per_host.append(total(reads) / hosts)
    small, large = per_host
    assert large <= 1.2 * small, per_host


def told(measured: Measured) -> str:
    """Return a text about the statements that have read most rows."""
    lines = [f"{measured.step.name}: {measured.step.method} {measured.step.path}"]
    for hosts, reads in measured.reads.items():
        lines.append(f"{hosts} hosts: {total(reads)} rows")
        worst = sorted(reads, key=lambda each: -each.rows)[:2]
        lines += [f"    {each.rows}: {' '.join(each.statement.split())[:600]}" for each in worst]
    return "\n".join(lines)


def test_no_request_reads_more_rows_than_its_answer_needs(
    measured: Mapping[str, Measured], capsys: pytest.CaptureFixture[str]
) -> None:
    bounded = [each for each in measured.values() if each.step.most is not None]
    numbers = {each.step.name: total(each.reads[SIZES[-1]]) for each in bounded}
    with capsys.disabled():
        print(f"\nrows read at {SIZES[-1]} hosts: {numbers}")
    excessive = [each for each in bounded if numbers[each.step.name] > (each.step.most or 0)]
    assert not excessive, "\n".join(map(told, excessive))


def test_no_request_reads_more_in_a_larger_cloud(measured: Mapping[str, Measured]) -> None:
    """Reading a small table completely may be cheaper, so fewer reads are also accepted."""
    bounded = [each for each in measured.values() if each.step.most is not None]
    few, many = SIZES
    growing = [e for e in bounded if total(e.reads[many]) > 1.2 * total(e.reads[few]) + 20]
    assert not growing, "\n".join(map(told, growing))


def test_what_looks_at_the_whole_cloud_looks_at_each_provider_a_few_times(
    measured: Mapping[str, Measured],
) -> None:
    whole = [each for each in measured.values() if each.step.most is None]
    assert whole
    providers = len(list(mixed(SIZES[-1]).members()))
    excessive = [each for each in whole if total(each.reads[SIZES[-1]]) > PER_PROVIDER * providers]
    assert not excessive, "\n".join(map(told, excessive))
