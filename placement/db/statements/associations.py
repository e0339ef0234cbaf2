"""The traits and aggregates of providers."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db import bulk
from placement.db import tables as t
from placement.db.fragments import changed_at
from placement.db.statement import Query, Writes

_PROVIDER = sa.bindparam("provider_id", type_=sa.Integer)

# -- traits ------------------------------------------------------------------------------------

_link = t.resource_provider_traits
_TRAITS_OF = (
    sa.select(t.traits.c.id, t.traits.c.name, changed_at(t.traits))
    .join_from(_link, t.traits, t.traits.c.id == _link.c.trait_id)
    .where(_link.c.resource_provider_id == _PROVIDER)
    .order_by(t.traits.c.name)
)


def traits_of(provider_id: int) -> Query:
    """Select (id, name, changed_at) of the traits of a provider."""
    return Query(_TRAITS_OF, {"provider_id": provider_id})


def add_traits(provider_id: int, trait_ids: Collection[int]) -> Writes:
    """Add traits to a provider. The provider must not have any of them."""
    return _add(t.resource_provider_traits.c.trait_id, provider_id, trait_ids)


def remove_traits(provider_id: int, trait_ids: Collection[int]) -> Writes:
    """Remove traits from a provider. The provider must have all of them."""
    return _remove(t.resource_provider_traits.c.trait_id, provider_id, trait_ids)


# -- aggregates --------------------------------------------------------------------------------

_AGGREGATES_OF = (
    sa.select(t.placement_aggregates.c.id, t.placement_aggregates.c.uuid)
    .join_from(
        t.resource_provider_aggregates,
        t.placement_aggregates,
        t.placement_aggregates.c.id == t.resource_provider_aggregates.c.aggregate_id,
    )
    .where(t.resource_provider_aggregates.c.resource_provider_id == _PROVIDER)
    .order_by(t.placement_aggregates.c.uuid)
)


def aggregates_of(provider_id: int) -> Query:
    """Select (id, uuid) of the aggregates that a provider is directly in."""
    return Query(_AGGREGATES_OF, {"provider_id": provider_id})


def add_aggregates(provider_id: int, aggregate_ids: Collection[int]) -> Writes:
    """Add a provider to aggregates. The provider must not be in any of them."""
    return _add(t.resource_provider_aggregates.c.aggregate_id, provider_id, aggregate_ids)


def remove_aggregates(provider_id: int, aggregate_ids: Collection[int]) -> Writes:
    """Remove a provider from aggregates. The provider must be in all of them."""
    return _remove(t.resource_provider_aggregates.c.aggregate_id, provider_id, aggregate_ids)


# -- both --------------------------------------------------------------------------------------


def _add(column: sa.Column[int], provider_id: int, ids: Collection[int]) -> Writes:
    rows = []
    created_at = t.now()
    for row_id in sorted(ids):
        row = {"resource_provider_id": provider_id, column.name: row_id, "created_at": created_at}
        rows.append(row)
    return bulk.insert(column.table, rows)


def _remove(column: sa.Column[int], provider_id: int, ids: Collection[int]) -> Writes:
    link = column.table
    delete = sa.delete(link).where(link.c.resource_provider_id == _PROVIDER, bulk.in_list(column))
    return bulk.write_by(delete, ids, {"provider_id": provider_id})
