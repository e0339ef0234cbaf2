"""The values of the search, independent of SQL and HTTP.

They are providers, trees and pools, the codes of rejections, the statistics of the trees searched
so far, and the trace. The statistics determine how many roots are read next, and from which
condition the database starts its search for matching roots. The search writes to the trace but
never reads from it. Therefore, an explanation cannot change a result.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

from placement.inventory import Stock
from placement.vocabulary import HOST_CLASSES, SHARING_TRAIT


class Refusal(StrEnum):
    """A stable code for the rejection of a host.

    The codes are in the order in which conditions are evaluated. `explanation.words` contains the
    sentence of each code.
    """

    # A clause that describes each host that is rejected at the code. Responses, commands and
    # documents use this text.
    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Refusal":
        """Create the member of a code."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    __hash__ = str.__hash__  # PERF: that of enums is a function in Python

    # the request as a whole
    UNKNOWN_AGGREGATE = "unknown_aggregate", "no aggregate of member_of or root_member_of exists"
    UNKNOWN_TREE = "unknown_tree", "the provider of in_tree or subtree does not exist"
    # the root of a tree
    TAINTED = "tainted", "the root has a taint that the request does not tolerate"
    ROOT_TRAIT_MISSING = "root_trait_missing", "the root lacks a required trait"
    ROOT_TRAIT_FORBIDDEN = "root_trait_forbidden", "the root has a forbidden trait"
    ROOT_AGGREGATE = "root_aggregate", "the root is in the wrong aggregates"
    # each provider of a tree, for one group
    NO_INVENTORY = "no_inventory", "no provider has inventory of every class"
    MIN_UNIT = "min_unit", "the amount is below min_unit"
    MAX_UNIT = "max_unit", "the amount is above max_unit"
    STEP_SIZE = "step_size", "the amount is no multiple of step_size"
    CAPACITY = "capacity", "no provider has that much left"
    TRAIT_MISSING = "trait_missing", "no provider with room has the required traits"
    TRAIT_FORBIDDEN = "trait_forbidden", "every provider with room has a forbidden trait"
    NOT_IN_AGGREGATE = "not_in_aggregate", "no provider with room is in the aggregates"
    IN_FORBIDDEN_AGGREGATE = (
        "in_forbidden_aggregate",
        "every provider with room is in a forbidden aggregate",
    )
    IN_TREE = "in_tree", "no provider with room is in the tree"
    SUBTREE = "subtree", "no provider with room is in the subtree"
    # several groups together
    COLLECTIVE_TRAITS = "collective_traits", "no combination of providers has all required traits"
    CAPACITY_SUM = "capacity_sum", "not enough room for all amounts together"
    ONE_PER_TREE = (
        "one_per_tree",
        "several providers of one tree, which the request does not combine",
    )
    ISOLATE = "isolate", "too few providers to keep groups apart"
    SAME_SUBTREE = "same_subtree", "no subtree serves these groups together"
    SPREAD = "spread", "the host has as many members of the spread group as one host may have"
    EXCLUSIVE = (
        "exclusive",
        "a device serves in one way at a time: it already serves in another, or two were requested",
    )
    # the search itself
    BUDGET = "budget", "not decided: the limit on work was reached"
    ELSEWHERE = "elsewhere", "only sharing providers of other trees could serve"
    FILTERED = "filtered", "left out by the database"


TraitSet = frozenset[str]


class Outcome(NamedTuple):
    """The outcome of the search of one tree."""

    served: bool = False
    # Whether the root fails the conditions on roots.
    wrong_root: bool = False
    # Position of the slot that no provider can serve, or None if each slot has a provider.
    unmet_slot: int | None = None
    # Collective trait sets of which no provider has any trait.
    unmet_traits: tuple[TraitSet, ...] = ()
    # Whether any provider has the capacity for the unmet slot.
    with_capacity: bool = False


SERVED = Outcome(served=True)
UNSERVED = Outcome()
WRONG_ROOT = Outcome(wrong_root=True)


class RootStats(Counter[Outcome]):
    """Outcome -> number of trees."""

    @property
    def served(self) -> int:
        """Number of trees with a candidate."""
        return self.number(attrgetter("served"))

    def number(self, is_counted: Callable[[Outcome], object]) -> int:
        """Return the number of trees with certain outcomes."""
        return sum(number for outcome, number in self.items() if is_counted(outcome))


class Trace:
    """The rejections of one search."""

    def __init__(self) -> None:
        # (code, suffix of the group, or empty if no single group is the cause) -> number of trees
        # that the search rejected at this check, or of groups that no tree can serve. The search
        # does not look for the check that rejects the last provider, so explanations do not use
        # these codes.
        self.codes: Counter[tuple[Refusal, str]] = Counter()
        # Root id -> revision, for the rejected trees. An explanation of an empty result evaluates
        # these trees.
        self.refused: dict[int, int] = {}
        # The number of trees that each filtering query to the database returned.
        self.filtered: list[int] = []

    @property
    def code(self) -> Refusal:
        """The code at which the search rejected most trees, or FILTERED if it has read none."""
        return self.codes.most_common(1)[0][0][0] if self.codes else Refusal.FILTERED

    def __str__(self) -> str:
        """Return the counts with their meanings. It is called only when a log line is written."""
        counts = {
            f"{code.meaning}{f' ({suffix})' if suffix else ''}": count
            for (code, suffix), count in self.codes.most_common()
        }
        if self.filtered:
            counts[f"{Refusal.FILTERED.meaning}, all but"] = sum(self.filtered)
        return str(counts)


class OptionList(tuple[int, ...]):
    """Positions of the pool members that can each serve a slot alone.

    PERF: hashed by identity, because the lists are long and slots with equal options share one
    object.
    """

    __slots__ = ()
    __hash__ = object.__hash__


# Id of a root's row -> revision of the tree.
Roots = Mapping[int, int]

# Slot -> positions of the members that can each serve it alone.
Options = Sequence[Sequence[int]]


# A provider of a pool, by position, and the name of a class.
Row = tuple[int, str]

# Slot -> position of the pool member that serves it, or -1 if the slot is not assigned.
Assignment = tuple[int, ...]


class Stocks(dict[str, Stock]):
    """Resource class -> inventory and usage of a provider. Immutable.

    PERF: hashed by identity. `trees.store` keeps one object per value, so hosts with equal
    inventories and usages are recognized without comparing them.
    """

    __slots__ = ()
    __hash__ = object.__hash__  # type: ignore[assignment]


class Member(NamedTuple):
    """One provider of a tree."""

    uuid: str
    # Position of the parent in the tree, or -1 for the root.
    parent: int
    stocks: Stocks
    traits: frozenset[str]
    # Normalized aggregate UUIDs (`identifiers.key`).
    aggregates: frozenset[str]
    # Id of the provider's row, or 0 if unknown.
    id: int = 0

    def with_usage(self, used: Mapping[str, int]) -> "Member":
        """Return the provider with other usages of some classes (class -> units)."""
        changed = {name: self.stocks[name]._replace(used=units) for name, units in used.items()}
        return self.with_stocks(changed)

    def with_stocks(self, changed: Mapping[str, Stock]) -> "Member":
        """Return the provider with other inventories and usages of some classes."""
        return self._replace(stocks=Stocks({**self.stocks, **changed}))

    def after(self, amounts: Mapping[str, int]) -> "Member":
        """Return the provider after adding these amounts (class -> units) to its usages.

        Allocations without an inventory use no capacity.
        """
        stocks = self.stocks
        return self.with_usage(
            {name: stocks[name].used + units for name, units in amounts.items() if name in stocks}
        )

    def unused(self) -> "Member":
        """Return the provider without usages."""
        return self.with_usage(dict.fromkeys(self.stocks, 0))


@dataclass(slots=True, eq=False, frozen=True)
class Tree:
    """The providers of a tree at a certain revision."""

    # Id of the root's row.
    id: int
    uuid: str
    # Random number that each write to the tree changes.
    revision: int
    # The members. Each parent comes before its children, so the root is the first member.
    members: tuple[Member, ...]
    # Normalized UUIDs of the aggregates of all members.
    aggregates: frozenset[str]
    # Cached rendering of the tree, or None until a response has rendered it.
    rendered: tuple[Any, ...] | None = field(default=None, init=False)

    def keep_rendered(self, rendered: tuple[Any, ...]) -> None:
        """Cache a rendering with the tree.

        Concurrent readers see either the complete rendering or None.
        """
        object.__setattr__(self, "rendered", rendered)

    @property
    def root(self) -> Member:
        """The provider without a parent."""
        return self.members[0]

    @property
    def is_pool(self) -> bool:
        """Whether the tree only shares resources, such as a storage pool, and is no host."""
        members = self.members
        return any(SHARING_TRAIT in member.traits for member in members) and all(
            SHARING_TRAIT in member.traits and HOST_CLASSES.isdisjoint(member.stocks)
            for member in members
            if member.stocks
        )

    @property
    def size(self) -> int:
        """Number of providers."""
        return len(self.members)

    def has(self, uuid: str) -> bool:
        """Return whether the provider is a member."""
        return any(member.uuid == uuid for member in self.members)

    def subtree(self, uuid: str) -> frozenset[int]:
        """Return the positions of a provider and its descendants. Other providers have none."""
        positions: set[int] = set()
        for position, member in enumerate(self.members):  # parents before children
            if member.uuid == uuid or member.parent in positions:
                positions.add(position)
        return frozenset(positions)

    def after(self, allocations: Mapping[str, Mapping[str, int]]) -> "Tree":
        """Return the tree after adding allocations to its usages.

        Args:
            allocations: provider UUID -> class -> units. Providers of other trees are ignored.
        """
        members = list(self.members)
        for position, member in enumerate(members):
            if member.uuid in allocations:
                members[position] = member.after(allocations[member.uuid])
        return replace(self, members=tuple(members))


class SharingMember(NamedTuple):
    """A sharing provider. It may serve anchors of other trees."""

    tree: Tree
    member: Member
    position: int


@dataclass(slots=True, eq=False)
class Pool:
    """The providers that an anchor can use. It must not be changed.

    PERF: the class is not frozen, because creating a frozen object takes three times as long.
    """

    # The tree of the anchor, or None if the anchor serves nothing itself.
    anchor: Tree | None
    # The members of the anchor in the order of its tree, followed by the sharing providers.
    members: tuple[Member, ...]
    # The sharing providers, in the same order as at the end of `members`.
    sharing: tuple[SharingMember, ...] = ()
    # (root id, position) of each sharing provider.
    reached: frozenset[tuple[int, int]] = frozenset()

    @property
    def local(self) -> int:
        """Number of members that belong to the anchor. They come first."""
        return len(self.members) - len(self.sharing)

    @property
    def root(self) -> str:
        """The UUID of the anchor, or empty without an anchor."""
        return "" if self.anchor is None else self.anchor.uuid

    @property
    def profile(self) -> Hashable:
        """A key of all data of the pool, except for the names of its own members."""
        own = () if self.anchor is None else self.anchor.members
        return self.reached, *[each[1:5] for each in own]

    def tree(self, position: int) -> Tree:
        """Return the tree of the member at a position."""
        if self.anchor is not None and position < self.local:
            return self.anchor
        return self.sharing[position - self.local].tree

    def after(self, usage: Mapping[Row, int]) -> "Pool":
        """Return the pool after adding these units to the usages of its members."""
        by_position: dict[int, dict[str, int]] = {}
        for (position, name), units in usage.items():
            by_position.setdefault(position, {})[name] = units
        members = list(self.members)
        for position, amounts in by_position.items():
            members[position] = members[position].after(amounts)
        anchor = self.anchor
        if anchor is not None:
            anchor = replace(anchor, members=tuple(members[: self.local]))
        return replace(self, anchor=anchor, members=tuple(members))

    def stocks(self, name: str) -> list[Stock | None]:
        """Return the stock of a class of each member, or None if the member has no inventory."""
        return [member.stocks.get(name) for member in self.members]
