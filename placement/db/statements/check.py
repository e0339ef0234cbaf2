"""What may be wrong with the rows of a database: a selection for each fault, and what mends it.

The columns of a selection are what an operator is shown of an example.
"""

from collections.abc import Collection, Mapping
from functools import cache

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Rows
from placement.db.writes import Write

provider, inventory, allocation = t.resource_providers, t.inventories, t.allocations
consumer, resource_class = t.consumers, t.resource_classes


@cache
def shape() -> Rows:
    """Select nothing from any column; it fails unless all are there and may be read."""
    empty = (
        sa.select(sa.func.count()).select_from(
            sa.select(*table.c).where(sa.false()).subquery(table.name + "_columns")
        )
        for table in t.metadata.sorted_tables
    )
    return sa.select(*(each.scalar_subquery() for each in empty))


def count(rows: Rows) -> Rows:
    """Select how many rows another statement would give."""
    return sa.select(sa.func.count()).select_from(rows.subquery())


def examples(rows: Rows, size: int | None) -> Rows:
    """Select the first rows of a statement, or all."""
    return rows.order_by(*rows.selected_columns).limit(size)


def _lacks(table: sa.Table, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    return ~sa.select(sa.literal(1)).select_from(table).where(condition).exists()


def _lacks_provider(table: sa.Table) -> ColumnElement[bool]:
    return _lacks(provider, provider.c.id == table.c.resource_provider_id)


# -- rows that belong to a provider which is not there ---------------------------------------

_LOST: Mapping[str, tuple[sa.Table, ColumnElement[bool], tuple[str, ...]]] = {
    "inventories": (
        inventory,
        _lacks_provider(inventory),
        ("resource_provider_id", "resource_class_id", "total"),
    ),
    "allocations": (
        allocation,
        _lacks_provider(allocation),
        ("resource_provider_id", "consumer_id", "resource_class_id", "used"),
    ),
    "traits": (
        t.resource_provider_traits,
        sa.or_(
            _lacks_provider(t.resource_provider_traits),
            _lacks(t.traits, t.traits.c.id == t.resource_provider_traits.c.trait_id),
        ),
        ("resource_provider_id", "trait_id"),
    ),
    "aggregates": (
        t.resource_provider_aggregates,
        sa.or_(
            _lacks_provider(t.resource_provider_aggregates),
            _lacks(
                t.placement_aggregates,
                t.placement_aggregates.c.id == t.resource_provider_aggregates.c.aggregate_id,
            ),
        ),
        ("resource_provider_id", "aggregate_id"),
    ),
}


def lost(kind: str) -> Rows:
    """Select inventories, allocations or associations one end of which is missing."""
    table, condition, columns = _LOST[kind]
    return sa.select(*(table.c[column] for column in columns)).where(condition)


def delete_lost(kind: str, number: int) -> Write:
    """Delete what `lost` selects; it was so many rows."""
    table, condition, _ = _LOST[kind]
    return Write(sa.delete(table).where(condition), number)


# -- consumers -------------------------------------------------------------------------------

_UNRECORDED = _lacks(consumer, consumer.c.uuid == allocation.c.consumer_id)
_IDLE = _lacks(allocation, allocation.c.consumer_id == consumer.c.uuid)


def unrecorded_consumers() -> Rows:
    """Select the uuids of consumers that have allocations and no record."""
    return sa.select(allocation.c.consumer_id.label("consumer")).where(_UNRECORDED).distinct()


def record_consumers(uuids: Collection[str], project_id: int, user_id: int) -> Write:
    """Insert records of generation 0 and without a type."""
    row = {"project_id": project_id, "user_id": user_id, "generation": 0, "created_at": t.now()}
    return fragments.insert(consumer, [{"uuid": uuid, **row} for uuid in sorted(uuids)])


def idle_consumers() -> Rows:
    """Select consumers that have no allocations."""
    return sa.select(consumer.c.uuid.label("consumer")).where(_IDLE)


def delete_idle_consumers(number: int) -> Write:
    """Delete what `idle_consumers` selects; it was so many rows."""
    return Write(sa.delete(consumer).where(_IDLE), number)


def unowned_consumers() -> Rows:
    """Select consumers whose project or user has no record."""
    return sa.select(
        consumer.c.uuid.label("consumer"), consumer.c.project_id, consumer.c.user_id
    ).where(
        sa.or_(
            _lacks(t.projects, t.projects.c.id == consumer.c.project_id),
            _lacks(t.users, t.users.c.id == consumer.c.user_id),
        )
    )


# -- inventories and what is allocated from them ---------------------------------------------


def _named(table: sa.Table, *columns: ColumnElement[object]) -> Rows:
    """Select provider, class and columns of inventories or allocations whose provider is there."""
    return sa.select(
        provider.c.uuid.label("provider"),
        sa.func.coalesce(resource_class.c.name, "?").label("class"),
        *columns,
    ).select_from(
        table.join(provider, provider.c.id == table.c.resource_provider_id).outerjoin(
            resource_class, resource_class.c.id == table.c.resource_class_id
        )
    )


def allocations_without_inventory() -> Rows:
    """Select allocations of a class that their provider has no inventory of."""
    return _named(allocation, allocation.c.consumer_id.label("consumer"), allocation.c.used).where(
        _lacks(
            inventory,
            sa.and_(
                inventory.c.resource_provider_id == allocation.c.resource_provider_id,
                inventory.c.resource_class_id == allocation.c.resource_class_id,
            ),
        )
    )


def inventories_of_unknown_class() -> Rows:
    """Select inventories of a class that is not there."""
    return _named(inventory, inventory.c.resource_class_id).where(resource_class.c.id.is_(None))


def overcommitted() -> Rows:
    """Select inventories of which more is used than their capacity."""
    return _named(inventory, inventory.c.used, inventory.c.capacity).where(
        inventory.c.used > inventory.c.capacity
    )


def numbered_inventories(ids: Collection[int]) -> Rows:
    """Select (provider, class, used, capacity, id) of inventories."""
    column = inventory.c
    return _named(inventory, column.used, column.capacity, column.id).where(
        column.id.in_(sorted(ids))
    )


# -- trees -----------------------------------------------------------------------------------


def forest(after: int, size: int) -> Rows:
    """Select the next providers by id: (id, uuid, parent id, root id)."""
    return (
        sa.select(
            provider.c.id,
            provider.c.uuid,
            provider.c.parent_provider_id.label("parent_id"),
            provider.c.root_provider_id.label("root_id"),
        )
        .where(provider.c.id > after)
        .order_by(provider.c.id)
        .limit(size)
    )


def rootless(size: int | None) -> Rows:
    """Select (id, parent id) of the first providers without a root id, or of all."""
    return (
        sa.select(provider.c.id, provider.c.parent_provider_id.label("parent_id"))
        .where(provider.c.root_provider_id.is_(None))
        .order_by(provider.c.id)
        .limit(size)
    )


def parents(ids: Collection[int]) -> Rows:
    """Select (id, parent id) of providers."""
    return sa.select(provider.c.id, provider.c.parent_provider_id.label("parent_id")).where(
        provider.c.id.in_(sorted(ids))
    )


def set_roots(by_id: Mapping[int, int]) -> Write:
    """Set the root ids of providers, by id."""
    statement = (
        sa.update(provider)
        .where(provider.c.id.in_(sorted(by_id)))
        .values(
            root_provider_id=fragments.by_key(provider.c.id, by_id, provider.c.root_provider_id)
        )
    )
    return Write(statement, len(by_id))


def detach(ids: Collection[int]) -> Write:
    """Leave providers without a parent."""
    statement = sa.update(provider).where(provider.c.id.in_(sorted(ids)))
    return Write(statement.values(parent_provider_id=None), len(ids))
