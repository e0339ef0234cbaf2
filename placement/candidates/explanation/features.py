"""Properties of which a request needs several, such as classes, traits and aggregates.

If each of two properties exists, but no host has both, this is the reason for all hosts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

from placement.candidates.explanation.evaluation import HostClass
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal

# Maximum number of features that are compared.
MAX_FEATURES = 32
# Maximum number of different sets of features that hosts lack.
MAX_SETS = 1000

# Codes of the terms that require a property.
_CODES = frozenset(
    {
        Refusal.NO_INVENTORY,
        Refusal.TRAIT_MISSING,
        Refusal.NOT_IN_AGGREGATE,
        Refusal.ROOT_TRAIT_MISSING,
        Refusal.ROOT_AGGREGATE,
    }
)


class HostFeature(NamedTuple):
    """A property of hosts, with the hosts that have it."""

    # The term of the request.
    term: StatedTerm
    # Number of hosts that have the property.
    hosts: int
    # Number of these hosts that have a taint.
    tainted: int


class Features:
    """The properties that a request needs. Each has a bit."""

    def __init__(self, root_terms: Sequence[StatedTerm], distinct: Sequence[Requirement]) -> None:
        # Property -> the number of its bit.
        self._numbers: dict[object, int] = {}
        # One term for each property.
        self.terms: list[StatedTerm] = []
        # Bit of a root term -> bit of the property.
        self._root = self._bits_of(root_terms)
        # The same for the terms of each distinct slot.
        self._slots = [self._bits_of(requirement.terms) for requirement in distinct]
        # The terms of each distinct slot.
        self._distinct = distinct

    def _bits_of(self, terms: Iterable[StatedTerm]) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, term in enumerate(terms):
            if term.code in _CODES and not term.keyword.endswith("not_member_of"):
                key = term.code, term.resource_class or term.value
                if key not in self._numbers and len(self.terms) < MAX_FEATURES:
                    self._numbers[key] = len(self.terms)
                    self.terms.append(term)
                if key in self._numbers:
                    found[1 << number] = 1 << self._numbers[key]
        return found

    def lacking(self, host_class: HostClass, local: int) -> int:
        """Return the bits of the properties that hosts of a class do not have.

        Args:
            host_class: The class.
            local: Number of providers in the trees of these hosts. Their sharing providers follow.
        """
        of_slots = host_class.lacking or tuple(
            requirement.unserved(masks, local)
            for requirement, masks in zip(self._distinct, host_class.masks, strict=True)
        )
        having = 0
        for failed, found in [
            (host_class.root, self._root),
            *zip(of_slots, self._slots, strict=True),
        ]:
            for bit, number in found.items():
                having |= 0 if failed & bit else number
        return (1 << len(self.terms)) - 1 & ~having


class FeatureCounts:
    """Counts hosts by the properties that they do not have."""

    def __init__(self, features: Features) -> None:
        self._features = features
        # (bits of missing properties, whether the host has a taint) -> number of hosts, or None if
        # there are too many different ones.
        self._counts: Counter[tuple[int, bool]] | None = Counter()

    def add(self, mask: int, hosts: int, *, tainted: bool) -> None:
        """Count hosts without the properties of a mask."""
        if self._counts is not None and hosts:
            self._counts[mask, tainted] += hosts
            if len(self._counts) > MAX_SETS:
                self._counts = None

    def conflict(self) -> tuple[HostFeature, HostFeature] | None:
        """Return two properties that some hosts have, but no host has both, or None."""
        counts = self._counts or Counter()
        masks = {mask for mask, _tainted in counts}
        present = [
            number
            for number in range(len(self._features.terms))
            if any(not mask >> number & 1 for mask in masks)
        ]
        for pair in combinations(present, 2):
            both = 1 << pair[0] | 1 << pair[1]
            if all(mask & both for mask in masks):
                one, other = map(self._feature, pair)
                return one, other
        return None

    def _feature(self, number: int) -> HostFeature:
        having = {
            tainted: sum(
                hosts
                for (mask, is_tainted), hosts in (self._counts or {}).items()
                if is_tainted is tainted and not mask >> number & 1
            )
            for tainted in (False, True)
        }
        return HostFeature(self._features.terms[number], sum(having.values()), having[True])
