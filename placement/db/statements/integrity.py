"""Select faults in the rows of a database, and repair them.

Operators see the columns of a selection as an example of the fault.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import same_identifier
from placement.db.fragments import NOW, Selection, belongs_to, has_row, is_hold
from placement.db.statement import Queries, Query, Write, Writes

provider, inventory, allocation = t.resource_providers, t.inventories, t.allocations
consumer, resource_class = t.consumers, t.resource_classes
_record = t.claim_records


def _no_row(table: sa.Table) -> sa.ScalarSelect[int]:
    rows = sa.select(*table.c).where(sa.false()).subquery(table.name + "_columns")
    return sa.select(sa.func.count()).select_from(rows).scalar_subquery()


_SHAPE = sa.select(*(_no_row(table) for table in t.metadata.sorted_tables))


def shape() -> Query:
    """Select no rows, but all columns. The query fails if a column is missing or cannot be read."""
    return Query(_SHAPE)


def count(query: Query) -> Query:
    """Select the number of rows of another statement."""
    return Query(sa.select(sa.func.count()).select_from(query.sql.subquery()))


def examples(query: Query, size: int | None) -> Query:
    """Select the first rows of a statement, or all rows if `size` is None."""
    return Query(query.sql.order_by(*query.sql.selected_columns).limit(size))


def _lacks_provider(table: sa.Table) -> ColumnElement[bool]:
    return ~has_row(provider, provider.c.id == table.c.resource_provider_id)


# -- rows that refer to a missing provider ---------------------------------------------------

# Table, condition, and the columns that an example shows. The first columns are the primary key.
_LOST: Mapping[str, tuple[sa.Table, ColumnElement[bool], tuple[str, ...]]] = {
    "inventories": (
        inventory,
        _lacks_provider(inventory),
        ("id", "resource_provider_id", "resource_class_id", "total"),
    ),
    "allocations": (
        allocation,
        _lacks_provider(allocation),
        ("id", "resource_provider_id", "consumer_id", "resource_class_id", "used"),
    ),
    "traits": (
        t.resource_provider_traits,
        sa.or_(
            _lacks_provider(t.resource_provider_traits),
            ~has_row(t.traits, t.traits.c.id == t.resource_provider_traits.c.trait_id),
        ),
        ("trait_id", "resource_provider_id"),
    ),
    "aggregates": (
        t.resource_provider_aggregates,
        sa.or_(
            _lacks_provider(t.resource_provider_aggregates),
            ~has_row(
                t.placement_aggregates,
                t.placement_aggregates.c.id == t.resource_provider_aggregates.c.aggregate_id,
            ),
        ),
        ("resource_provider_id", "aggregate_id"),
    ),
}


def lost(kind: str) -> Query:
    """Select inventories, allocations or associations that refer to a missing row."""
    return Query(_lost(kind))


def lost_among(kind: str, rows: Collection[Sequence[Any]]) -> Query:
    """Select the rows that still refer to a missing row, of the rows that `lost` has returned."""
    return Query(_lost(kind).where(_is_one_of(kind, rows)))


def _lost(kind: str) -> Selection:
    table, condition, columns = _LOST[kind]
    return sa.select(*(table.c[column] for column in columns)).where(condition)


def delete_lost(kind: str, rows: Collection[Sequence[Any]]) -> Write:
    """Delete rows that `lost_among` has returned."""
    table, _condition, _columns = _LOST[kind]
    return Write(sa.delete(table).where(_is_one_of(kind, rows)), matches=len(rows))


def _is_one_of(kind: str, rows: Collection[Sequence[Any]]) -> ColumnElement[bool]:
    """Return the condition that the primary key of a row is in one of the rows."""
    table, _condition, _columns = _LOST[kind]
    keys = [
        sa.and_(*(column == value for column, value in zip(table.primary_key, row, strict=False)))
        for row in rows
    ]
    return sa.or_(*keys)


# -- consumers -------------------------------------------------------------------------------

_is_consumer = same_identifier(consumer.c.uuid, allocation.c.consumer_id)
_UNRECORDED = ~has_row(consumer, _is_consumer)
_IDLE = ~has_row(allocation, _is_consumer)


def unrecorded_consumers(limit: int | None = None) -> Query:
    """Select the uuids of consumers that have allocations but no record.

    Without a limit, select all.
    """
    column = allocation.c.consumer_id.label("consumer")
    return Query(sa.select(column).where(_UNRECORDED).distinct().limit(limit))


def unrecorded_among(uuids: Collection[str]) -> Query:
    """Select the uuids, of a few, that have allocations but no record."""
    rows = sa.select(allocation.c.consumer_id.label("consumer")).where(
        bulk.in_list(allocation.c.consumer_id), _UNRECORDED
    )
    return Query(rows.distinct(), {"ids": sorted(uuids)})


def record_consumers(uuids: Collection[str], project_id: int, user_id: int) -> Writes:
    """Insert records with generation 0 and without a type."""
    row = {"project_id": project_id, "user_id": user_id, "generation": 0, "created_at": t.now()}
    return bulk.insert(consumer, [{"uuid": uuid, **row} for uuid in sorted(uuids)])


def idle_consumers() -> Query:
    """Select consumers that have no allocations."""
    return Query(sa.select(consumer.c.uuid.label("consumer")).where(_IDLE))


def _records() -> Selection:
    return sa.select(_record.c.consumer_uuid.label("consumer"), _record.c.spread_group)


def records_without_consumer() -> Query:
    """Select claim records that belong to no consumer."""
    return Query(_records().where(~has_row(consumer, belongs_to(_record, consumer))))


def ended_holds() -> Query:
    """Select holds that have expired and were not released yet."""
    ended = sa.and_(is_hold(_record, consumer), _record.c.expires_at <= NOW)
    source = _record.join(consumer, belongs_to(_record, consumer))
    return Query(_records().select_from(source).where(ended))


def unowned_consumers() -> Query:
    """Select consumers whose project or user does not exist."""
    columns = consumer.c.uuid.label("consumer"), consumer.c.project_id, consumer.c.user_id
    return Query(
        sa.select(*columns).where(
            sa.or_(
                ~has_row(t.projects, t.projects.c.id == consumer.c.project_id),
                ~has_row(t.users, t.users.c.id == consumer.c.user_id),
            )
        )
    )


# -- inventories and their allocations -------------------------------------------------------


def _named(table: sa.Table, *columns: ColumnElement[object]) -> Selection:
    """Select provider, class and columns of inventories or allocations whose provider exists."""
    return sa.select(
        provider.c.uuid.label("provider"),
        sa.func.coalesce(resource_class.c.name, "?").label("class"),
        *columns,
    ).select_from(
        table.join(provider, provider.c.id == table.c.resource_provider_id).outerjoin(
            resource_class, resource_class.c.id == table.c.resource_class_id
        )
    )


def allocations_without_inventory() -> Query:
    """Select allocations of a class of which their provider has no inventory."""
    rows = _named(allocation, allocation.c.consumer_id.label("consumer"), allocation.c.used)
    stock = sa.and_(
        inventory.c.resource_provider_id == allocation.c.resource_provider_id,
        inventory.c.resource_class_id == allocation.c.resource_class_id,
    )
    return Query(rows.where(~has_row(inventory, stock)))


def inventories_of_unknown_class() -> Query:
    """Select inventories whose class does not exist."""
    rows = _named(inventory, inventory.c.resource_class_id)
    return Query(rows.where(resource_class.c.id.is_(None)))


def numbered_inventories(ids: Collection[int]) -> Queries:
    """Select (provider, class, used, capacity, id) of inventories."""
    column = inventory.c
    rows = _named(inventory, column.used, column.capacity, column.id)
    return bulk.select_by(rows.where(bulk.in_list(column.id)), ids)


# -- trees -----------------------------------------------------------------------------------


_FOREST = sa.select(
    provider.c.id,
    provider.c.uuid,
    provider.c.parent_provider_id.label("parent_id"),
    provider.c.root_provider_id.label("root_id"),
)


def forest(after: int, size: int) -> Query:
    """Select (id, uuid, parent id, root id) of the next providers, by id."""
    rows = _FOREST.where(provider.c.id > after).order_by(provider.c.id)
    return Query(rows.limit(size))


def rootless(size: int | None) -> Query:
    """Select (id, parent id) of the first providers without a root id, or all if `size` is None."""
    return Query(
        sa.select(provider.c.id, provider.c.parent_provider_id.label("parent_id"))
        .where(provider.c.root_provider_id.is_(None))
        .order_by(provider.c.id)
        .limit(size)
    )


def positions(ids: Collection[int]) -> Queries:
    """Select (id, uuid, parent id, root id) of providers."""
    return bulk.select_by(_FOREST.where(bulk.in_list(provider.c.id)), ids)


def set_roots(root_ids: Mapping[int, int]) -> Writes:
    """Set the root ids of providers, by id."""
    return bulk.set_by_id(provider.c.root_provider_id, root_ids)


def detach(ids: Collection[int]) -> Writes:
    """Make providers roots, in one statement, because both old values may violate constraints."""
    update = sa.update(provider).values(parent_provider_id=None, root_provider_id=provider.c.id)
    return bulk.write_by(update.where(bulk.in_list(provider.c.id)), ids)
