"""What is derived: `used`, `capacity` and the revisions of trees, and what they follow from."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.statement import Query, Write, Writes

WINDOW = 10_000  # inventories, or trees, that are looked at in one statement

_inventory, _allocation, _provider = t.inventories, t.allocations, t.resource_providers


def last_of_window(after: int) -> Query:
    """Select the id of the last inventory of the window that begins after another one."""
    ids = sa.select(_inventory.c.id).where(_inventory.c.id > after).order_by(_inventory.c.id)
    return Query(sa.select(sa.func.max(ids.limit(WINDOW).subquery().c.id)))


def wrong_used(after: int, until: int) -> Query:
    """Select (id, right) of inventories of a window whose `used` is not the sum of allocations.

    The sum is taken for each inventory, of the index that has all it takes: for tables that have
    just been filled, MariaDB may choose to compute a join with all sums again for each of them.
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


_AMOUNTS = ("total", "reserved", "allocation_ratio")  # what a capacity follows from


def distinct_capacities(after: int, until: int) -> Query:
    """Select the capacities of a window and what they follow from: most inventories are alike."""
    column = _inventory.c
    columns = *(column[name] for name in _AMOUNTS), column.capacity
    rows = sa.select(*columns).where(column.id > after, column.id <= until)
    return Query(rows.distinct())


def capacities(after: int, until: int) -> Query:
    """Select the same for each inventory, with its id."""
    column = _inventory.c
    columns = column.id, *(column[name] for name in _AMOUNTS), column.capacity
    return Query(sa.select(*columns).where(column.id > after, column.id <= until))


def number_of_inventories() -> Query:
    """Count the inventories."""
    return Query(sa.select(sa.func.count()).select_from(_inventory))


def set_column(column: str, values: Mapping[int, int]) -> Writes:
    """Set `used` or `capacity` of inventories, by id."""
    return bulk.set_by_id(_inventory.c[column], values)


_IS_ROOT = _provider.c.parent_provider_id.is_(None)


def roots(after: int) -> Query:
    """Select the ids of the next roots, once no other transaction has locked them."""
    rows = sa.select(_provider.c.id).where(_IS_ROOT, _provider.c.id > after)
    return Query(rows.order_by(_provider.c.id).limit(WINDOW).with_for_update())


def set_revision(root_ids: Sequence[int], revision: int) -> Write:
    """Set the revision of a run of roots, all of which are locked."""
    column = _provider.c
    run = sa.and_(_IS_ROOT, column.id >= root_ids[0], column.id <= root_ids[-1])
    update = sa.update(_provider).where(run).values(revision=revision)
    return Write(update, matches=len(root_ids))


def number_of_roots() -> Query:
    """Count the roots."""
    return Query(sa.select(sa.func.count()).select_from(_provider).where(_IS_ROOT))


def uncounted_roots(limit: int | None = None) -> Query:
    """Select roots whose derived columns have never been filled: their revision is 0."""
    rows = sa.select(_provider.c.uuid.label("provider"))
    return Query(rows.where(_IS_ROOT, _provider.c.revision == 0).limit(limit))
