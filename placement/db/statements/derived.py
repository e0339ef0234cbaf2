"""What is derived: `used`, `capacity` and the revisions of trees, and what they follow from."""

from collections.abc import Mapping

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.statement import Query, Writes, mapping_chunks

inventory, allocation = t.inventories, t.allocations


def sums() -> Query:
    """Select (provider id, class id, used) of all that is allocated.

    Not joined to the inventories: for tables that have just been filled, MariaDB may choose to
    sum anew for each of them.
    """
    provider_id, class_id = allocation.c.resource_provider_id, allocation.c.resource_class_id
    used = sa.func.sum(allocation.c.used).label("used")
    return Query(sa.select(provider_id, class_id, used).group_by(provider_id, class_id))


def inventories(after: int, size: int) -> Query:
    """Select the next inventories by id, with what their derived columns follow from."""
    return Query(
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


def set_column(column: str, by_id: Mapping[int, int]) -> Writes:
    """Set `used` or `capacity` of inventories, by id."""
    return Writes(
        fragments.set_by_id(inventory.c[column], chunk) for chunk in mapping_chunks(by_id)
    )


def roots(after: int, size: int) -> Query:
    """Select the ids of the next roots, once no other transaction has them."""
    provider = t.resource_providers
    return Query(
        sa.select(provider.c.id)
        .where(provider.c.parent_provider_id.is_(None), provider.c.id > after)
        .order_by(provider.c.id)
        .limit(size)
        .with_for_update()
    )


def set_revisions(by_id: Mapping[int, int]) -> Writes:
    """Set the revisions of roots, by id."""
    column = t.resource_providers.c.revision
    return Writes(fragments.set_by_id(column, chunk) for chunk in mapping_chunks(by_id))


def uncounted_roots(limit: int | None = None) -> Query:
    """Select roots whose derived columns have never been filled: their revision is 0."""
    provider = t.resource_providers
    rows = sa.select(provider.c.uuid.label("provider"))
    roots = provider.c.parent_provider_id.is_(None)
    return Query(rows.where(roots, provider.c.revision == 0).limit(limit))
