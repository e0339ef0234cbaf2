"""The order of hosts that a request specifies, as sort keys of trees."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from placement.candidates.model import Tree
from placement.objects import identifiers


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A property of hosts to sort by."""

    # Kind of the name in the key ("trait", …), or None if the name is no name of the catalogue.
    name_kind: ClassVar[str | None] = None

    # Name of the class, trait or aggregate as the client wrote it.
    name: str
    # Whether the name may be unknown, as in an option. The key then has no effect.
    may_be_unknown: bool = field(default=False, kw_only=True)

    @property
    def required_kind(self) -> str | None:
        """Kind of the name in the key if the name must exist, or None."""
        return None if self.may_be_unknown else self.name_kind

    def rank(self, tree: Tree) -> int:
        """Return a number. Hosts with smaller numbers come first."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FreeKey(OrderKey):
    """Free units of a resource class in the whole tree."""

    name_kind = "resource_class"

    # Whether hosts with more free units come first.
    most: bool

    def rank(self, tree: Tree) -> int:
        """Return the free units, negated if hosts with more come first."""
        free = 0
        for member in tree.members:
            stock = member.stocks.get(self.name)
            if stock is not None and stock.used < stock.capacity:
                free += stock.capacity - stock.used
        return -free if self.most else free


@dataclass(frozen=True, slots=True)
class TraitKey(OrderKey):
    """Whether any provider of the tree has a trait."""

    name_kind = "trait"

    # Whether hosts with the trait come first.
    present: bool

    def rank(self, tree: Tree) -> int:
        """Return 0 for a tree with or without the trait, as requested, and 1 for other trees."""
        return any(self.name in member.traits for member in tree.members) is not self.present


@dataclass(frozen=True, slots=True)
class AggregateKey(OrderKey):
    """Whether the root is in an aggregate. The aggregate does not have to exist."""

    # Whether members of the aggregate come first.
    present: bool
    # The normalized UUID (`identifiers.key`).
    key: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Normalize the UUID once."""
        object.__setattr__(self, "key", identifiers.key(self.name))

    def rank(self, tree: Tree) -> int:
        """Return 0 for a tree in or outside of the aggregate, as requested, and 1 for others."""
        return (self.key in tree.root.aggregates) is not self.present


Order = tuple[OrderKey, ...]

# The sort key of a host. It contains the rank by each key of the order.
Rank = tuple[int, ...]


def rank_by(order: Order) -> Callable[[Tree], Rank]:
    """Return the sort-key function of hosts."""
    ranks = [key.rank for key in order]
    if len(ranks) == 1:  # PERF: every host is ranked, usually by a single key
        (rank,) = ranks
        return lambda tree: (rank(tree),)
    return lambda tree: tuple([rank(tree) for rank in ranks])
