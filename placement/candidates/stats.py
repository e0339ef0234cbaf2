"""Statistics of the trees that have been searched so far, and the trace of a search.

The statistics determine how many roots are read next, and from which condition the database starts
its search for matching roots. The search writes to a trace but never reads from it. Therefore, an
explanation cannot change a result.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from placement.candidates.trace import Refusal

TraitSet = frozenset[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the search of one tree."""

    served: bool = False
    # Whether the root fails the conditions on roots.
    wrong_root: bool = False
    # Position of the slot that no provider can serve, or None if each slot has a provider.
    unmet_slot: int | None = None
    # Whether any provider has the capacity for this slot.
    with_capacity: bool = False
    # Collective trait sets of which no provider has any trait.
    unmet_traits: tuple[TraitSet, ...] = ()


SERVED = Outcome(served=True)
UNSERVED = Outcome()
WRONG_ROOT = Outcome(wrong_root=True)


@dataclass(frozen=True, slots=True)
class RootStats:
    """Counts of the outcomes of many trees."""

    trees: int = 0
    # Number of trees with a candidate.
    served: int = 0
    # Number of trees rejected by their root.
    wrong_root: int = 0
    # Position of a slot -> number of trees without a provider for it.
    unmet_slots: Counter[int] = field(default_factory=Counter)
    # Position of a slot -> number of these trees in which some provider has the capacity for it.
    unmet_with_capacity: Counter[int] = field(default_factory=Counter)
    # Set of traits, of which a candidate needs at least one -> number of trees in which no provider
    # has any of them.
    unmet_traits: Counter[TraitSet] = field(default_factory=Counter)

    def plus(self, outcomes: Collection[Outcome]) -> "RootStats":
        """Return the statistics after adding the outcomes of further trees."""
        wrong_root = self.wrong_root
        unmet_slots = self.unmet_slots.copy()
        unmet_with_capacity = self.unmet_with_capacity.copy()
        unmet_traits = self.unmet_traits.copy()
        # PERF: most trees can serve the request and need no further counting.
        of_others = [outcome for outcome in outcomes if outcome is not SERVED]
        trees = self.trees + len(outcomes)
        served = self.served + len(outcomes) - len(of_others)
        for outcome in of_others:
            served += outcome.served
            wrong_root += outcome.wrong_root
            if outcome.unmet_slot is not None:
                unmet_slots[outcome.unmet_slot] += 1
                unmet_with_capacity[outcome.unmet_slot] += outcome.with_capacity
            if outcome.unmet_traits:  # PERF: rare
                unmet_traits.update(outcome.unmet_traits)
        return RootStats(trees, served, wrong_root, unmet_slots, unmet_with_capacity, unmet_traits)


class Trace:
    """The rejections of one search."""

    def __init__(self) -> None:
        # (code, suffix of the group) -> number of groups that no tree can serve.
        self.requests: Counter[tuple[Refusal, str]] = Counter()
        # Root id -> revision, for the rejected trees. An explanation of an empty result evaluates
        # these trees.
        self.refused: dict[int, int] = {}
        # (code, suffix of the group, or empty if no single group is the cause) -> number of
        # trees that the search rejected at this check. The search does not look for the check that
        # rejects the last provider, so explanations do not use these codes.
        self.trees: Counter[tuple[Refusal, str]] = Counter()
        # Code -> number of providers that the search tried and rejected for a group.
        self.placements: Counter[Refusal] = Counter()
        # The number of trees that each filtering query to the database returned.
        self.filtered: list[int] = []

    def refuse_request(self, code: Refusal, suffix: str) -> None:
        """Count a group that no tree can serve."""
        self.requests[code, suffix] += 1

    def refuse_tree(self, code: Refusal, suffix: str = "") -> None:
        """Count a tree without a candidate, or sharing providers that cannot serve alone."""
        self.trees[code, suffix] += 1

    def refuse_placement(self, code: Refusal) -> None:
        """Count a provider that cannot serve a group with the providers of the other groups."""
        self.placements[code] += 1

    def filter_trees(self, offered: int) -> None:
        """Record the number of trees that a filtering query of the database returned."""
        self.filtered.append(offered)

    @property
    def code(self) -> Refusal:
        """The code at which the search rejected most trees, or FILTERED if it has read none."""
        refused = self.requests + self.trees
        return refused.most_common(1)[0][0][0] if refused else Refusal.FILTERED

    def __str__(self) -> str:
        """Return the summary. It is computed only when a log line is written."""
        return str(self.summary())

    def summary(self) -> Mapping[str, object]:
        """Return the counts with their meanings, for a log line."""
        refused = self.requests + self.trees
        lines = {
            f"{code.meaning}{f' ({suffix})' if suffix else ''}": count
            for (code, suffix), count in refused.most_common()
        }
        lines |= {code.meaning: count for code, count in self.placements.most_common()}
        if self.filtered:
            lines[f"{Refusal.FILTERED.meaning}, all but"] = sum(self.filtered)
        return lines
