"""A candidate request: its groups, and the conditions that join them.

All forms of requests (queries, bodies) are parsed into the same values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from placement.candidates.order import Order
from placement.candidates.terms import RequiredTraits, Term, Untainted, of_kind
from placement.config import NO_TRAITS, SpecialTraits

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
