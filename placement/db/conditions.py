"""Conditions on providers, roots and trees. They contain ids instead of names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy.sql import ColumnElement, FromClause

from placement.db import fragments
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class _Conditions:
    # Conditions that a provider must satisfy, in the form that `merge_conditions` returns.
    terms: tuple[IdCondition, ...] = ()

    def sets(self, kind: ConditionKind) -> tuple[frozenset[Any], ...]:
        """Return the ids in each condition of a kind."""
        return tuple(condition.ids for condition in self.terms if condition.kind is kind)

    @property
    def traits(self) -> tuple[frozenset[int], ...]:
        """Sets of trait ids. A provider must have at least one trait from each set."""
        return self.sets(ConditionKind.ANY_TRAIT)

    @property
    def aggregates(self) -> tuple[frozenset[int], ...]:
        """Sets of aggregate ids. A provider must be in at least one aggregate from each set."""
        return self.sets(ConditionKind.ANY_AGGREGATE)

    @property
    def tree(self) -> int | None:
        """The root id of the first TREE condition, or None."""
        return next((root for roots in self.sets(ConditionKind.TREE) for root in roots), None)


@dataclass(frozen=True, slots=True)
class ProviderCondition(_Conditions):
    """The conditions on a provider in a list."""

    # Exact name, or None for any.
    name: str | None = None
    # Accepted UUIDs, or None for any.
    uuids: frozenset[str] | None = None
    # (class id, amount) pairs. The provider's own inventories must have room for each amount.
    resources: tuple[tuple[int, int], ...] = ()

    @property
    def names_providers(self) -> bool:
        """Whether the condition names the only providers, or the only tree, that may satisfy it."""
        kinds = (ConditionKind.TREE, ConditionKind.SUBTREE)
        return (
            self.name is not None
            or self.uuids is not None
            or any(condition.kind in kinds for condition in self.terms)
        )


@dataclass(frozen=True, slots=True)
class MemberCondition(_Conditions):
    """The conditions on one provider of a tree, for one slot of a request."""

    # (class id, amount) pairs. The provider must have room for each amount.
    resources: tuple[tuple[int, int], ...] = ()
    # Ids of resource classes. The provider must have some free capacity of each class.
    parts_of: tuple[int, ...] = ()
    # Ids of aggregates. If a member of the tree is in any of them, sharing providers outside of the
    # tree may satisfy the condition.
    reach: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class RootCondition(_Conditions):
    """The conditions on a root."""


class Driver(Enum):
    """The part of a condition that the database evaluates first.

    Members are in the order of preference.
    """

    TREE = "tree"
    AGGREGATES = "aggregates"
    TRAITS = "traits"
    RESOURCES = "resources"
    PARTS = "parts_of"

    def is_in(self, condition: MemberCondition) -> bool:
        return bool(getattr(condition, self.value))


@dataclass(frozen=True, slots=True)
class DrivingCondition:
    """The condition that the database evaluates.

    Only members of the tree can satisfy this condition. Otherwise, the database would miss trees
    that a sharing provider serves.
    """

    condition: MemberCondition
    driver: Driver


class _Columns(NamedTuple):
    row_id: ColumnElement[int]
    root_id: ColumnElement[int]


# Function whose arguments are the provider, and the ids in each condition of one kind.
_Sql = Callable[[_Columns, Sequence[frozenset[Any]]], list[ColumnElement[bool]]]


def _has_any_of_each(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    return [fragments.has_any_trait(provider.row_id, traits) for traits in sets]


def _has_all(provider: _Columns, sets: Sequence[frozenset[int]]) -> Any:
    """Return the conditions for all sets of traits. Single traits share one lookup."""
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
    # The first condition is sufficient, because no provider is in two trees.
    return [provider.root_id == min(sets[0])]


# SQL for the kinds of conditions on members and roots. Only the search evaluates the other kinds.
SQL_OF: Mapping[ConditionKind, _Sql] = {
    ConditionKind.ANY_TRAIT: _has_any_of_each,
    ConditionKind.NO_TRAIT: _has_none,
    ConditionKind.ANY_AGGREGATE: _in_any_of_each,
    ConditionKind.NO_AGGREGATE: _in_none,
    ConditionKind.TREE: _in_tree,
}
_OF_ROOT: Mapping[ConditionKind, _Sql] = {**SQL_OF, ConditionKind.ANY_TRAIT: _has_all}

# Kinds whose conditions are merged into a single condition: a provider must have none of the ids.
_EXCLUSIONS = {ConditionKind.NO_TRAIT, ConditionKind.NO_AGGREGATE}


def merge_conditions(
    conditions: Iterable[IdCondition], limit: int | None = None
) -> tuple[IdCondition, ...]:
    """Merge conditions for the database.

    Exclusions of the same kind become a single condition. Duplicates are removed. Of each other
    kind, at most `limit` conditions are returned. None means no limit.
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
            different = list(dict.fromkeys(sets[:limit]))
        for ids in different:
            results.append(IdCondition(kind, ids))
    return tuple(results)


def root_clauses(
    root_id: ColumnElement[int], condition: RootCondition
) -> list[ColumnElement[bool]]:
    root = _Columns(root_id, root_id)
    where: list[ColumnElement[bool]] = []
    for kind, sql in _OF_ROOT.items():
        if sets := condition.sets(kind):
            where += sql(root, sets)
    return where


def provider_clauses(
    provider: FromClause, condition: ProviderCondition, kinds: Iterable[ConditionKind]
) -> list[ColumnElement[bool]]:
    """Return the SQL of the given kinds of conditions."""
    columns = _Columns(provider.c.id, provider.c.root_provider_id)
    where: list[ColumnElement[bool]] = []
    for kind in kinds:
        if sets := condition.sets(kind):
            where += SQL_OF[kind](columns, sets)
    return where
