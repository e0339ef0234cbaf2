"""Terms about the aggregates of a provider.

An aggregate may have several spellings. Providers in memory contain its `identifiers.key`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from placement.candidates.model import Refusal
from placement.candidates.terms.base import AGGREGATES, AbsentTerm, AnyOfTerm, RootRole
from placement.objects import identifiers
from placement.objects.known_names import KnownNames
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class MemberOf(AnyOfTerm):
    """The provider is in one of the aggregates."""

    code = Refusal.NOT_IN_AGGREGATE
    root_code = Refusal.ROOT_AGGREGATE
    keyword = parameter = "member_of"
    name_kind = "aggregate"
    unknown_code = Refusal.UNKNOWN_AGGREGATE
    reads = AGGREGATES
    root_role = RootRole.SUBSTITUTE

    # Keys of the existing aggregates, or None before the lookup.
    existing: frozenset[str] | None = None

    @property
    def keys(self) -> frozenset[str]:
        """The aggregates as keys, which is the form that providers in memory contain."""
        if self.existing is None:
            return frozenset(map(identifiers.key, self.any_of))
        return self.existing

    @property
    def is_unknown(self) -> bool:
        """Whether the lookup found none of the aggregates."""
        return self.existing is not None and not self.existing

    def is_known(self, known: KnownNames) -> bool:
        """Return whether at least one of the aggregates exists."""
        return bool(known.aggregate_keys(self.any_of))

    def resolved(self, known: KnownNames) -> Self:
        """Return the term without unknown aggregates."""
        return replace(self, existing=known.aggregate_keys(self.any_of))

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider is in one of the aggregates."""
        return (IdCondition(ConditionKind.ANY_AGGREGATE, known.aggregate_ids(self.keys)),)


@dataclass(frozen=True, slots=True)
class NotMemberOf(AbsentTerm):
    """The provider is not in the aggregate."""

    code = Refusal.IN_FORBIDDEN_AGGREGATE
    root_code = Refusal.ROOT_AGGREGATE
    keyword = "not_member_of"
    parameter = "member_of"
    name_kind = "aggregate"
    reads = AGGREGATES
    root_role = RootRole.REQUIRED

    @property
    def key(self) -> str:
        """The aggregate as a key, which is the form that providers in memory contain."""
        return identifiers.key(self.name)

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider is not in the aggregate."""
        ids = known.aggregate_ids([self.key])
        return (IdCondition(ConditionKind.NO_AGGREGATE, ids),)
