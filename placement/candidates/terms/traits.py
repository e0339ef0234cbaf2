"""Terms about the traits of a provider."""

from collections.abc import Sequence
from dataclasses import dataclass

from placement.candidates.model import Refusal
from placement.candidates.terms.base import TRAITS, AbsentTerm, AnyOfTerm
from placement.objects.known_names import KnownNames
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class RequiredTraits(AnyOfTerm):
    """The provider has one of the traits."""

    code = Refusal.TRAIT_MISSING
    root_code = Refusal.ROOT_TRAIT_MISSING
    keyword = parameter = "required"
    name_kind = "trait"
    reads = TRAITS
    is_collective = True

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider has one of the traits."""
        return (IdCondition(ConditionKind.ANY_TRAIT, known.trait_ids(self.any_of)),)


@dataclass(frozen=True, slots=True)
class ForbiddenTrait(AbsentTerm):
    """The provider does not have the trait."""

    code = Refusal.TRAIT_FORBIDDEN
    root_code = Refusal.ROOT_TRAIT_FORBIDDEN
    keyword = "forbidden"
    parameter = "required"
    name_kind = "trait"
    reads = TRAITS

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
