"""What stands in trees: their members with stocks, traits and aggregates."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement

from placement.db import fragments
from placement.db import tables as t
from placement.db.dialect import JsonRows
from placement.db.fragments import Bound

provider = t.resource_providers
_inventory = t.inventories
_aggregate = t.placement_aggregates
_link = t.resource_provider_aggregates


def _of_member(rows: JsonRows, source: sa.FromClause, member_id: ColumnElement[int]) -> Any:
    return (
        sa.select(rows)
        .select_from(source)
        .where(member_id == provider.c.id)
        .correlate(provider)
        .scalar_subquery()
    )


_MEMBERS = sa.select(
    provider.c.root_provider_id,
    provider.c.id,
    provider.c.parent_provider_id,
    provider.c.uuid,
    _of_member(
        JsonRows(t.resource_classes.c.name, *fragments.STOCK_COLUMNS),
        _inventory.join(
            t.resource_classes, t.resource_classes.c.id == _inventory.c.resource_class_id
        ),
        _inventory.c.resource_provider_id,
    ).label("stocks"),
    _of_member(
        JsonRows(t.resource_provider_traits.c.trait_id),
        t.resource_provider_traits,
        t.resource_provider_traits.c.resource_provider_id,
    ).label("traits"),
    _of_member(
        JsonRows(_aggregate.c.uuid),
        _link.join(_aggregate, _aggregate.c.id == _link.c.aggregate_id),
        _link.c.resource_provider_id,
    ).label("aggregates"),
).where(provider.c.root_provider_id.in_(fragments.many("roots", provider.c.root_provider_id)))


def members(root_ids: Collection[int]) -> Bound:
    """Select the members of trees with all that they have, in any order.

    A row is (root id, id, parent id, uuid, stocks, traits, aggregates); the last three are
    `JsonRows` of (class, the fields of `Stock`), (trait id) and (uuid).
    """
    return _MEMBERS, {"roots": sorted(root_ids)}


_TRAIT_NAMES = sa.select(t.traits.c.id, t.traits.c.name).where(
    t.traits.c.id.in_(fragments.many("ids", t.traits.c.id))
)


def trait_names(ids: Collection[int]) -> Bound:
    """Select (id, name) of traits."""
    return _TRAIT_NAMES, {"ids": sorted(ids)}
