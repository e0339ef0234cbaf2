"""Derived values (`used`, `capacity`, revisions of trees), and the values they depend on."""

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.constructs import force_index, straight_join
from placement.db.fragments import IS_ROOT, Selection, allocated_amount
from placement.db.statement import Queries, Query, Writes

_inventory, _provider = t.inventories, t.resource_providers


def roots(after: int, size: int, *, lock: bool = False) -> Query:
    """Select the ids of the next roots, by id. With `lock`, lock the roots in this order."""
    rows = sa.select(_provider.c.id).where(IS_ROOT, _provider.c.id > after)
    # MariaDB may begin with the first root of the index of parents, and lock all that come before.
    rows = force_index(rows.order_by(_provider.c.id).limit(size), _provider, "PRIMARY")
    return Query(rows.with_for_update(key_share=True) if lock else rows, locks=lock)


def number_of_roots() -> Query:
    """Count the roots."""
    return Query(sa.select(sa.func.count()).select_from(_provider).where(IS_ROOT))


def roots_without_revision(limit: int | None = None) -> Query:
    """Select roots without a revision.

    The derived columns of their trees have never been computed.
    """
    rows = sa.select(_provider.c.uuid.label("provider"))
    return Query(rows.where(IS_ROOT, _provider.c.revision == 0).limit(limit))


def _in_trees(*columns: sa.ColumnElement[int] | sa.ColumnElement[float]) -> Selection:
    """Select columns of the inventories in the trees with the roots `ids`."""
    in_trees = _provider.join(_inventory, _inventory.c.resource_provider_id == _provider.c.id)
    rows = sa.select(*columns).select_from(in_trees)
    # If the tables were filled just before, MariaDB may begin with all inventories, and sum up the
    # allocations of each of them for every few trees.
    return straight_join(rows.where(bulk.in_list(_provider.c.root_provider_id)))


# A subquery computes each sum from a covering index. If the tables were filled just before, MariaDB
# may evaluate a join with all sums again for each inventory.
_SUM = allocated_amount(_inventory)
_WRONG_USED = _in_trees(_inventory.c.id, _SUM.label("right")).where(_inventory.c.used != _SUM)
_AMOUNTS = [_inventory.c[name] for name in ("total", "reserved", "allocation_ratio", "capacity")]
_DISTINCT_CAPACITIES = _in_trees(*_AMOUNTS).distinct()
_CAPACITIES = _in_trees(_inventory.c.id, *_AMOUNTS)


def wrong_used(root_ids: Collection[int]) -> Queries:
    """Select (id, right) of the inventories in these trees whose `used` is wrong.

    `right` is the sum of the allocations.
    """
    return bulk.select_by(_WRONG_USED, root_ids)


def distinct_capacities(root_ids: Collection[int]) -> Queries:
    """Select the distinct capacities in these trees, with their amounts.

    Most inventories are equal.
    """
    return bulk.select_by(_DISTINCT_CAPACITIES, root_ids)


def capacities(root_ids: Collection[int]) -> Queries:
    """Select (id, amounts, capacity) of the inventories in these trees."""
    return bulk.select_by(_CAPACITIES, root_ids)


def set_column(column: str, values: Mapping[int, int]) -> Writes:
    """Set `used` or `capacity` of inventories, by id."""
    return bulk.set_by_id(_inventory.c[column], values)
