"""The values that the search works on; what they say never changes, and none knows SQL or HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from falcon_placement_client.inventory import Stock


class OptionList(tuple[int, ...]):
    """The members of a pool, by position, that could serve a slot alone.

    PERF: hashed by identity, for they are long; slots with equal ones share one object.
    """

    __slots__ = ()
    __hash__ = object.__hash__


# Slot -> the members that could serve it alone.
Options = Sequence[Sequence[int]]


# Slot -> the member of a pool, by position, that serves it. A number below 0 is that of a split.
Assignment = tuple[int, ...]

# What several members of a pool serve together: (position, units) of each.
Split = tuple[tuple[int, int], ...]


class Stocks(dict[str, Stock]):
    """Resource class -> what a provider has of it; never changed once it is made.

    PERF: hashed by identity. Equal ones in memory are one object (`trees.store`), so hosts that are
    used alike are found without a look at what they have.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


class Root(NamedTuple):
    """A root in the database's words: its id, and the revision that its tree has now."""

    id: int
    revision: int


class Member(NamedTuple):
    """One provider of a tree; `parent` is its position in the tree, -1 for the root.

    aggregates: by `identifiers.key`, whatever the spelling. id: of its row; 0 where none is known.
    """

    uuid: str
    parent: int
    stocks: Stocks
    traits: frozenset[str]
    aggregates: frozenset[str]
    id: int = 0

    def after(self, amounts: Mapping[str, int]) -> "Member":
        """Return the provider as it is with these amounts (class -> units) used as well."""
        used = {name: self.stocks[name].used + amount for name, amount in amounts.items()}
        changed = {name: self.stocks[name]._replace(used=total) for name, total in used.items()}
        return self._replace(stocks=Stocks({**self.stocks, **changed}))


@dataclass(slots=True, eq=False, frozen=True)
class Tree:
    """A tree at one revision: facts about its own members only.

    The root comes first and every parent before its children. `id` and `uuid` are the root's.
    aggregates: those that any member is in. rendered: what an answer has made of the tree.
    """

    id: int
    uuid: str
    revision: int
    members: tuple[Member, ...]
    aggregates: frozenset[str]
    rendered: tuple[Any, ...] | None = field(default=None, init=False)

    def keep_rendered(self, rendered: tuple[Any, ...]) -> None:
        """Keep something with the tree that follows from it: who reads it finds all or nothing."""
        object.__setattr__(self, "rendered", rendered)

    @property
    def root(self) -> Member:
        """The provider without a parent."""
        return self.members[0]

    @property
    def size(self) -> int:
        """How many providers it has."""
        return len(self.members)

    def has(self, uuid: str) -> bool:
        """Whether the provider is a member."""
        return any(member.uuid == uuid for member in self.members)

    def subtree(self, uuid: str) -> frozenset[int]:
        """Return the positions of a provider and of all below it; none where it is no member."""
        positions: set[int] = set()
        for position, member in enumerate(self.members):  # parents before children
            if member.uuid == uuid or member.parent in positions:
                positions.add(position)
        return frozenset(positions)

    def after(self, allocations: Mapping[str, Mapping[str, int]]) -> "Tree":
        """Return the tree as it is with the allocations, of which some may be elsewhere.

        allocations: provider UUID -> class -> units.
        """
        members = list(self.members)
        for position, member in enumerate(members):
            if member.uuid in allocations:
                members[position] = member.after(allocations[member.uuid])
        return replace(self, members=tuple(members))


class SharingMember(NamedTuple):
    """A sharing provider where it stands: it may serve anchors of other trees.

    position: of the member in its tree.
    """

    tree: Tree
    member: Member
    position: int


class Pool(NamedTuple):
    """The providers that one anchor can use: its members in their order, then sharing ones.

    anchor: None for sharing providers of an anchor that serves nothing itself. reached: (tree,
    position) of each sharing provider, which is equal where pools have the same ones.
    """

    anchor: Tree | None
    members: tuple[Member, ...]
    sharing: tuple[SharingMember, ...] = ()
    reached: frozenset[tuple[int, int]] = frozenset()

    @property
    def local(self) -> int:
        """How many of the members, from the first on, are the anchor's own."""
        return len(self.members) - len(self.sharing)

    @property
    def root(self) -> str:
        """The UUID of the anchor; empty without one."""
        return "" if self.anchor is None else self.anchor.uuid

    def tree(self, position: int) -> Tree:
        """The tree that a member stands in."""
        if self.anchor is not None and position < self.local:
            return self.anchor
        return self.sharing[position - self.local].tree

    def stocks(self, name: str) -> list[Stock | None]:
        """What each member has of a class; None where it has no inventory of it."""
        return [member.stocks.get(name) for member in self.members]
