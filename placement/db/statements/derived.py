"""What is derived: `used`, `capacity` and the revisions of trees, and what they follow from."""

from collections.abc import Mapping

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.statement import Query, Writes

_inventory, _allocation, _provider = t.inventories, t.allocations, t.resource_providers


def sums() -> Query:
    """Select (provider id, class id, used) of all allocations.

    They are not joined to the inventories: for tables that have just been filled, MariaDB may
    choose to compute the sums again for each of them.
    """
    column = _allocation.c
    provider_id, class_id = column.resource_provider_id, column.resource_class_id
    used = sa.func.sum(column.used).label("used")
    return Query(sa.select(provider_id, class_id, used).group_by(provider_id, class_id))


def inventories(after: int, size: int) -> Query:
    """Select the next inventories by id, with what their derived columns follow from."""
    column = _inventory.c
    return Query(
        sa.select(
            column.id,
            column.resource_provider_id,
            column.resource_class_id,
            column.total,
            column.reserved,
            column.allocation_ratio,
            column.used,
            column.capacity,
        )
        .where(column.id > after)
        .order_by(column.id)
        .limit(size)
    )


def set_column(column: str, values: Mapping[int, int]) -> Writes:
    """Set `used` or `capacity` of inventories, by id."""
    return bulk.set_by_id(_inventory.c[column], values)


def roots(after: int, size: int) -> Query:
    """Select the ids of the next roots, once no other transaction has locked them."""
    return Query(
        sa.select(_provider.c.id)
        .where(_provider.c.parent_provider_id.is_(None), _provider.c.id > after)
        .order_by(_provider.c.id)
        .limit(size)
        .with_for_update()
    )


def set_revisions(values: Mapping[int, int]) -> Writes:
    """Set the revisions of roots, by id."""
    return bulk.set_by_id(_provider.c.revision, values)


def uncounted_roots(limit: int | None = None) -> Query:
    """Select roots whose derived columns have never been filled: their revision is 0."""
    rows = sa.select(_provider.c.uuid.label("provider"))
    is_root = _provider.c.parent_provider_id.is_(None)
    return Query(rows.where(is_root, _provider.c.revision == 0).limit(limit))
