"""The values that the search works on. None of them knows SQL or HTTP; all are immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.candidates.request import RequestGroup
from placement.objects.capacity import Stock

SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"


class Member(NamedTuple):
    """One provider of a tree; `parent` is its position in the tree, -1 for the root.

    aggregates: by `identifiers.key`, whatever the spelling.
    """

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


class Common(NamedTuple):
    """What all candidates of a request have in common.

    slots: in their order. together: class -> amount that one provider gives which serves all;
    suffixes: of the groups, each once.
    """

    slots: tuple[Slot, ...]
    together: Mapping[str, int]
    suffixes: tuple[str, ...]


class Candidate:
    """One way to meet a request: which provider of a pool serves which slot.

    It is spelled out only when it is told about, for an answer may have very many.
    """

    __slots__ = ("_common", "_places", "_pool")

    def __init__(self, common: Common, pool: Pool, places: tuple[int, ...]) -> None:
        """places: slot -> position in the pool."""
        self._common = common
        self._pool = pool
        self._places = places

    @property
    def providers(self) -> tuple[str, ...]:
        """The uuid of the provider of each slot."""
        members = self._pool.members
        return tuple([members[position].uuid for position in self._places])

    @property
    def allocations(self) -> Mapping[str, Mapping[str, int]]:
        """Provider uuid -> class -> amount."""
        uuids = self.providers
        if self._together(uuids):
            return {uuids[0]: self._common.together}
        made: dict[str, dict[str, int]] = {}
        for slot, uuid in zip(self._common.slots, uuids, strict=True):
            if slot.resources:
                amounts = made.setdefault(uuid, {})
                for name, amount in slot.resources:
                    amounts[name] = amounts.get(name, 0) + amount
        return made

    @property
    def mappings(self) -> Mapping[str, tuple[str, ...]]:
        """Suffix of a group -> uuids of the providers that serve it."""
        uuids = self.providers
        if self._together(uuids):
            return dict.fromkeys(self._common.suffixes, uuids[:1])
        made: dict[str, tuple[str, ...]] = {}
        for slot, uuid in zip(self._common.slots, uuids, strict=True):
            served = made.get(slot.group.suffix, ())
            if uuid not in served:
                made[slot.group.suffix] = (*served, uuid)
        return made

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees of the providers with an allocation, each once."""
        pool = self._pool
        if not pool.lent and pool.anchor is not None:
            return (pool.anchor,)
        trees: dict[int, Tree] = {}
        for slot, position in zip(self._common.slots, self._places, strict=True):
            if slot.resources:
                tree = pool.tree(position)
                trees[tree.id] = tree
        return tuple(trees.values())

    def _together(self, uuids: tuple[str, ...]) -> bool:
        # PERF: the flat cloud's case.
        return bool(self._common.together) and uuids.count(uuids[0]) == len(uuids)
