"""Terms about the traits of a provider."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from placement.candidates.terms.base import TRAITS, Check, MemberTerm, check_absent, check_any_of
from placement.candidates.trace import Refusal
from placement.objects.known_names import KnownNames
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class RequiredTraits(MemberTerm):
    """The provider has one of the traits."""

    code = Refusal.TRAIT_MISSING
    root_code = Refusal.ROOT_TRAIT_MISSING
    keyword = parameter = "required"
    name_kind = "trait"
    reads = TRAITS
    is_collective = True

    any_of: frozenset[str]

    @property
    def stated(self) -> frozenset[str]:
        """The traits."""
        return self.any_of

    @classmethod
    def from_json(cls, value: str | Sequence[str]) -> Self:
        """Return the term for one name, or for alternatives."""
        return cls(frozenset([value] if isinstance(value, str) else value))

    def allows(self, value: frozenset[str]) -> bool:
        """Return whether a provider has one of the traits."""
        return not self.any_of.isdisjoint(value)

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Self]]) -> Check:
        """Return a check for several sets of traits."""
        return check_any_of([(bit, term.any_of) for bit, term in terms])

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider has one of the traits."""
        return (IdCondition(ConditionKind.ANY_TRAIT, known.trait_ids(self.any_of)),)


@dataclass(frozen=True, slots=True)
class ForbiddenTrait(MemberTerm):
    """The provider does not have the trait."""

    code = Refusal.TRAIT_FORBIDDEN
    root_code = Refusal.ROOT_TRAIT_FORBIDDEN
    keyword = "forbidden"
    parameter = "required"
    excludes = True
    name_kind = "trait"
    reads = TRAITS

    name: str

    @property
    def stated(self) -> str:
        """The trait."""
        return self.name

    def allows(self, value: frozenset[str]) -> bool:
        """Return whether a provider does not have the trait."""
        return self.name not in value

    @classmethod
    def check(cls, terms: Sequence[tuple[int, Self]]) -> Check:
        """Return a check for several forbidden traits."""
        return check_absent([(bit, term.name) for bit, term in terms])

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider does not have the trait."""
        return (IdCondition(ConditionKind.NO_TRAIT, known.trait_ids([self.name])),)


@dataclass(frozen=True, slots=True)
class Untainted(ForbiddenTrait):
    """The root does not have a taint, that is, a trait of hosts that the service excludes.

    Clients do not specify this term. `trees.resolve` adds it for each taint that a request does not
    tolerate.
    """

    code = root_code = Refusal.TAINTED
    keyword = "taints"
    parameter = "tolerate"
    root_prefix = ""
