"""The values that the search works on. None of them knows SQL or HTTP; all are immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.request import RequestGroup
from placement.objects.capacity import Stock

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


class Member(NamedTuple):
    """One provider of a tree; `parent` is its position in the tree, -1 for the root."""

    uuid: str
    parent: int
    stocks: Mapping[str, Stock]
    traits: frozenset[str]
    aggregates: frozenset[str]


@dataclass(slots=True, eq=False)
class Tree:
    """A tree at one revision: facts about its own members only.

    The root comes first and every parent before its children. `id` and `uuid` are the root's.
    told: how the tree was told about last, kept by who tells (form -> text); it does not belong
    to the facts.
    """

    id: int
    uuid: str
    revision: int
    members: tuple[Member, ...]
    aggregates: frozenset[str]  # those that any member is in
    told: tuple[object, Sequence[bytes]] | None = field(default=None, repr=False)

    @property
    def root(self) -> Member:
        """The provider without a parent."""
        return self.members[0]

    def has(self, uuid: str) -> bool:
        """Whether the provider is a member."""
        return any(member.uuid == uuid for member in self.members)


class Lent(NamedTuple):
    """A sharing provider, that may serve anchors of other trees.

    position: of the member in its tree.
    """

    tree: Tree
    member: Member
    position: int


class Slot(NamedTuple):
    """What one provider must serve whole.

    A suffixed group is one slot; the unsuffixed group has one for each of its classes, with
    the group's constraints.
    """

    group: RequestGroup
    resources: tuple[tuple[str, int], ...]


class Pool(NamedTuple):
    """The providers that belong to one anchor: its members in their order, then those lent.

    anchor: None for the pool of sharing providers of an anchor that serves nothing itself.
    """

    anchor: Tree | None
    members: tuple[Member, ...]
    lent: tuple[Lent, ...]

    @property
    def local(self) -> int:
        """How many of the members, from the first on, are the anchor's own."""
        return len(self.members) - len(self.lent)

    def tree(self, position: int) -> Tree:
        """The tree that a member stands in."""
        if self.anchor is not None and position < self.local:
            return self.anchor
        return self.lent[position - self.local].tree


class Candidate(NamedTuple):
    """One way to meet a request.

    allocations: provider uuid -> class -> amount. mappings: suffix -> provider uuids.
    trees: those of the providers with an allocation.
    """

    allocations: Mapping[str, Mapping[str, int]]
    mappings: Mapping[str, tuple[str, ...]]
    trees: tuple[Tree, ...]
