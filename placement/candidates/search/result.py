"""What a search returns: candidates, their trees, and what it took."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from placement.candidates.budget import LOOKS_PER_STEP, Budget
from placement.candidates.model import Tree
from placement.candidates.search.anchors import AnchorSearches
from placement.candidates.search.candidate import Candidate
from placement.candidates.trace import Trace
from placement.config import CandidateSettings

# The part of the bound on work that an explanation may do whatever the search has done.
LEAST_SHARE = 4


@dataclass(frozen=True, slots=True)
class SearchStats:
    """What a search took.

    steps: providers tried for a slot. looks: all work, as `budget` counts it. trees_searched:
    anchors looked at, once more where splits are searched; trees_served: those of them with a
    candidate. exhausted: the bound on work, or the deadline, cut the answer short.
    """

    steps: int = 0
    looks: int = 0
    trees_searched: int = 0
    trees_served: int = 0
    exhausted: bool = False

    @classmethod
    def of(cls, budget: Budget, spent: tuple[int, int], searches: Iterable[AnchorSearches]) -> Self:
        """Return what these searches took of a budget; spent: steps and looks before them."""
        searched, served = 0, 0
        for anchors in searches:
            searched += anchors.searched
            served += anchors.served
        steps, looks = spent
        return cls(budget.steps - steps, budget.looks - looks, searched, served, budget.spent)

    def bounds_after(self, settings: CandidateSettings) -> CandidateSettings:
        """Return the settings of an explanation that follows the search.

        Both have the work of one to do together, but a part is always left to explain something.
        """
        left = settings.max_search_steps - self.looks // LOOKS_PER_STEP
        least = settings.max_search_steps // LEAST_SHARE
        return replace(settings, max_search_steps=max(1, left, least))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Candidates, the trees that they take something from, and how the search went."""

    candidates: Sequence[Candidate]
    trees: Sequence[Tree]
    trace: Trace
    stats: SearchStats = SearchStats()


def trees_of(candidates: Iterable[Candidate]) -> list[Tree]:
    """Return the trees that some candidate takes something from, each once."""
    trees: dict[str, Tree] = {}
    # PERF: an assignment takes from the same sharing providers wherever pools reach the same ones.
    # What decides that -> whether it takes from the anchor's tree, too.
    uses_anchor: dict[Hashable, bool] = {}
    for candidate in candidates:
        pool = candidate.pool
        if pool.sharing:
            key = candidate.wording, pool.reached, len(pool.members), candidate.assignment
            if key not in uses_anchor:
                used_trees = candidate.trees
                uses_anchor[key] = pool.anchor in used_trees
                trees |= {tree.uuid: tree for tree in used_trees}
            if not uses_anchor[key]:
                continue
        if pool.anchor is not None:
            trees[pool.anchor.uuid] = pool.anchor
    return list(trees.values())
