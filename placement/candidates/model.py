"""The values that the search works on. None of them knows SQL or HTTP; all are immutable."""

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A tree at one revision: facts about its own members only.

    The root comes first and every parent before its children. `uuid` is the root's.
    """

    uuid: str
    revision: int
    members: tuple[Member, ...]
    aggregates: frozenset[str]  # those that any member is in

    @property
    def root(self) -> Member:
        """The provider without a parent."""
        return self.members[0]

    def has(self, uuid: str) -> bool:
        """Whether the provider is a member."""
        return any(member.uuid == uuid for member in self.members)


class Choice(NamedTuple):
    """A provider that may serve: a member of the anchor's tree, or a sharing one of another.

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


@dataclass(frozen=True, slots=True)
class Pool:
    """The providers that belong to one anchor.

    local: how many of the choices, from the first on, are members of the anchor's own tree.
    anchor: None for the pool of sharing providers of an anchor that serves nothing itself.
    """

    anchor: Tree | None
    choices: tuple[Choice, ...]
    local: int


class Candidate(NamedTuple):
    """One way to meet a request.

    allocations: provider uuid -> class -> amount. mappings: suffix -> provider uuids.
    trees: those of the providers with an allocation.
    """

    allocations: Mapping[str, Mapping[str, int]]
    mappings: Mapping[str, tuple[str, ...]]
    trees: tuple[Tree, ...]
