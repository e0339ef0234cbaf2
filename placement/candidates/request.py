"""A candidate request: its groups, the conditions that join them, and its order of hosts.

`StatedTerm` is a condition as explanations report it, with the code of its rejections.

All forms of requests (queries, bodies) are parsed into the same values.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, NamedTuple

from placement.candidates.model import Refusal, Tree
from placement.candidates.terms import RequiredTraits, StatedValue, Term, Untainted, of_kind
from placement.candidates.terms.amounts import AMOUNT_CODES, AMOUNT_KEYWORD, Amount
from placement.config import NO_TRAITS, SpecialTraits
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


UNSUFFIXED = ""

# (keyword, suffix of the group, name) -> path of the name in the client's request, for errors.
ErrorPath = Callable[[str, str, str], str]


def parameter_of(keyword: str, suffix: str, _name: str) -> str:
    """Return the name of a query parameter: the keyword and the suffix of its group."""
    return f"{keyword}{suffix}"


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """The parameters that share a suffix.

    A group without resources also has a provider, but this provider appears only in the mappings.
    """

    # Suffix of the group, or empty for the unsuffixed group.
    suffix: str
    # (class, units) pairs.
    resources: tuple[tuple[str, int], ...] = ()
    # Further conditions on a provider, in the order of `terms.ordered`.
    terms: tuple[Term, ...] = ()
    # Classes that several providers of one tree may serve in parts.
    split_classes: frozenset[str] = frozenset()

    @property
    def suffixed(self) -> bool:
        """Whether one provider serves the whole group, instead of one provider for each class."""
        return self.suffix != UNSUFFIXED


class Slot(NamedTuple):
    """The resources that a single provider serves.

    A suffixed group is one slot. The unsuffixed group has one slot per class.
    """

    # The group, whose terms apply to the slot.
    group: RequestGroup
    # (class, units) pairs.
    resources: tuple[tuple[str, int], ...]

    @property
    def may_split(self) -> bool:
        """Whether several providers may serve the amount in parts."""
        return not self.group.split_classes.isdisjoint(dict(self.resources))


class SubtreeRule(NamedTuple):
    """Groups that must be served in the same subtree, and groups that must be served outside of it.

    One provider of the inside groups is the root of the subtree.
    """

    # Suffixes of the groups whose providers are in the subtree.
    inside: frozenset[str]
    # Suffixes of the groups whose providers are not in the subtree.
    outside: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CandidateRequest:
    """Request groups, with the conditions and options of the whole request."""

    # The groups in the order of the request.
    groups: tuple[RequestGroup, ...]
    # Suffixes of groups whose provider serves no other suffixed group.
    isolate: frozenset[str] = frozenset()
    # The relative positions of groups in a tree.
    subtree_rules: tuple[SubtreeRule, ...] = ()
    # Conditions on the root of the anchor's tree. They apply even if the root serves nothing.
    root: tuple[Term, ...] = ()
    # Maximum number of candidates, or None for no limit.
    limit: int | None = None
    # Whether a candidate may use several providers of one tree.
    nested: bool = True
    # Taints that the root may have.
    tolerate: frozenset[str] = frozenset()
    # Sort keys of the hosts, or empty for no order.
    order: Order = ()
    # UUIDs of the roots of hosts that are full for the spread group of the claim.
    full_hosts: frozenset[str] = frozenset()
    # The traits with a special meaning, if the names are resolved.
    special_traits: SpecialTraits = NO_TRAITS
    # Whether `group_policy` isolates all suffixed groups.
    isolate_all: bool = field(default=False, compare=False)
    # "summary" to explain the request as a whole, "providers" to explain single hosts as well, or
    # None.
    explain: str | None = field(default=None, compare=False)
    # Returns the path of a name in the client's request, for error messages.
    error_path: ErrorPath = field(default=parameter_of, compare=False, repr=False)

    @property
    def classes(self) -> frozenset[str]:
        """Names of the resource classes."""
        return frozenset(name for name, _units in chain(*[each.resources for each in self.groups]))

    @property
    def group_terms(self) -> Sequence[Term]:
        """The terms of all groups."""
        return list(chain(*[group.terms for group in self.groups]))

    @property
    def taints(self) -> frozenset[str]:
        """The existing taints that exclude a tree, if the names of the request are resolved."""
        return frozenset(term.name for term in of_kind(self.root, Untainted))

    @property
    def tolerated(self) -> frozenset[str]:
        """Taints that do not exclude a host: the traits of `tolerate` and all required traits."""
        terms = of_kind([*self.root, *self.group_terms], RequiredTraits)
        required = [term.any_of for term in terms]
        return self.tolerate.union(*required)


class StatedTerm(NamedTuple):
    """A single condition of a request. It has one code."""

    # The code of rejections by the condition.
    code: Refusal
    # The member of the JSON form that contains the condition.
    keyword: str
    # Suffix of the group, or None for conditions on the root and conditions that join groups.
    suffix: str | None
    # The value in the request.
    value: StatedValue | Amount | SubtreeRule
    # Whether no name in the value exists.
    unknown: bool = False

    @property
    def resource_class(self) -> str:
        """The class of an amount, or empty for other terms."""
        return self.value.resource_class if isinstance(self.value, Amount) else ""

    @property
    def amount(self) -> int | None:
        """The units of an amount, or None for other terms."""
        return self.value.units if isinstance(self.value, Amount) else None


def terms_from_group(group: RequestGroup) -> list[StatedTerm]:
    """Return the terms of a group except amounts."""
    return [
        StatedTerm(term.code, term.keyword, group.suffix, term.stated, term.is_unknown)
        for term in group.terms
    ]


def terms_from_root(terms: Iterable[Term]) -> list[StatedTerm]:
    """Return the terms of a root."""
    return [
        StatedTerm(
            term.root_code, f"{term.root_prefix}{term.keyword}", None, term.stated, term.is_unknown
        )
        for term in terms
    ]


def terms_from_amounts(suffix: str, resources: Iterable[tuple[str, int]]) -> list[StatedTerm]:
    """Return the amounts of a group as terms, with all classes for each code of amounts."""
    amounts = [Amount(name, units) for name, units in resources]
    return [
        StatedTerm(code, AMOUNT_KEYWORD, suffix, amount)
        for code in AMOUNT_CODES
        for amount in amounts
    ]
