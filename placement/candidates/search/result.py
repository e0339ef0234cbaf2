"""The result of a search: sorted and limited candidates, their trees, and statistics."""

import logging
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from operator import attrgetter
from typing import Self

from sqlalchemy import exc

from placement.candidates.model import Trace, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.trees.scan import Scan
from placement.config import CandidateSettings
from placement.db import codes
from placement.errors import DeadlineExceeded
from placement.runtime.budget import (
    COST_PER_STEP,
    REQUEST_DEADLINE,
    STATEMENT_TIMEOUT,
    Budget,
    BudgetSpentError,
)

LOG = logging.getLogger(__name__)

MAX_CANDIDATES = "max_allocation_candidates"
MAX_ANSWER_SIZE = "max_answer_size"


class StopSearch(Exception):
    """Raised inside of a search to stop it. The search has enough candidates."""

    def __init__(self, option: str | None = None) -> None:
        """option: the option that limits the response, or None if it is complete."""
        super().__init__(option)
        self.option = option


def interleave(
    searches: Iterable[Search], alone: Iterable[Search] = (), *, breadth_first: bool
) -> Iterator[Candidate]:
    """Yield the candidates of all searches: of hosts, and of sets of sharing providers.

    The breadth-first mode yields one candidate from each search, and then continues with the
    searches that have more candidates. The depth-first mode yields all candidates of a search
    before the next search.
    """
    waiting: deque[Search] = deque()
    for search in chain(searches, alone):
        candidate = search.first
        while candidate is not None:
            yield candidate
            if breadth_first:
                break
            candidate = search.next()
        # Most hosts have one candidate for a flavor. Remove exhausted searches immediately.
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
    """Yield distinct candidates. Several anchors may find the same sharing providers."""
    earlier: set[tuple[str, ...]] = set()
    for candidate in candidates:
        providers = candidate.providers
        if providers not in earlier:
            earlier.add(providers)
            yield candidate


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum number of candidates of a response."""

    # The maximum number.
    count: int
    # The option that sets the limit, or None for the limit of the request.
    option: str | None

    @classmethod
    def of(cls, request: CandidateRequest, settings: CandidateSettings, longest: int) -> Self:
        """Return the strictest limit.

        Args:
            longest: maximum size of a candidate as JSON, in bytes.
        """
        by_size = max(1, settings.max_answer_size // longest)
        bounds = (
            cls(request.limit, None) if request.limit is not None else None,
            cls(settings.maximum, MAX_CANDIDATES) if settings.maximum is not None else None,
            cls(by_size, MAX_ANSWER_SIZE),
        )
        # `min` returns the first of equal limits.
        return min((bound for bound in bounds if bound is not None), key=attrgetter("count"))


def within(max_size: int, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield at least one candidate, and then candidates of different sizes up to a total size.

    Raises:
        StopSearch: the response has its maximum size.
    """
    size = 0
    for candidate in candidates:
        longest = candidate.longest_text
        if size and size + longest > max_size:
            raise StopSearch(MAX_ANSWER_SIZE)
        size += longest
        yield candidate


# Fraction (1/n) of the limit on work that is reserved for an explanation.
LEAST_SHARE = 4


@dataclass(frozen=True, slots=True)
class SearchStats:
    """The work and the outcome of a search, in numbers."""

    # Number of providers tried for a slot.
    steps: int = 0
    # All work, in the units of `budget`.
    looks: int = 0
    # Number of searched anchors. An anchor that is also searched for splits is counted twice.
    trees_searched: int = 0
    # Whether the limit on work or the deadline truncated the result.
    exhausted: bool = False

    @classmethod
    def of(cls, budget: Budget, spent: tuple[int, int], searches: Iterable[AnchorSearches]) -> Self:
        """Return the statistics of searches.

        Args:
            spent: steps and work of the budget before the searches.
        """
        searched = sum(anchors.searched for anchors in searches)
        steps, cost = spent
        return cls(budget.steps - steps, budget.cost - cost, searched, budget.spent)

    def bounds_after(self, settings: CandidateSettings) -> CandidateSettings:
        """Return the settings for an explanation after the search.

        The search and the explanation share one limit on work, a part of which is reserved for the
        explanation.
        """
        left = settings.max_search_steps - self.looks // COST_PER_STEP
        least = settings.max_search_steps // LEAST_SHARE
        return replace(settings, max_search_steps=max(1, left, least))


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The candidates that a search found, with the data for an explanation."""

    # The candidates in the order of the response.
    candidates: Sequence[Candidate]
    # The distinct trees that the candidates allocate from.
    trees: Sequence[Tree]
    # The reasons why trees were refused.
    trace: Trace
    # The names, roots and sharing providers that the search has read.
    scan: Scan
    # The work of the search.
    stats: SearchStats = SearchStats()
    # Indexes of the first candidates of the best hosts, which have equal keys. Empty without an
    # order.
    heads: Sequence[int] = ()


def collect(
    candidates: Iterator[Candidate], budget: Budget, trace: Trace
) -> tuple[list[Candidate], str | None]:
    """Return the candidates that are found until the search ends or reaches a limit.

    Returns:
        The candidates, and the option that ended the search, or None.
    """
    collected: list[Candidate] = []
    ends_with_statement = budget.needs_result
    try:
        collected += islice(candidates, 1)
        budget.needs_result = False
        for candidate in candidates:
            collected.append(candidate)
    except StopSearch as stop:
        return collected, stop.option
    except BudgetSpentError:
        pass
    except DeadlineExceeded:  # raised by a read
        budget.ended_by = REQUEST_DEADLINE
    except exc.DBAPIError as error:
        if not (ends_with_statement and collected and codes.is_too_long(error)):
            raise
        budget.ended_by = STATEMENT_TIMEOUT
    _log_end(budget.ended_by, trace, found=bool(collected))
    return collected, budget.ended_by


def _log_end(ended_by: str | None, trace: Trace, *, found: bool) -> None:
    if ended_by is not None and found:
        LOG.warning("%s cut a response short: %s", ended_by, trace)
    elif ended_by is not None:
        LOG.warning("no candidate within %s: %s", ended_by, trace)
    elif not found:
        LOG.debug("no candidates: %s", trace)


def trees_of(candidates: Iterable[Candidate]) -> list[Tree]:
    """Return the distinct trees that candidates allocate from."""
    trees: dict[str, Tree] = {}
    # PERF: pools that reach the same sharing providers use the same trees for equal assignments.
    # (slots, reached providers, size of the pool, assignment) -> whether the anchor's tree is used.
    uses_anchor: dict[Hashable, bool] = {}
    for candidate in candidates:
        pool = candidate.pool
        if pool.sharing:
            key = candidate.layout, pool.reached, len(pool.members), candidate.assignment
            if key not in uses_anchor:
                used_trees = candidate.trees
                uses_anchor[key] = pool.anchor in used_trees
                trees |= {tree.uuid: tree for tree in used_trees}
            if not uses_anchor[key]:
                continue
        if pool.anchor is not None:
            trees[pool.anchor.uuid] = pool.anchor
    return list(trees.values())
