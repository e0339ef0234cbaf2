"""Pieces of SQL that several statements share, each rule written once."""

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import tables as t

LARGEST_UNIT = 2**31 - 1  # what the column max_unit holds

# What statements return: rows whose columns the docstring names.
Rows = sa.Select[*tuple[Any, ...]]
Union = sa.CompoundSelect[*tuple[Any, ...]]


def fits(inventory: FromClause, amount: int) -> ColumnElement[bool]:
    """The inventory row has room for `amount` (contract candidates.md section 4).

    The Python twin is `placement.objects.capacity.fits`; a property test holds them equal.
    """
    if amount > LARGEST_UNIT:
        return sa.false()
    column = inventory.c
    return sa.and_(
        column.used + amount <= column.capacity,
        column.min_unit <= amount,
        column.max_unit >= amount,
        sa.literal(amount) % column.step_size == 0,
    )


def has_any_trait(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has at least one of the traits (ids)."""
    link = t.resource_provider_traits
    return (
        sa.select(sa.literal(1))
        .select_from(link)
        .where(link.c.resource_provider_id == provider_id, link.c.trait_id.in_(sorted(traits)))
        .exists()
    )


def has_all_traits(provider_id: ColumnElement[int], traits: Collection[int]) -> ColumnElement[bool]:
    """The provider has every one of the traits (ids): one condition, however many they are."""
    link = t.resource_provider_traits
    count = (
        sa.select(sa.func.count())
        .select_from(link)
        .where(link.c.resource_provider_id == provider_id, link.c.trait_id.in_(sorted(traits)))
        .scalar_subquery()
    )
    return count == len(set(traits))


def in_any_aggregate(
    provider_id: ColumnElement[int], aggregates: Collection[int]
) -> ColumnElement[bool]:
    """The provider is directly in at least one of the aggregates (ids)."""
    link = t.resource_provider_aggregates
    return (
        sa.select(sa.literal(1))
        .select_from(link)
        .where(
            link.c.resource_provider_id == provider_id, link.c.aggregate_id.in_(sorted(aggregates))
        )
        .exists()
    )


def touched(uuids: Collection[str], consumers: Collection[str]) -> ColumnElement[bool]:
    """The provider is one of those named, or one that the consumers (uuids) use."""
    provider, allocation = t.resource_providers, t.allocations
    named: ColumnElement[bool] = provider.c.uuid.in_(sorted(uuids))
    if not consumers:
        return named
    used = sa.select(allocation.c.resource_provider_id).where(
        allocation.c.consumer_id.in_(sorted(consumers))
    )
    return sa.or_(named, provider.c.id.in_(used))


def by_key(
    key: ColumnElement[int], values: Mapping[int, object], like: ColumnElement[Any]
) -> ColumnElement[Any]:
    """`CASE key WHEN … THEN value …`: one UPDATE for rows that get different values.

    The values are of the type of the column `like`, which engines cannot tell from a null.
    """
    return sa.case({one: sa.literal(value, like.type) for one, value in values.items()}, value=key)
