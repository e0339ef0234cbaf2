"""Statistics of the trees that have been searched so far, and the trace of a search.

The statistics determine how many roots are read next, and from which condition the database starts
its search for matching roots. The search writes to a trace but never reads from it. Therefore, an
explanation cannot change a result.
"""

from collections import Counter
from collections.abc import Callable
from operator import attrgetter
from typing import NamedTuple

from placement.candidates.trace import Refusal

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
