"""The search for the first of several requests that can be met."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from placement import stopwatch
from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest
from placement.candidates.search.pipeline import RequestSearch
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.resolve import resolve_all
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings


def find_first_available(
    conn: Connection,
    cache: TreeCache,
    requests: Sequence[CandidateRequest],
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> tuple[int | None, SearchResult]:
    """Find the candidates of the first request that has some, and return its place.

    Returns None and the result of the first request where none has. All share one bound on work;
    where that ends before a request is decided, no later one is tried. Raises what
    `find_candidates` raises.
    """
    with stopwatch.NAMES:
        resolved = resolve_all(conn, requests, taints=settings.taints)
    budget = Budget(settings.max_search_steps)
    results: list[SearchResult] = []
    with stopwatch.SEARCH:
        for place, each in enumerate(resolved):
            result = RequestSearch(conn, cache, each, settings, tuning).find(budget)
            if result.candidates:
                return place, result
            results.append(result)
    return None, results[0]
