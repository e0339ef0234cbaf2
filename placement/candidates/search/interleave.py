"""The order of candidates: anchors take turns, and none comes twice."""

from collections import deque
from collections.abc import Iterable, Iterator

from placement.candidates.search.anchors import Search
from placement.candidates.search.candidate import Candidate


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
