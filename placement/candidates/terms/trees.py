"""Terms about the position of a provider."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

from placement.candidates.model import Refusal, Tree
from placement.candidates.terms.base import PlaceTerm
from placement.objects import identifiers
from placement.objects.known_names import KnownNames
from placement.vocabulary import ConditionKind, IdCondition


@dataclass(frozen=True, slots=True)
class _NamedPlace(PlaceTerm):
    # UUID of the named provider as written by the client.
    uuid: str
    # The UUID in the stored spelling. None before the lookup, or empty if the provider does not
    # exist.
    row_uuid: str | None = None

    unknown_code = Refusal.UNKNOWN_TREE

    @property
    def stated(self) -> str:
        """The provider."""
        return self.uuid

    @property
    def stored(self) -> str:
        """The provider in the spelling of trees in memory."""
        return self.row_uuid or self.uuid

    @property
    def is_unknown(self) -> bool:
        """Whether the lookup did not find the provider."""
        return self.row_uuid == ""

    def is_known(self, known: KnownNames) -> bool:
        """Return whether the provider exists."""
        return self.uuid in known.providers

    def resolved(self, known: KnownNames) -> Self:
        """Return the term with the provider in the spelling of its row."""
        return replace(self, row_uuid=known.providers.get(self.uuid, ""))

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the condition that the provider is in the tree."""
        stored = known.providers[self.uuid]
        return (IdCondition(ConditionKind.TREE, frozenset([known.roots[stored]])),)


@dataclass(frozen=True, slots=True)
class InTree(_NamedPlace):
    """The provider is in the tree of the named provider."""

    code = root_code = Refusal.IN_TREE
    keyword = parameter = "in_tree"

    def positions(self, tree: Tree) -> Collection[int]:
        """Return all positions in the tree, or none."""
        return range(len(tree.members)) if tree.has(self.stored) else ()


@dataclass(frozen=True, slots=True)
class InSubtree(_NamedPlace):
    """The provider is the named provider or one of its descendants."""

    code = root_code = Refusal.SUBTREE
    keyword = parameter = "subtree"

    def positions(self, tree: Tree) -> Collection[int]:
        """Return the positions of the named provider and all of its descendants."""
        return tree.subtree(self.stored)

    def conditions(self, known: KnownNames) -> Sequence[IdCondition]:
        """Return the conditions that the provider is in the tree and in the subtree."""
        top = frozenset(identifiers.stored_forms(self.uuid))
        in_tree = super(InSubtree, self).conditions(known)
        return (*in_tree, IdCondition(ConditionKind.SUBTREE, top))
