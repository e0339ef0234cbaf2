"""Conditions on providers, roots and trees: values that hold ids, no names."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import fragments


@dataclass(frozen=True, slots=True)
class ProviderCondition:
    """What a listed provider must meet.

    uuids: its uuid is one of these. root_id: the root of its tree. subtree: it has one of
    these uuids, or is below one that has. resources: (class, amount) pairs, all with room in its
    own inventories. traits: any of each set. forbidden: none of these traits.
    aggregates: directly in any of each set. not_aggregates: directly in none of these.
    """

    name: str | None = None
    uuids: frozenset[str] | None = None
    root_id: int | None = None
    subtree: frozenset[str] | None = None
    resources: tuple[tuple[int, int], ...] = ()
    traits: tuple[frozenset[int], ...] = ()
    forbidden: frozenset[int] = frozenset()
    aggregates: tuple[frozenset[int], ...] = ()
    not_aggregates: frozenset[int] = frozenset()

    @property
    def names_providers(self) -> bool:
        """Whether it says which providers, or which tree, may meet it."""
        return any(each is not None for each in (self.name, self.uuids, self.root_id, self.subtree))


@dataclass(frozen=True, slots=True)
class MemberCondition:
    """What one provider of a tree must meet, to serve one slot of a request for candidates.

    resources: (class, units) pairs, all of them with room.  parts_of: classes with any room.
    traits: any of each set.  forbidden: none of these traits.
    aggregates: in any of each set.  not_aggregates: in none of these.
    spans: the root's aggregates count for its members too (the unsuffixed group).
    tree: the root of the only tree that may serve, if any.
    reach: a tree with a member in one of these aggregates may be served from elsewhere.
    """

    resources: tuple[tuple[int, int], ...] = ()
    traits: tuple[frozenset[int], ...] = ()
    forbidden: frozenset[int] = frozenset()
    aggregates: tuple[frozenset[int], ...] = ()
    not_aggregates: frozenset[int] = frozenset()
    spans: bool = False
    tree: int | None = None
    parts_of: tuple[int, ...] = ()
    reach: frozenset[int] = frozenset()

    @property
    def asks_for_names(self) -> bool:
        """Whether it says anything of traits or aggregates."""
        return bool(self.traits or self.forbidden or self.aggregates or self.not_aggregates)


@dataclass(frozen=True, slots=True)
class RootCondition:
    """What the root itself must have, by ids.

    traits: all of them.  forbidden: none of these traits.  not_in: in none of these aggregates.
    any_traits: any of each set.  aggregates: in any of each set.
    """

    traits: frozenset[int] = frozenset()
    forbidden: frozenset[int] = frozenset()
    not_in: frozenset[int] = frozenset()
    any_traits: tuple[frozenset[int], ...] = ()
    aggregates: tuple[frozenset[int], ...] = ()


@dataclass(frozen=True, slots=True)
class TreeFilter:
    """What a tree must meet.

    own: at least one of the conditions must be met by a member of the tree, not from elsewhere.
    """

    conditions: tuple[MemberCondition, ...]
    root: RootCondition
    own: bool


class Driver(Enum):
    """The part of a condition with which the database begins; in the order of preference."""

    AGGREGATES = "aggregates"
    TRAITS = "traits"
    RESOURCES = "resources"
    PARTS = "parts_of"

    def is_in(self, condition: MemberCondition) -> bool:
        """Whether the condition has such a part."""
        return bool(getattr(condition, self.value))


@dataclass(frozen=True, slots=True)
class DrivingCondition:
    """The condition, by its place in the filter, with which the database begins.

    It must be one that only members of the tree can meet, or trees would be missed.
    """

    place: int
    driver: Driver


def root_meets(root_id: ColumnElement[int], condition: RootCondition) -> list[ColumnElement[bool]]:
    """Return the SQL of the condition."""
    where: list[ColumnElement[bool]] = []
    if condition.traits:
        where.append(fragments.has_all_traits(root_id, condition.traits))
    where += [fragments.has_any_trait(root_id, traits) for traits in condition.any_traits]
    where += [
        fragments.in_any_aggregate(root_id, aggregates) for aggregates in condition.aggregates
    ]
    if condition.forbidden:
        where.append(~fragments.has_any_trait(root_id, condition.forbidden))
    if condition.not_in:
        where.append(~fragments.in_any_aggregate(root_id, condition.not_in))
    return where


def member_meets(member: FromClause, condition: MemberCondition) -> list[ColumnElement[bool]]:
    """Return the SQL of the condition, whatever its reach; member: the providers to choose from."""
    row_id, root_id = member.c.id, member.c.root_provider_id
    where: list[ColumnElement[bool]] = [
        fragments.stock_with_room(row_id, class_id, amount).correlate(member).exists()
        for class_id, amount in condition.resources
    ]
    where += [
        fragments.stock_with_some(row_id, class_id).correlate(member).exists()
        for class_id in condition.parts_of
    ]
    where += [fragments.has_any_trait(row_id, traits) for traits in condition.traits]
    if condition.forbidden:
        where.append(~fragments.has_any_trait(row_id, condition.forbidden))
    if condition.aggregates:
        in_all = _in_all(row_id, condition.aggregates)
        if condition.spans:
            in_all = sa.or_(in_all, _in_all(root_id, condition.aggregates))
        where.append(in_all)
    if condition.not_aggregates:
        where.append(~fragments.in_any_aggregate(row_id, condition.not_aggregates))
        if condition.spans:
            where.append(~fragments.in_any_aggregate(root_id, condition.not_aggregates))
    if condition.tree is not None:
        where.append(root_id == condition.tree)
    return where


def _in_all(
    provider_id: ColumnElement[int], aggregate_sets: Sequence[frozenset[int]]
) -> ColumnElement[bool]:
    return sa.and_(
        *(fragments.in_any_aggregate(provider_id, aggregates) for aggregates in aggregate_sets)
    )
