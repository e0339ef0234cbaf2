"""Properties of which a request needs several, such as classes, traits and aggregates.

If each of two properties exists, but no host has both, this is the reason for all hosts.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fit import Fit

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


class FeatureCounts:
    """Counts hosts by the properties that the request needs and that they do not have."""

    def __init__(self, plan: ExplainedPlan) -> None:
        # Property -> the number of its bit.
        self._numbers: dict[object, int] = {}
        # One term for each property.
        self._terms: list[StatedTerm] = []
        # The distinct requirements.
        self._requirements = plan.requirements
        # Bit of a root term -> bit of the property.
        self._of_root = self._bits_of(plan.root_terms)
        # The same for the terms of each distinct requirement.
        self._of_requirements = [self._bits_of(each.terms) for each in plan.requirements]
        # (bits of missing properties, whether the host has a taint) -> number of hosts, or None if
        # there are too many different ones.
        self._counts: Counter[tuple[int, bool]] | None = Counter()

    def _bits_of(self, terms: Iterable[StatedTerm]) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for number, term in enumerate(terms):
            if term.code in _CODES and not term.keyword.endswith("not_member_of"):
                key = term.code, term.resource_class or term.value
                if key not in self._numbers and len(self._terms) < MAX_FEATURES:
                    self._numbers[key] = len(self._terms)
                    self._terms.append(term)
                if key in self._numbers:
                    found.append((1 << number, 1 << self._numbers[key]))
        return found

    def add(self, fit: Fit, hosts: int) -> None:
        """Count the hosts of a fit."""
        if self._counts is not None:
            self._counts[self._lacking(fit), fit.is_tainted] += hosts
            if len(self._counts) > MAX_SETS:
                self._counts = None

    def _lacking(self, fit: Fit) -> int:
        """Return the bits of the properties that hosts do not have."""
        having = _having(fit.root, self._of_root)
        for requirement, masks, found in zip(
            self._requirements, fit.masks, self._of_requirements, strict=True
        ):
            if found:
                having |= _having(requirement.failed_by_all(masks, fit.pool.local), found)
        return (1 << len(self._terms)) - 1 & ~having

    def conflict(self) -> tuple[HostFeature, HostFeature] | None:
        """Return two properties that some hosts have, but no host has both, or None."""
        masks = {mask for mask, _tainted in self._counts or ()}
        numbers = range(len(self._terms))
        present = [number for number in numbers if any(not mask >> number & 1 for mask in masks)]
        for one, other in combinations(present, 2):
            both = 1 << one | 1 << other
            if all(mask & both for mask in masks):
                return self._feature(one), self._feature(other)
        return None

    def _feature(self, number: int) -> HostFeature:
        having: Counter[bool] = Counter()
        for (mask, is_tainted), hosts in (self._counts or {}).items():
            if not mask >> number & 1:
                having[is_tainted] += hosts
        return HostFeature(self._terms[number], having.total(), having[True])


def _having(failed: int, found: Iterable[tuple[int, int]]) -> int:
    """Return the bits of the properties whose terms are not among the failed ones."""
    having = 0
    for bit, number in found:
        having |= 0 if failed & bit else number
    return having
