"""Sharing providers, and the sets of them that trees reach."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from placement.db import fragments
from placement.db import tables as t
from placement.db.conditions import RootCondition, root_meets
from placement.db.statement import Query
from placement.vocabulary import SHARING_TRAIT

provider = t.resource_providers
_root = provider.alias("root")
_link = t.resource_provider_aggregates.alias("link")
_aggregate = t.placement_aggregates
_inventory = t.inventories

_WITH_TRAIT = (
    sa.select(
        provider.c.uuid,
        _root.c.id.label("root_id"),
        _root.c.revision,
        _aggregate.c.id.label("aggregate_id"),
        _aggregate.c.uuid.label("aggregate"),
        _inventory.c.resource_class_id.label("class_id"),
        *fragments.STOCK_COLUMNS,
    )
    .select_from(
        provider.join(_root, _root.c.id == provider.c.root_provider_id)
        .outerjoin(_link, _link.c.resource_provider_id == provider.c.id)
        .outerjoin(_aggregate, _aggregate.c.id == _link.c.aggregate_id)
        .outerjoin(_inventory, _inventory.c.resource_provider_id == provider.c.id)
    )
    # By id, and not joined: engines would take the trait for as common as others, and look at
    # every provider.
    .where(
        _root.c.parent_provider_id.is_(None),  # not so in a damaged database
        provider.c.id.in_(
            sa.select(t.resource_provider_traits.c.resource_provider_id).where(
                t.resource_provider_traits.c.trait_id == sa.bindparam("trait", type_=sa.Integer)
            )
        ),
    )
    .order_by(provider.c.id)
)


def with_trait(trait_id: int) -> Query:
    """Select the providers with the trait, their trees, aggregates and stock.

    One row for each (provider, aggregate, class); aggregate and class may be null.
    """
    return Query(_WITH_TRAIT, {"trait": trait_id})


_MEMBERSHIPS = (
    sa.select(provider.c.id, provider.c.uuid, provider.c.root_provider_id, _aggregate.c.uuid)
    .select_from(
        provider.join(_link, _link.c.resource_provider_id == provider.c.id).join(
            _aggregate, _aggregate.c.id == _link.c.aggregate_id
        )
    )
    .where(
        provider.c.id.in_(
            sa.select(t.resource_provider_traits.c.resource_provider_id)
            .join(t.traits, t.traits.c.id == t.resource_provider_traits.c.trait_id)
            .where(t.traits.c.name == SHARING_TRAIT)
        )
    )
    .order_by(provider.c.id)
)


def memberships() -> Query:
    """Select (provider id, uuid, root id, aggregate as stored) of all sharing providers."""
    return Query(_MEMBERSHIPS)


_BITS = 62  # aggregates in one signed 64-bit mask


def reached_sets(aggregates: Sequence[int], root: RootCondition) -> Query:
    """Select the distinct sets of the aggregates that trees have members in.

    A row is one frozenset of ids. Only trees whose root meets the condition count.
    """
    member, link = provider.alias("member"), t.resource_provider_aggregates.alias("link")
    pairs = (
        sa.select(member.c.root_provider_id.label("root_id"), link.c.aggregate_id)
        .select_from(link.join(member, member.c.id == link.c.resource_provider_id))
        .where(
            link.c.aggregate_id.in_(sorted(aggregates)),
            *root_meets(member.c.root_provider_id, root),
        )
        .distinct()
        .subquery("pairs")
    )
    # Each tree becomes a few numbers, whose bits are the aggregates: so equal sets are one row.
    masks = []
    for number, part in enumerate(_parts(aggregates)):
        bits = {aggregate: 1 << bit for bit, aggregate in enumerate(part)}
        mask = sa.func.sum(sa.case(bits, value=pairs.c.aggregate_id, else_=0))
        masks.append(mask.label(f"mask{number}"))
    sums = sa.select(*masks).group_by(pairs.c.root_id).subquery("sums")
    return Query(sa.select(*sums.c).distinct(), parse=partial(_parse_masks, aggregates))


def _parse_masks(aggregates: Sequence[int], rows: Sequence[Any]) -> list[frozenset[int]]:
    sets = []
    for row in rows:
        aggregate_ids: list[int] = []
        for mask, part in zip(row, _parts(aggregates), strict=True):
            aggregate_ids += [part[bit] for bit in range(len(part)) if int(mask) >> bit & 1]
        sets.append(frozenset(aggregate_ids))
    return sets


def _parts(aggregates: Sequence[int]) -> list[Sequence[int]]:
    """Cut aggregates into the parts that have a mask each."""
    return [aggregates[start : start + _BITS] for start in range(0, len(aggregates), _BITS)]
