"""Allocation candidates: every way in which a request can be met now.

`find_candidates` is the whole pipeline, top to bottom; each step is a module of its own::

    request ─ resolve ─ plan ─ sharing ─ conditions ─┐
                                                     │
        ┌─ statistics of the trees so far ───────────┤
        ▼                                            │
      roots ─ tree_store ─ anchors ─ solver ─────────┴─ interleave ─ candidates
"""

import logging
import random
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Self

from sqlalchemy.engine import Connection

from placement import events, stopwatch
from placement.candidates.anchors import AnchorSearches, Search
from placement.candidates.answer_bounds import MAX_ANSWER_SIZE, Limit, Text
from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.candidate import Candidate, longest_text
from placement.candidates.conditions import sharing_root_condition, tree_conditions
from placement.candidates.interleave import interleave, unique
from placement.candidates.model import Root, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.resolve import ResolvedRequest, resolve
from placement.candidates.roots import RootReader, RootSource
from placement.candidates.sharing import (
    AnchorPools,
    Sharing,
    sharing_alone,
    sharing_members,
    sharing_of,
    sharing_pool,
)
from placement.candidates.split_search import SplitSearches
from placement.candidates.stats import RootStats
from placement.candidates.trace import Trace
from placement.candidates.tree_cache import TreeCache
from placement.candidates.tree_store import NO_TREES, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.errors import SearchExhausted
from placement.events import Event

LOG = logging.getLogger(__name__)

# The option of `[placement]` that may cut an answer short, besides those of `answer_bounds`.
MAX_SEARCH_STEPS = "max_search_steps"


@dataclass(frozen=True, slots=True)
class SearchStats:
    """What a search took.

    steps: providers tried for a slot. looks: all work, as `budget` counts it. trees_searched:
    anchors looked at, once more where splits are searched; trees_served: those of them with a
    candidate. exhausted: the bound on work cut the answer short.
    """

    steps: int = 0
    looks: int = 0
    trees_searched: int = 0
    trees_served: int = 0
    exhausted: bool = False

    @classmethod
    def of(cls, budget: Budget, searches: Iterable[AnchorSearches]) -> Self:
        """Return what these searches took of one budget."""
        searched, served = 0, 0
        for anchors in searches:
            searched += anchors.searched
            served += anchors.served
        return cls(budget.steps, budget.looks, searched, served, budget.spent)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Candidates, the trees that they take something from, and how the search went."""

    candidates: Sequence[Candidate]
    trees: Sequence[Tree]
    trace: Trace
    stats: SearchStats = SearchStats()


class _EnoughError(Exception):
    """Raised inside a search: what is in memory serves, and nothing else need be read."""


def find_candidates(
    conn: Connection,
    cache: TreeCache,
    request: CandidateRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    ahead: Mapping[int, Tree] = NO_TREES,
) -> SearchResult:
    """Find the candidates of a request on the connection's snapshot.

    ahead: trees (by the root's id) that are searched as they will be, not as they are; they may
    have less room than the database knows, not more.

    Raises UnknownResourceClasses, UnknownTraits; SearchExhausted when the bound on steps is
    reached before the first candidate. Reached later, it cuts the answer short.
    """
    with stopwatch.NAMES:
        resolved = resolve(conn, request)
    return find_resolved(conn, cache, resolved, settings, tuning, ahead)


def find_resolved(
    conn: Connection,
    cache: TreeCache,
    resolved: ResolvedRequest,
    settings: CandidateSettings,
    tuning: SearchTuning,
    ahead: Mapping[int, Tree],
) -> SearchResult:
    """Find the candidates of a request whose names are known, as `find_candidates` does."""
    with stopwatch.SEARCH:
        return _find(conn, cache, resolved, settings, tuning, ahead)


def _find(
    conn: Connection,
    cache: TreeCache,
    resolved: ResolvedRequest,
    settings: CandidateSettings,
    tuning: SearchTuning,
    ahead: Mapping[int, Tree],
) -> SearchResult:
    trace, budget = Trace(), Budget(settings.max_search_steps)
    if resolved.unsatisfiable:
        return _refused(resolved, trace)

    # What is asked of each tree: in Python's terms, and in the database's.
    plan = SearchPlan(resolved.request)
    sharing = sharing_of(conn, resolved, plan.slots)
    limit = Limit.of(resolved.request, settings, longest_text(plan))

    def root_source(plan: SearchPlan) -> RootSource:
        conditions = tree_conditions(resolved, plan, sharing, tuning)
        reader = RootReader(conn, resolved, conditions, sharing.spellings, trace, tuning)
        return RootSource(reader, limit.count, randomize=settings.randomize, tuning=tuning)

    # Anchors are read, and searched, as candidates are asked for.
    store = TreeStore(conn, cache, sharing.roots, budget.spend, ahead)
    anchors = AnchorSearches(plan, budget, trace)
    search_anchors = partial(
        _search_anchors,
        store=store,
        sharing=sharing,
        budget=budget,
        enough_known=tuning.enough_known,
    )
    searches = chain(
        search_anchors(anchors, root_source(plan)),
        _search_sharing_alone(anchors, conn, resolved, store, sharing),
    )

    # Anchors take turns until there are enough candidates.
    offered = interleave(searches, breadth_first=settings.breadth_first)
    if sharing.providers:
        offered = unique(offered)
    searched = [anchors]
    text = Text(settings.max_answer_size)
    if any(group.can_split for group in resolved.request.groups):
        # Those in which a class is split come after all others.
        split_plan = SearchPlan(resolved.request, splits=True)
        split_anchors = SplitSearches(split_plan, budget)
        searched.append(split_anchors)
        split_searches = search_anchors(split_anchors, root_source(split_plan))
        splits = interleave(split_searches, breadth_first=settings.breadth_first)
        offered = text.within(chain(offered, splits))
    candidates = _collect(islice(offered, limit.count), trace)

    # What ended the answer, and what it took.
    bound = limit.option if len(candidates) == limit.count else None
    bound = MAX_ANSWER_SIZE if text.cut else bound
    if bound == MAX_ANSWER_SIZE:
        LOG.warning("max_answer_size cut an answer short at %s candidates", len(candidates))
    stats = SearchStats.of(budget, searched)
    _tell(len(candidates), MAX_SEARCH_STEPS if stats.exhausted else bound, stats)
    if stats.exhausted and not candidates:
        raise SearchExhausted(settings.max_search_steps)
    if settings.randomize:
        random.shuffle(candidates)
        candidates.sort(key=attrgetter("split"))
    return SearchResult(candidates, _trees_of(candidates), trace, stats)


def _refused(resolved: ResolvedRequest, trace: Trace) -> SearchResult:
    """Return the result for a request that nothing can meet, whatever trees there are."""
    for code, suffix in resolved.unsatisfiable:
        trace.refuse_request(code, suffix)
    LOG.debug("no candidates: %s", trace)
    _tell(0, None, SearchStats())
    return SearchResult((), (), trace)


def _tell(candidates: int, bound: str | None, stats: SearchStats) -> None:
    events.tell(Event.SEARCH, candidates=candidates, bound=bound, **asdict(stats))


def _collect(candidates: Iterable[Candidate], trace: Trace) -> list[Candidate]:
    """Take candidates until there are no more, or the work that may be done is done."""
    collected: list[Candidate] = []
    try:
        for candidate in candidates:
            collected.append(candidate)
    except _EnoughError:
        return collected
    except BudgetSpentError:
        if collected:
            LOG.warning("max_search_steps cut an answer short: %s", trace)
        else:
            LOG.warning("no candidate within max_search_steps: %s", trace)
        return collected
    if not collected:
        LOG.debug("no candidates: %s", trace)
    return collected


def _search_anchors(
    anchors: AnchorSearches,
    roots: RootSource,
    store: TreeStore,
    sharing: Sharing,
    budget: Budget,
    *,
    enough_known: int | None,
) -> Iterator[Search]:
    """Yield the search of each tree in turn; how they go decides which roots are read next.

    Raises _EnoughError.
    """
    stats = RootStats()
    pools: AnchorPools | None = None
    while (batch := _next_batch(roots, stats)) is not None:
        parts = [batch] if enough_known is None else store.known_first(batch)
        for number, part in enumerate(parts):
            if number and enough_known is not None and stats.served >= enough_known:
                raise _EnoughError
            trees = store.trees(part)
            if pools is None:
                members = sharing_members(sharing.providers, store.pinned())
                pools = AnchorPools(members, budget.spend)
            outcomes = []
            for tree in trees:
                search = anchors.begin(pools.pool(tree))
                outcomes.append(search.outcome)
                yield search
            stats = stats.plus(outcomes)


def _next_batch(roots: RootSource, stats: RootStats) -> Sequence[Root] | None:
    with stopwatch.WINDOWS:
        return roots.next_batch(stats)


def _search_sharing_alone(
    anchors: AnchorSearches,
    conn: Connection,
    resolved: ResolvedRequest,
    store: TreeStore,
    sharing: Sharing,
) -> Iterator[Search]:
    """Yield the search of each set of sharing providers that may serve by themselves."""
    for providers in sharing_alone(conn, sharing, sharing_root_condition(resolved)):
        yield anchors.begin(sharing_pool(sharing_members(providers, store.pinned())))


def _trees_of(candidates: Iterable[Candidate]) -> list[Tree]:
    """Return the trees that some candidate takes something from, each once."""
    trees: dict[str, Tree] = {}
    # PERF: where pools have the same sharing providers, one assignment takes from the same of them.
    # Way to serve -> whether it takes from the anchor's tree too; None: without sharing providers.
    known: dict[Hashable, bool] = {None: True}
    for candidate in candidates:
        pool, way = candidate.pool, None
        if pool.sharing:
            way = candidate.wording, id(pool.sharing), len(pool.members), candidate.assignment
        takes_own = known.get(way)
        if takes_own is None:
            givers = candidate.trees
            known[way] = pool.anchor in givers
            trees |= {tree.uuid: tree for tree in givers}
        elif takes_own and pool.anchor is not None:
            trees[pool.anchor.uuid] = pool.anchor
    return list(trees.values())
