"""Clouds of any size, written directly into the tables because REST would take hours.

Every database with the same cloud has the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from tqdm import tqdm

from placement.db import tables as t
from placement.db.dialects import Dialect, dialect_of
from placement.inventory import capacity
from placement.objects import catalog
from placement.objects.locking import new_revision
from tests.kit.copying import copy_rows

CREATED = datetime(2026, 1, 1)
SHARING = "MISC_SHARES_VIA_AGGREGATE"
FIRST_CLASS = 20000  # the smallest id of a class that a cloud adds

Row = dict[str, object]


def provider_uuid(provider_id: int) -> str:
    """Return the uuid of the provider with this id."""
    return f"00000000-0000-4000-8000-{provider_id:012d}"


def aggregate_uuid(number: int) -> str:
    """Return the uuid of an aggregate."""
    return f"a0000000-0000-4000-8000-{number:012d}"


def consumer_uuid(number: int) -> str:
    """Return the uuid of an initial consumer of a cloud; the first number is 1."""
    return f"c0000000-0000-4000-8000-{number:012d}"


def project_name(number: int) -> str:
    """Return the external id of a project of a cloud; the first one is "project"."""
    return "project" if number == 1 else f"project{number}"


@dataclass(frozen=True)
class Stock:
    """An inventory; without `max_unit` one consumer may take all of it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int | None = None
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclass(frozen=True)
class Provider:
    """A provider; its id is its position in the cloud, from 1, and determines name and uuid.

    The inventory of a class may be a plain number, its total. `claims` are the allocations of each
    consumer of the cloud.
    """

    stock: Mapping[str, int | Stock]
    traits: Collection[str] = ()
    parent: int | None = None
    aggregates: Collection[str] = ()
    claims: Mapping[str, int] | None = None
    name: str = ""
    uuid: str = ""


@dataclass(frozen=True)
class Cloud:
    """A named cloud: its providers, and the number of consumers of each provider with claims.

    `members` generates the providers on each call, because a large cloud would use much memory. The
    consumers are distributed evenly over the projects.
    """

    name: str
    members: Callable[[], Iterable[Provider]]
    consumers: int = 0
    hosts: int = 0
    projects: int = 1


class CloudBuilder:
    """Collects the providers of a cloud one by one."""

    def __init__(self) -> None:
        self.providers: list[Provider] = []

    def add(
        self,
        name: str,
        stock: Mapping[str, int | Stock] | None = None,
        *,
        parent: int | None = None,
        traits: Sequence[str] = (),
        aggregates: Sequence[str] = (),
        claims: Mapping[str, int] | None = None,
    ) -> int:
        """Add a provider and return its id. claims: allocations of its only consumer."""
        self.providers.append(Provider(stock or {}, traits, parent, aggregates, claims, name=name))
        return len(self.providers)


@contextmanager
def building(engine: sa.Engine) -> Iterator[CloudBuilder]:
    """Collect a cloud, which is written when the block ends."""
    builder = CloudBuilder()
    yield builder
    with engine.begin() as conn:
        consumers = int(any(each.claims for each in builder.providers))
        write(conn, Cloud("cloud", lambda: builder.providers, consumers=consumers))


def load(engine: sa.Engine, cloud: Cloud) -> None:
    """Write a cloud, show the progress, and update the statistics of the database."""
    with engine.begin() as conn:
        write(conn, cloud, show=True)
    _analyze(engine)


def write(conn: sa.Connection, cloud: Cloud, *, show: bool = False) -> None:
    """Write a cloud into tables that have catalogues and no providers."""
    class_ids = ensure_classes(conn, {name for each in cloud.members() for name in each.stock})
    names = {
        "trait": {name for each in cloud.members() for name in each.traits},
        "aggregate": {name for each in cloud.members() for name in each.aggregates},
    }
    ids = catalog.ensure(conn, names)
    if cloud.consumers:
        copy_rows(conn, t.projects, _projects(cloud))
        conn.execute(sa.insert(t.users).values(id=1, external_id="user"))
    for table, rows in (
        (t.resource_providers, _providers(cloud)),
        (t.inventories, _inventories(cloud, class_ids, dialect_of(conn))),
        (t.resource_provider_traits, _traits(cloud, ids["trait"])),
        (t.resource_provider_aggregates, _aggregates(cloud, ids["aggregate"])),
        (t.consumers, _consumers(cloud)),
        (t.allocations, _allocations(cloud, class_ids)),
    ):
        title = f"{cloud.name} {table}"
        disable = None if show else True  # None: unless it is a terminal
        with tqdm(rows, title, unit=" rows", leave=False, disable=disable) as shown:
            # openstack-placement fails if only some providers have a time.
            copy_rows(conn, table, ({**row, "created_at": CREATED} for row in shown))
    _mend_sequences(conn)


def ensure_classes(conn: sa.Connection, names: Collection[str]) -> Mapping[str, int]:
    """Return the ids of resource classes; create the missing ones."""
    ids = catalog.find_ids(conn, {"resource_class": names})["resource_class"]
    last = conn.execute(sa.select(sa.func.max(t.resource_classes.c.id))).scalar_one()
    absent = sorted(set(names) - ids.keys())
    for class_id, name in enumerate(absent, max(FIRST_CLASS, last + 1)):
        conn.execute(sa.insert(t.resource_classes).values(id=class_id, name=name))
        ids[name] = class_id
    return ids


def _providers(cloud: Cloud) -> Iterator[Row]:
    roots: dict[int, int] = {}
    for provider_id, provider in enumerate(cloud.members(), 1):
        parent = provider.parent
        roots[provider_id] = provider_id if parent is None else roots[parent]
        yield {
            "id": provider_id,
            "uuid": provider.uuid or provider_uuid(provider_id),
            "name": provider.name or f"provider{provider_id}",
            "generation": 0,
            "parent_provider_id": parent,
            "root_provider_id": roots[provider_id],
            "revision": new_revision() if parent is None else 0,
        }


def _inventories(cloud: Cloud, class_ids: Mapping[str, int], dialect: Dialect) -> Iterator[Row]:
    for provider_id, provider in enumerate(cloud.members(), 1):
        claims = provider.claims or {}
        for name, stock in provider.stock.items():
            if isinstance(stock, int):
                stock = Stock(stock)
            yield {
                "resource_provider_id": provider_id,
                "resource_class_id": class_ids[name],
                "total": stock.total,
                "reserved": stock.reserved,
                "min_unit": stock.min_unit,
                "max_unit": stock.total if stock.max_unit is None else stock.max_unit,
                "step_size": stock.step_size,
                "allocation_ratio": stock.allocation_ratio,
                "used": cloud.consumers * claims.get(name, 0),
                "capacity": capacity(
                    stock.total, stock.reserved, dialect.as_stored(stock.allocation_ratio)
                ),
            }


def _traits(cloud: Cloud, ids: Mapping[str, int]) -> Iterator[Row]:
    for provider_id, provider in enumerate(cloud.members(), 1):
        for name in provider.traits:
            yield {"resource_provider_id": provider_id, "trait_id": ids[name]}


def _aggregates(cloud: Cloud, ids: Mapping[str, int]) -> Iterator[Row]:
    # If the database ignores case, one row represents all spellings that differ only in case.
    in_any_case = {spelling.lower(): row_id for spelling, row_id in ids.items()}
    for provider_id, provider in enumerate(cloud.members(), 1):
        for uuid in provider.aggregates:
            row_id = ids.get(uuid) or in_any_case[uuid.lower()]
            yield {"resource_provider_id": provider_id, "aggregate_id": row_id}


def _claims(cloud: Cloud) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Yield (consumer uuid, provider id, allocations)."""
    number = 0
    for provider_id, provider in enumerate(cloud.members(), 1):
        if provider.claims is None:
            continue
        for _ in range(cloud.consumers):
            number += 1
            yield consumer_uuid(number), provider_id, provider.claims


def _projects(cloud: Cloud) -> Iterator[Row]:
    for project_id in range(1, cloud.projects + 1):
        yield {"id": project_id, "external_id": project_name(project_id)}


def _consumers(cloud: Cloud) -> Iterator[Row]:
    for number, (uuid, _provider_id, _amounts) in enumerate(_claims(cloud)):
        project_id = number % cloud.projects + 1
        yield {"uuid": uuid, "project_id": project_id, "user_id": 1, "generation": 1}


def _allocations(cloud: Cloud, class_ids: Mapping[str, int]) -> Iterator[Row]:
    for uuid, provider_id, amounts in _claims(cloud):
        for name, amount in amounts.items():
            yield {
                "resource_provider_id": provider_id,
                "consumer_id": uuid,
                "resource_class_id": class_ids[name],
                "used": amount,
            }


def _mend_sequences(conn: sa.Connection) -> None:
    """Advance PostgreSQL's sequences beyond the inserted ids."""
    if conn.dialect.name == "postgresql":
        for table in ("resource_providers", "projects", "users"):
            conn.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
                f"(SELECT COALESCE(MAX(id), 1) FROM {table}))"
            )


def _analyze(engine: sa.Engine) -> None:
    """Update the statistics of the planner, as the server would after a while."""
    with engine.begin() as conn:
        if conn.dialect.name == "mysql":
            for table in t.metadata.tables:
                conn.exec_driver_sql(f"ANALYZE TABLE {table}").all()
        else:
            conn.exec_driver_sql("ANALYZE")
