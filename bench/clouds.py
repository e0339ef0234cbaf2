"""Clouds of any size, written straight into the tables: over REST large ones would take hours.

Rows are the same in every database that is given the same cloud.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa
from tqdm import tqdm

from placement.db import tables as t
from placement.objects import catalog, derived

BATCH = 2000  # rows of one INSERT
MADE = datetime(2026, 1, 1)
TRAITS = 50  # of a host, standard ones
AGGREGATES = 20
SHARING = "MISC_SHARES_VIA_AGGREGATE"

Row = dict[str, object]


def host_uuid(number: int) -> str:
    """The uuid of the provider with this id."""
    return f"00000000-0000-4000-8000-{number:012d}"


def consumer_uuid(number: int) -> str:
    """The uuid of a consumer that the cloud has from the start."""
    return f"c0000000-0000-4000-8000-{number:012d}"


@dataclass
class Provider:
    """A provider of a cloud, whose id is its place in it, from 1 on."""

    stock: Mapping[str, tuple[int, float]]  # class -> (total, ratio)
    traits: tuple[str, ...] = ()
    parent: int | None = None
    aggregates: tuple[int, ...] = ()
    claims: Mapping[str, int] | None = None  # what each consumer takes


@dataclass(frozen=True)
class Cloud:
    """A named cloud: its providers, made by `members`, and the consumers on each."""

    name: str
    members: Callable[[], Iterator[Provider]]
    consumers: int = 0
    hosts: int = 0


HOST = {"VCPU": (64, 16.0), "MEMORY_MB": (262_144, 1.0), "DISK_GB": (4_000, 1.0)}
CLAIM = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 20}


def _standard_traits(number: int) -> tuple[str, ...]:
    return tuple(sorted(catalog.STANDARD_TRAITS - {SHARING}))[:number]


def flat(hosts: int, consumers: int = 0) -> Cloud:
    """Hosts of three classes and 50 traits, in an aggregate each; 3 of them are rare."""

    def members() -> Iterator[Provider]:
        common = _standard_traits(TRAITS)
        for number in range(hosts):
            rare = ("CUSTOM_RARE",) if number in (hosts // 3, hosts // 2, hosts - 1) else ()
            yield Provider(
                HOST, common + rare, None, (number % AGGREGATES,), CLAIM if consumers else None
            )

    return Cloud(f"flat_{hosts}_{consumers}", members, consumers, hosts)


def nested(hosts: int) -> Cloud:
    """Trees of 7: a host with disk, two NUMA nodes, two FPGAs below each."""

    def members() -> Iterator[Provider]:
        for tree in range(hosts):
            top = 7 * tree + 1
            yield Provider(
                {"DISK_GB": (4_000, 1.0)}, ("COMPUTE_VOLUME_MULTI_ATTACH", *_standard_traits(10))
            )
            for node in (top + 1, top + 4):
                yield Provider(
                    {"VCPU": (32, 4.0), "MEMORY_MB": (131_072, 1.0)}, ("CUSTOM_FOO",), top
                )
                yield Provider({"FPGA": (1, 1.0)}, ("CUSTOM_BAR",), node)
                yield Provider({"FPGA": (1, 1.0)}, (), node)

    return Cloud(f"nested_{hosts}", members, 0, hosts)


def wide(devices: int, hosts: int = 100) -> Cloud:
    """Hosts with so many like devices below them."""

    def members() -> Iterator[Provider]:
        for tree in range(hosts):
            top = (devices + 1) * tree + 1
            yield Provider({"VCPU": (64, 4.0)})
            for _ in range(devices):
                yield Provider({"VGPU": (1, 1.0)}, (), top)

    return Cloud(f"wide_{devices}", members, 0, hosts)


def sharing(hosts: int) -> Cloud:
    """Hosts without disk, and one shared disk for each aggregate."""

    def members() -> Iterator[Provider]:
        stock = {name: HOST[name] for name in ("VCPU", "MEMORY_MB")}
        for number in range(hosts):
            yield Provider(stock, _standard_traits(10), None, (number % AGGREGATES,))
        for number in range(AGGREGATES):
            yield Provider({"DISK_GB": (10**6, 1.0)}, (SHARING,), None, (number,))

    return Cloud(f"sharing_{hosts}", members, 0, hosts)


def load(engine: sa.Engine, cloud: Cloud) -> None:
    """Write a cloud into tables that have their catalogues and nothing else."""
    with engine.begin() as conn:
        known = catalog.find_ids(conn, {"resource_class": catalog.STANDARD_CLASSES})[
            "resource_class"
        ]
        own = {trait for each in cloud.members() for trait in each.traits}
        traits = catalog.ensure(conn, {"trait": own})["trait"]
        aggregates = [f"a0000000-0000-4000-8000-{number:012d}" for number in range(AGGREGATES)]
        rows = catalog.ensure(conn, {"aggregate": aggregates})["aggregate"]
        numbers = [rows[uuid] for uuid in aggregates]
        if cloud.consumers:
            conn.execute(sa.insert(t.projects).values(id=1, external_id="project"))
            conn.execute(sa.insert(t.users).values(id=1, external_id="user"))

        def write(table: sa.Table, made: Iterable[Row]) -> None:
            waiting = iter(made)
            with tqdm(desc=f"{cloud.name} {table.name}", unit=" rows", leave=False) as progress:
                # The peer fails on providers of which only some have a time.
                while batch := [{**row, "created_at": MADE} for row in islice(waiting, BATCH)]:
                    conn.execute(sa.insert(table), batch)
                    progress.update(len(batch))

        write(t.resource_providers, _providers(cloud))
        write(t.inventories, _inventories(cloud, known))
        write(
            t.resource_provider_traits,
            (
                {"resource_provider_id": number, "trait_id": traits[name]}
                for number, each in enumerate(cloud.members(), 1)
                for name in each.traits
            ),
        )
        write(
            t.resource_provider_aggregates,
            (
                {"resource_provider_id": number, "aggregate_id": numbers[place]}
                for number, each in enumerate(cloud.members(), 1)
                for place in each.aggregates
            ),
        )
        write(t.consumers, (row for row in _consumers(cloud)))
        write(t.allocations, _allocations(cloud, known))
        derived.recompute(conn)
        _mend_sequences(conn)
    _analyze(engine)


def _providers(cloud: Cloud) -> Iterator[Row]:
    roots: dict[int, int] = {}
    for number, each in enumerate(cloud.members(), 1):
        roots[number] = number if each.parent is None else roots[each.parent]
        yield {
            "id": number,
            "uuid": host_uuid(number),
            "name": f"provider{number}",
            "generation": 1,
            "parent_provider_id": each.parent,
            "root_provider_id": roots[number],
        }


def _inventories(cloud: Cloud, known: Mapping[str, int]) -> Iterator[Row]:
    for number, each in enumerate(cloud.members(), 1):
        for name, (total, ratio) in each.stock.items():
            yield {
                "resource_provider_id": number,
                "resource_class_id": known[name],
                "total": total,
                "reserved": 0,
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": ratio,
            }


def _holders(cloud: Cloud) -> Iterator[tuple[int, int, Provider]]:
    number = 0
    for provider_id, each in enumerate(cloud.members(), 1):
        for _ in range(cloud.consumers if each.claims else 0):
            number += 1
            yield number, provider_id, each


def _consumers(cloud: Cloud) -> Iterator[Row]:
    for number, _provider_id, _provider in _holders(cloud):
        yield {
            "uuid": consumer_uuid(number), "project_id": 1, "user_id": 1, "generation": 1
        }  # fmt: skip


def _allocations(cloud: Cloud, known: Mapping[str, int]) -> Iterator[Row]:
    for number, provider_id, each in _holders(cloud):
        for name, amount in (each.claims or {}).items():
            yield {
                "resource_provider_id": provider_id,
                "consumer_id": consumer_uuid(number),
                "resource_class_id": known[name],
                "used": amount,
            }


def _mend_sequences(conn: sa.Connection) -> None:
    """Ids were given; PostgreSQL must go on after them."""
    if conn.dialect.name == "postgresql":
        for table in ("resource_providers", "projects", "users"):
            conn.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
                f"(SELECT COALESCE(MAX(id), 1) FROM {table}))"
            )


def _analyze(engine: sa.Engine) -> None:
    """Let the planner know what there is, as it would after a while."""
    statement: Any = {"sqlite": "ANALYZE", "postgresql": "ANALYZE"}.get(engine.dialect.name)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if statement is None:
            for table in t.metadata.tables:
                conn.exec_driver_sql(f"ANALYZE TABLE {table}").all()
        else:
            conn.exec_driver_sql(statement)
