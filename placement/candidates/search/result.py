"""What a search returns: candidates in their order and within bounds, their trees, what it took."""

import logging
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Self

from placement.candidates.budget import (
    LOOKS_PER_STEP,
    REQUEST_DEADLINE,
    Budget,
    BudgetSpentError,
)
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.trace import Trace
from placement.candidates.trees.scan import Scan
from placement.config import CandidateSettings
from placement.errors import DeadlineExceeded

LOG = logging.getLogger(__name__)

MAX_CANDIDATES = "max_allocation_candidates"
MAX_ANSWER_SIZE = "max_answer_size"


class EnoughError(Exception):
    """Raised inside a search: what is in memory serves, and nothing else need be read."""


def interleave(searches: Iterable[Search], *, breadth_first: bool) -> Iterator[Candidate]:
    """Yield the candidates of all searches.

    Breadth first: one of each search as the searches arrive, then again one of each that has
    more. Depth first: all of one search before the next.
    """
    waiting: deque[Search] = deque()
    for search in searches:
        candidate = search.next()
        while candidate is not None:
            yield candidate
            if breadth_first:
                break
            candidate = search.next()
        # Most hosts have one candidate for a flavor: those are not kept.
        if not search.exhausted:
            waiting.append(search)
    while waiting:
        search = waiting.popleft()
        candidate = search.next()
        if candidate is not None:
            yield candidate
        if not search.exhausted:
            waiting.append(search)


def unique(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield each candidate once: sharing providers alone may serve at several anchors."""
    earlier: set[tuple[str, ...]] = set()
    for candidate in candidates:
        providers = candidate.providers
        if providers not in earlier:
            earlier.add(providers)
            yield candidate


@dataclass(frozen=True, slots=True)
class Limit:
    """How many candidates an answer may have, by which option; None: the request says so."""

    count: int
    option: str | None

    @classmethod
    def of(cls, request: CandidateRequest, settings: CandidateSettings, longest: int) -> Self:
        """longest: bytes that a candidate's text has at the most."""
        by_size = max(1, settings.max_answer_size // longest)
        bounds = (
            cls(request.limit, None) if request.limit is not None else None,
            cls(settings.maximum, MAX_CANDIDATES) if settings.maximum is not None else None,
            cls(by_size, MAX_ANSWER_SIZE),
        )
        # Of equal ones the first counts.
        return min((bound for bound in bounds if bound is not None), key=attrgetter("count"))


class Text:
    """Ends answers before their text grows too long, where candidates differ in size.

    cut: the answer was ended.
    """

    def __init__(self, most: int) -> None:
        self.cut = False
        self._most = most

    def within(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield candidates as long as all of them have room; at least one."""
        size = 0
        for candidate in candidates:
            longest = candidate.longest_text
            if size and size + longest > self._most:
                self.cut = True
                return
            size += longest
            yield candidate


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
    """Candidates, the trees that they take something from, and how the search went.

    scan: what it has read, for an explanation that follows. heads: the places in the list at which
    the hosts begin that stand first with equal keys; only where hosts are wanted in an order.
    """

    candidates: Sequence[Candidate]
    trees: Sequence[Tree]
    trace: Trace
    scan: Scan
    stats: SearchStats = SearchStats()
    heads: Sequence[int] = ()


def collect(candidates: Iterable[Candidate], budget: Budget, trace: Trace) -> list[Candidate]:
    """Take candidates until there are no more, or the work that may be done is done."""
    collected: list[Candidate] = []
    try:
        for candidate in candidates:
            collected.append(candidate)
    except EnoughError:
        return collected
    except BudgetSpentError:
        pass
    except DeadlineExceeded:  # before a read
        budget.ended_by = REQUEST_DEADLINE
    if budget.spent and collected:
        LOG.warning("%s cut an answer short: %s", budget.ended_by, trace)
    elif budget.spent:
        LOG.warning("no candidate within %s: %s", budget.ended_by, trace)
    elif not collected:
        LOG.debug("no candidates: %s", trace)
    return collected


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
