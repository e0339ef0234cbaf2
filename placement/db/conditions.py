"""Conditions on providers, roots and trees: values that hold ids, no names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import fragments
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class _Conditions:
    # What a provider must meet, as `combined` returns it.
    terms: tuple[IdCondition, ...] = ()

    def sets(self, kind: ConditionKind) -> tuple[frozenset[Any], ...]:
        """Return the ids of each condition of a kind."""
        return tuple(condition.ids for condition in self.terms if condition.kind is kind)

    @property
    def traits(self) -> tuple[frozenset[int], ...]:
        """Sets of which a provider must have a trait each."""
        return self.sets(ConditionKind.ANY_TRAIT)

    @property
    def aggregates(self) -> tuple[frozenset[int], ...]:
        """Sets of which a provider must be in an aggregate each."""
        return self.sets(ConditionKind.ANY_AGGREGATE)

    @property
    def tree(self) -> int | None:
        """The root of the only tree whose members may meet it; of several trees the first."""
        return next((root for roots in self.sets(ConditionKind.TREE) for root in roots), None)


@dataclass(frozen=True, slots=True)
class ProviderCondition(_Conditions):
    """What a listed provider must meet."""

    name: str | None = None
    # Its UUID is one of these.
    uuids: frozenset[str] | None = None
    # (class, amount) pairs, all with room in its own inventories.
    resources: tuple[tuple[int, int], ...] = ()

    @property
    def names_providers(self) -> bool:
        """Whether it says which providers, or which tree, may meet it."""
        places = (ConditionKind.TREE, ConditionKind.SUBTREE)
        return (
            self.name is not None
            or self.uuids is not None
            or any(condition.kind in places for condition in self.terms)
        )


@dataclass(frozen=True, slots=True)
class MemberCondition(_Conditions):
    """What one provider of a tree must meet, to serve one slot of a request for candidates."""

    # (class, units) pairs, all of them with room.
    resources: tuple[tuple[int, int], ...] = ()
    # The root counts for its members too (the unsuffixed group).
    spans: bool = False
    # Classes with any room.
    parts_of: tuple[int, ...] = ()
    # A tree with a member in one of these aggregates may be served from elsewhere.
    reach: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RootCondition(_Conditions):
    """What the root itself must meet."""

    @property
    def all_traits(self) -> frozenset[int]:
        """The traits that it must have, without those of which one of several will do."""
        return frozenset[int]().union(*(traits for traits in self.traits if len(traits) == 1))


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


class _Columns(NamedTuple):
    """What identifies a provider in a statement."""

    row_id: ColumnElement[int]
    root_id: ColumnElement[int]


# Takes the ids of all conditions of one kind.
_Sql = Callable[[_Columns, Sequence[frozenset[Any]]], list[ColumnElement[bool]]]


def _has_any_of_each(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    return [fragments.has_any_trait(provider.row_id, traits) for traits in sets]


def _has_all(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    """Return the same: single traits are looked up at once."""
    single = [traits for traits in sets if len(traits) == 1]
    several = [traits for traits in sets if len(traits) > 1]
    where = _has_any_of_each(provider, several)
    if single:
        where.insert(0, fragments.has_all_traits(provider.row_id, frozenset().union(*single)))
    return where


def _has_none(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    return [~fragments.has_any_trait(provider.row_id, traits) for traits in sets]


def _in_any_of_each(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    return [fragments.in_any_aggregate(provider.row_id, aggregates) for aggregates in sets]


def _in_none(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    return [~fragments.in_any_aggregate(provider.row_id, aggregates) for aggregates in sets]


def _in_tree(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    # Of several trees the first: no provider is in two.
    return [provider.root_id == min(sets[0])]


# What members of trees, and roots, are filtered by. Other kinds are left to the search.
SQL_OF: Mapping[ConditionKind, _Sql] = {
    ConditionKind.ANY_TRAIT: _has_any_of_each,
    ConditionKind.NO_TRAIT: _has_none,
    ConditionKind.ANY_AGGREGATE: _in_any_of_each,
    ConditionKind.NO_AGGREGATE: _in_none,
    ConditionKind.TREE: _in_tree,
}
_OF_ROOT: Mapping[ConditionKind, _Sql] = {**SQL_OF, ConditionKind.ANY_TRAIT: _has_all}

# Kinds of which one condition has the ids of all, as a provider must have none of them.
_EXCLUSIONS = {ConditionKind.NO_TRAIT, ConditionKind.NO_AGGREGATE}

# Where the root counts for its members: what it may meet instead of them, and what it must meet.
_ROOT_MAY = {ConditionKind.ANY_AGGREGATE}
_ROOT_MUST = {ConditionKind.NO_AGGREGATE}


def combined(conditions: Iterable[IdCondition], most: int | None = None) -> tuple[IdCondition, ...]:
    """Return conditions as the database judges them: what excludes providers is one of each kind.

    most: of each other kind.
    """
    by_kind: dict[ConditionKind, list[frozenset[Any]]] = {}
    for kind, ids in conditions:
        by_kind.setdefault(kind, []).append(ids)
    results: list[IdCondition] = []
    for kind, sets in by_kind.items():
        if kind in _EXCLUSIONS:
            excluded = frozenset[Any]().union(*sets)
            different = [excluded] if excluded else []
        else:
            different = list(dict.fromkeys(sets[:most]))
        for ids in different:
            results.append(IdCondition(kind, ids))
    return tuple(results)


def root_meets(root_id: ColumnElement[int], condition: RootCondition) -> list[ColumnElement[bool]]:
    """Return the SQL of the condition."""
    root = _Columns(root_id, root_id)
    where: list[ColumnElement[bool]] = []
    for kind, sql in _OF_ROOT.items():
        if sets := condition.sets(kind):
            where += sql(root, sets)
    return where


def member_meets(member: FromClause, condition: MemberCondition) -> list[ColumnElement[bool]]:
    """Return the SQL of the condition, whatever its reach; member: the providers to choose from."""
    provider = _Columns(member.c.id, member.c.root_provider_id)
    root = _Columns(provider.root_id, provider.root_id)
    where: list[ColumnElement[bool]] = []
    for class_id, amount in condition.resources:
        stock = fragments.stock_with_room(provider.row_id, class_id, amount)
        where.append(stock.correlate(member).exists())
    for class_id in condition.parts_of:
        stock = fragments.stock_with_some(provider.row_id, class_id)
        where.append(stock.correlate(member).exists())
    for kind, sql in SQL_OF.items():
        sets = condition.sets(kind)
        if not sets:
            continue
        met = sql(provider, sets)
        if condition.spans and kind in _ROOT_MAY:
            met = [sa.or_(sa.and_(*met), sa.and_(*sql(root, sets)))]
        elif condition.spans and kind in _ROOT_MUST:
            met += sql(root, sets)
        where += met
    return where


def provider_meets(
    provider: FromClause, condition: ProviderCondition, kinds: Iterable[ConditionKind]
) -> list[ColumnElement[bool]]:
    """Return the SQL of those kinds of conditions; provider: those to choose from."""
    columns = _Columns(provider.c.id, provider.c.root_provider_id)
    where: list[ColumnElement[bool]] = []
    for kind in kinds:
        if sets := condition.sets(kind):
            where += SQL_OF[kind](columns, sets)
    return where
