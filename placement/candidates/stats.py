"""What the trees that were searched so far had and lacked: values, handed from step to step.

They decide how many roots are read next and where the database starts to look for matching ones.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

TraitSet = frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one tree.

    unmet_slot: the slot, by position, that no provider could serve. with_capacity: some provider
    had the capacity for that slot all the same. unmet_traits: the trait sets that no provider met.
    """

    served: bool = False
    wrong_root: bool = False
    unmet_slot: int | None = None
    with_capacity: bool = False
    unmet_traits: tuple[TraitSet, ...] = ()


SERVED = Outcome(served=True)
UNSERVED = Outcome()
WRONG_ROOT = Outcome(wrong_root=True)


@dataclass(frozen=True, slots=True)
class RootStats:
    """The outcomes of many trees, added up."""

    trees: int = 0
    served: int = 0
    wrong_root: int = 0
    unmet_slots: Counter[int] = field(default_factory=Counter)
    unmet_with_capacity: Counter[int] = field(default_factory=Counter)
    unmet_traits: Counter[TraitSet] = field(default_factory=Counter)

    def plus(self, outcomes: Collection[Outcome]) -> "RootStats":
        """Return the statistics with the outcomes of further trees."""
        wrong_root = self.wrong_root
        unmet_slots = self.unmet_slots.copy()
        unmet_with_capacity = self.unmet_with_capacity.copy()
        unmet_traits = self.unmet_traits.copy()
        # PERF: most are served, of which there is nothing else to say.
        of_others = [outcome for outcome in outcomes if outcome is not SERVED]
        trees = self.trees + len(outcomes)
        served = self.served + len(outcomes) - len(of_others)
        for outcome in of_others:
            served += outcome.served
            wrong_root += outcome.wrong_root
            if outcome.unmet_slot is not None:
                unmet_slots[outcome.unmet_slot] += 1
                unmet_with_capacity[outcome.unmet_slot] += outcome.with_capacity
            if outcome.unmet_traits:  # PERF: of few
                unmet_traits.update(outcome.unmet_traits)
        return RootStats(trees, served, wrong_root, unmet_slots, unmet_with_capacity, unmet_traits)
