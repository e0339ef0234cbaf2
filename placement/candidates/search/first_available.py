"""The search for the first of several requests that has candidates."""

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from placement.candidates.budget import Budget
from placement.candidates.request import CandidateRequest
from placement.candidates.search.pipeline import RequestSearch
from placement.candidates.search.result import SearchResult
from placement.candidates.trees.resolve import resolve_all
from placement.candidates.trees.store import TreeCache
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.runtime import stopwatch


def find_first_available(
    conn: Connection,
    cache: TreeCache,
    requests: Sequence[CandidateRequest],
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> tuple[int | None, SearchResult]:
    """Find the candidates of the first request that has any.

    All searches share one limit on work. If a search reaches it, the remaining requests are not
    tried.

    Returns:
        The index of the request and its result, or None and the result of the first request if no
        request has a candidate.

    Raises:
        Exception: errors of `find_candidates`.
    """
    with stopwatch.NAMES:
        resolved = resolve_all(conn, requests, traits=settings.traits)
    budget = Budget(settings.max_search_steps)
    results: list[SearchResult] = []
    with stopwatch.SEARCH:
        for place, each in enumerate(resolved):
            result = RequestSearch(conn, cache, each, settings, tuning).find(budget)
            if result.candidates:
                return place, result
            results.append(result)
    return None, results[0]
