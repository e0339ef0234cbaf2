"""Inventories: what a provider has of each class, how much of it is used."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.statement import (
    Queries,
    Query,
    Write,
    Writes,
    mapping_chunks,
    sorted_chunks,
)
from placement.vocabulary import INVENTORY_AMOUNTS

inventory = t.inventories
FIELDS = (*INVENTORY_AMOUNTS, "allocation_ratio", "capacity")


_OF_PROVIDERS = (
    sa.select(
        inventory.c.id,
        inventory.c.resource_provider_id.label("provider_id"),
        inventory.c.resource_class_id.label("class_id"),
        t.resource_classes.c.name.label("class_name"),
        inventory.c.used,
        *(inventory.c[field] for field in FIELDS),
        sa.func.coalesce(inventory.c.updated_at, inventory.c.created_at).label("changed_at"),
    )
    .select_from(
        inventory.join(t.resource_classes, t.resource_classes.c.id == inventory.c.resource_class_id)
    )
    .where(
        inventory.c.resource_provider_id.in_(
            fragments.many("ids", inventory.c.resource_provider_id)
        )
    )
    .order_by(inventory.c.resource_provider_id, inventory.c.resource_class_id)
)


def of_providers(provider_ids: Collection[int]) -> Queries:
    """Select all inventories of the providers, with the names of their classes."""
    return Queries(Query(_OF_PROVIDERS, {"ids": chunk}) for chunk in sorted_chunks(provider_ids))


_ALLOCATED = (
    "(SELECT COALESCE(SUM(allocations.used), 0) FROM allocations"
    " WHERE allocations.resource_provider_id = :resource_provider_id_{place}"
    " AND allocations.resource_class_id = :resource_class_id_{place})"
)


def create(rows: Sequence[Mapping[str, int | float]]) -> Writes:
    """Insert inventories; `used` starts with what is already allocated against each.

    A row has `resource_provider_id`, `resource_class_id` and the FIELDS.
    """
    created = t.now()
    made = [{**row, "created_at": created} for row in rows]
    return fragments.insert(inventory, made, (("used", _ALLOCATED),))


def update(rows: Mapping[int, Mapping[str, int | float]]) -> Writes:
    """Set the FIELDS of inventories, by id."""
    return Writes(_update(chunk) for chunk in mapping_chunks(rows))


def _update(rows: Mapping[int, Mapping[str, int | float]]) -> Write:
    values: dict[str, object] = {"updated_at": t.now()}
    for field in FIELDS:
        values_by_id = {row_id: row[field] for row_id, row in rows.items()}
        values[field] = fragments.by_key(inventory.c.id, values_by_id, inventory.c[field])
    update = sa.update(inventory).where(inventory.c.id.in_(sorted(rows))).values(**values)
    return Write(update, matches=len(rows))


def delete_unused(ids: Collection[int]) -> Writes:
    """Delete inventories against which nothing is allocated; others are not matched."""
    delete = sa.delete(inventory).where(inventory.c.used == 0)
    return Writes(
        Write(delete.where(inventory.c.id.in_(chunk)), matches=len(chunk))
        for chunk in sorted_chunks(ids)
    )


def move_used(deltas: Mapping[int, int]) -> Writes:
    """Add to `used`, by inventory id, where it does not grow beyond the capacity.

    A delta that does not grow is always let through: shrinking an over-committed inventory is
    allowed. What would grow too far is not matched.
    """
    return Writes(
        Write(_move_used(len(chunk)), fragments.placed(chunk, delta=chunk), matches=len(chunk))
        for chunk in mapping_chunks(deltas)
    )


@lru_cache(maxsize=16)
def _move_used(size: int) -> sa.Update:
    delta = fragments.by_place(inventory.c.id, size, "delta", inventory.c.used)
    return (
        sa.update(inventory)
        .where(
            inventory.c.id.in_(fragments.many("ids", inventory.c.id)),
            sa.or_(delta <= 0, inventory.c.used + delta <= inventory.c.capacity),
        )
        .values(used=inventory.c.used + delta)
    )
