"""What is derived: `used`, `capacity` and the revisions of trees, and what they follow from."""

from collections.abc import Mapping

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.fragments import Rows
from placement.db.writes import Write

inventory, allocation = t.inventories, t.allocations


def sums() -> Rows:
    """Select (provider id, class id, used) of all that is allocated.

    Not joined to the inventories: for tables that have just been filled, MariaDB may choose to
    sum anew for each of them.
    """
    provider_id, class_id = allocation.c.resource_provider_id, allocation.c.resource_class_id
    return sa.select(provider_id, class_id, sa.func.sum(allocation.c.used).label("used")).group_by(
        provider_id, class_id
    )


def inventories(after: int, size: int) -> Rows:
    """Select the next inventories by id, with what their derived columns follow from."""
    return (
        sa.select(
            inventory.c.id,
            inventory.c.resource_provider_id,
            inventory.c.resource_class_id,
            inventory.c.total,
            inventory.c.reserved,
            inventory.c.allocation_ratio,
            inventory.c.used,
            inventory.c.capacity,
        )
        .where(inventory.c.id > after)
        .order_by(inventory.c.id)
        .limit(size)
    )


def set_column(column: str, by_id: Mapping[int, int]) -> Write:
    """Set `used` or `capacity` of inventories, by id."""
    statement = (
        sa.update(inventory)
        .where(inventory.c.id.in_(sorted(by_id)))
        .values({column: fragments.by_key(inventory.c.id, by_id, inventory.c[column])})
    )
    return Write(statement, len(by_id))


def roots(after: int, size: int) -> Rows:
    """Select the ids of the next roots, once no other transaction has them."""
    provider = t.resource_providers
    return (
        sa.select(provider.c.id)
        .where(provider.c.parent_provider_id.is_(None), provider.c.id > after)
        .order_by(provider.c.id)
        .limit(size)
        .with_for_update()
    )


def set_revisions(by_id: Mapping[int, int]) -> Write:
    """Set the revisions of roots, by id."""
    provider = t.resource_providers
    statement = (
        sa.update(provider)
        .where(provider.c.id.in_(sorted(by_id)))
        .values(revision=fragments.by_key(provider.c.id, by_id, provider.c.revision))
    )
    return Write(statement, len(by_id))


def uncounted_roots() -> Rows:
    """Select roots whose derived columns have never been filled: their revision is 0."""
    provider = t.resource_providers
    return sa.select(provider.c.uuid.label("provider")).where(
        provider.c.parent_provider_id.is_(None), provider.c.revision == 0
    )
