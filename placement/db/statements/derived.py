"""Derived values (`used`, `capacity`, revisions of trees), and the values they depend on."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import IS_ROOT
from placement.db.statement import Query, Write, Writes

WINDOW = 10_000  # inventories, or trees, in one statement

_inventory, _allocation, _provider = t.inventories, t.allocations, t.resource_providers


def last_of_window(after: int) -> Query:
    """Select the last inventory id of the window that starts after an id."""
    ids = sa.select(_inventory.c.id).where(_inventory.c.id > after).order_by(_inventory.c.id)
    return Query(sa.select(sa.func.max(ids.limit(WINDOW).subquery().c.id)))


def wrong_used(after: int, until: int) -> Query:
    """Select (id, right) of the inventories in a window whose `used` is wrong.

    `right` is the sum of the allocations. A subquery computes it for each inventory from a covering
    index. If the tables were filled just before, MariaDB may evaluate a join with all sums again
    for each inventory.
    """
    column = _inventory.c
    right = (
        sa.select(sa.func.coalesce(sa.func.sum(_allocation.c.used), 0))
        .where(
            _allocation.c.resource_provider_id == column.resource_provider_id,
            _allocation.c.resource_class_id == column.resource_class_id,
        )
        .scalar_subquery()
    )
    rows = sa.select(column.id, right.label("right")).where(column.used != right)
    return Query(rows.where(column.id > after, column.id <= until))


_AMOUNTS = ("total", "reserved", "allocation_ratio")  # determine the capacity


def distinct_capacities(after: int, until: int) -> Query:
    """Select the distinct capacities in a window, with their amounts.

    Most inventories are equal.
    """
    column = _inventory.c
    columns = *(column[name] for name in _AMOUNTS), column.capacity
    rows = sa.select(*columns).where(column.id > after, column.id <= until)
    return Query(rows.distinct())


def capacities(after: int, until: int) -> Query:
    """Select (id, amounts, capacity) of the inventories in a window."""
    column = _inventory.c
    columns = column.id, *(column[name] for name in _AMOUNTS), column.capacity
    return Query(sa.select(*columns).where(column.id > after, column.id <= until))


def number_of_inventories() -> Query:
    """Count the inventories."""
    return Query(sa.select(sa.func.count()).select_from(_inventory))


def set_column(column: str, values: Mapping[int, int]) -> Writes:
    """Set `used` or `capacity` of inventories, by id."""
    return bulk.set_by_id(_inventory.c[column], values)


def roots(after: int) -> Query:
    """Select the ids of the next roots and lock the roots."""
    rows = sa.select(_provider.c.id).where(IS_ROOT, _provider.c.id > after)
    return Query(rows.order_by(_provider.c.id).limit(WINDOW).with_for_update())


def set_revision(root_ids: Sequence[int], revision: int) -> Write:
    """Set the revision of consecutive roots. The roots must be locked."""
    column = _provider.c
    run = sa.and_(IS_ROOT, column.id >= root_ids[0], column.id <= root_ids[-1])
    update = sa.update(_provider).where(run).values(revision=revision)
    return Write(update, matches=len(root_ids))


def number_of_roots() -> Query:
    """Count the roots."""
    return Query(sa.select(sa.func.count()).select_from(_provider).where(IS_ROOT))


def roots_without_revision(limit: int | None = None) -> Query:
    """Select roots without a revision.

    The derived columns of their trees have never been computed.
    """
    rows = sa.select(_provider.c.uuid.label("provider"))
    return Query(rows.where(IS_ROOT, _provider.c.revision == 0).limit(limit))
