"""The search for allocation candidates.

`find_candidates` runs the whole pipeline, in which each step is a module::

    request ─ resolve ─ plan ─ sharing ─ conditions ─┐
                                                     │
        ┌─ statistics of the trees so far ───────────┤
        ▼                                            │
      roots ─ trees ─ anchors ─ solver ──────────────┴─ interleave ─ candidates
"""

import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter

from sqlalchemy.engine import Connection

from placement.candidates.model import Trace, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate, longest_text
from placement.candidates.search.ordered import OrderedHosts
from placement.candidates.search.result import (
    MAX_ANSWER_SIZE,
    Limit,
    SearchResult,
    SearchStats,
    StopSearch,
    collect,
    interleave,
    trees_of,
    unique,
    within,
)
from placement.candidates.search.splits import SplitSearches
from placement.candidates.trees.conditions import asks_root, sharing_root_condition, tree_conditions
from placement.candidates.trees.resolve import ResolvedRequest, resolve, resolve_all
from placement.candidates.trees.roots import BestRoots, OpenRoots, RootReader, RootSource, Source
from placement.candidates.trees.scan import AnchorReader, Scan
from placement.candidates.trees.sharing import (
    SharingProvider,
    sharing_alone,
    sharing_members,
    sharing_pool,
    untainted,
)
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.trees.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.errors import SearchExhausted
from placement.runtime import deadline, events, stopwatch
from placement.runtime.budget import Budget
from placement.runtime.events import Event

LOG = logging.getLogger(__name__)

# Yields the candidates of searches of hosts, and of sets of sharing providers.
OfferCandidates = Callable[[Iterable[Search], Iterable[Search]], Iterator[Candidate]]


def find_candidates(
    conn: Connection,
    cache: TreeCache,
    request: CandidateRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
    *,
    needs_result: bool = False,
) -> SearchResult:
    """Find the candidates of a request on the connection's snapshot.

    If the search reaches a limit or the deadline after the first candidate, the result is
    truncated.

    Args:
        conn: a connection with one snapshot.
        cache: cached trees.
        request: the request.
        settings: the limits on work and on candidates.
        tuning: sizes of the reads.
        needs_result: whether only the deadline ends the search before the first candidate, and
            whether a statement that takes too long truncates the result after it.

    Raises:
        UnknownResourceClasses: a resource class of the request does not exist.
        UnknownTraits: a trait of the request does not exist.
        SearchExhausted: the search reached the limit on work before the first candidate.
        DeadlineExceeded: the search reached the deadline before the first candidate.
    """
    with stopwatch.NAMES:
        resolved = resolve(conn, request, traits=settings.traits)
    budget = Budget(settings.max_search_steps, needs_result=needs_result)
    with stopwatch.SEARCH:
        return RequestSearch(conn, cache, resolved, settings, tuning).find(budget)


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


class RequestSearch:
    """The search for a request on one snapshot."""

    def __init__(
        self,
        conn: Connection,
        cache: TreeCache,
        resolved: ResolvedRequest,
        settings: CandidateSettings,
        tuning: SearchTuning,
        *,
        repeated: bool = False,
    ) -> None:
        """repeated: whether `find` may be called several times."""
        # The request with the ids of its names.
        self.resolved = resolved
        # The data that the search has read.
        self.scan = Scan(conn, resolved)
        self._conn = conn
        self._cache = cache
        self._settings = settings
        self._tuning = tuning
        self._repeated = repeated
        # The refusals, for an explanation.
        self._trace = Trace()
        if resolved.unsatisfiable:
            return

        # The requirements on each tree, for the search in memory and as SQL conditions.
        self._plan = plan = SearchPlan(resolved.request)
        # The sharing providers that the request can use.
        self._sharing = self.scan.sharing(plan.slots)
        # The maximum number of candidates.
        self._limit = Limit.of(resolved.request, settings, longest_text(plan))
        # The roots that repeated searches have not refused yet, or None before the first search.
        self._roots: OpenRoots | None = None
        # Sets of sharing providers that may serve the request without an anchor, or None until they
        # are read.
        self._alone: list[Sequence[SharingProvider]] | None = None

    def _roots_of(
        self, plan: SearchPlan, store: TreeStore, budget: Budget, *, in_parts: bool = False
    ) -> OpenRoots:
        """Return the roots to search.

        Args:
            store: reads the trees to sort, if the hosts have an order.
            in_parts: whether amounts may be split.
        """
        if self._roots is not None and not in_parts:
            return self._roots
        settings, tuning, resolved = self._settings, self._tuning, self.resolved
        make_conditions = partial(
            tree_conditions, resolved, plan, self._sharing, tuning, in_parts=in_parts
        )
        # PERF: the function does not refer to this object, because the objects that such a cycle
        # refers to, all roots among them, would stay in memory until garbage is collected.
        roots = self.scan.roots
        trace, limit, repeated = self._trace, self._limit.count, self._repeated
        order = resolved.request.order
        cached = self._cache.ranked.get(order) if order and not repeated else None

        def make_source() -> Source:
            reader = RootReader(resolved, roots, make_conditions, trace, tuning)
            if cached is not None and not reader.pinned:
                ranked = cached.read(reader.conn, order, store.trees, budget.spend)
                return BestRoots(reader, ranked, tuning, randomize=settings.randomize)
            if order:  # the hosts are sorted after the search
                return RootSource(reader, None, randomize=False, tuning=tuning)
            return RootSource(reader, limit, randomize=settings.randomize, tuning=tuning)

        made = OpenRoots(
            make_source,
            repeated=repeated and not in_parts,
            resumed=not settings.randomize,
            batch=tuning.first_batch,
        )
        if repeated and not in_parts:
            self._roots = made
        return made

    def exclude(self, full_hosts: frozenset[str]) -> None:
        """Exclude the own providers of hosts from further calls of `find`.

        Args:
            full_hosts: UUIDs of roots. They include those of earlier calls.
        """
        request = self.resolved.request
        if full_hosts != request.full_hosts:
            request = replace(request, full_hosts=full_hosts)
            self.resolved = self.scan.resolved = replace(self.resolved, request=request)

    def find(self, budget: Budget, pending_trees: Mapping[int, Tree] = NO_TREES) -> SearchResult:
        """Find the candidates like `find_candidates`, within the remaining budget.

        Args:
            pending_trees: root id -> tree with allocations that are not written yet, and with less
                free capacity than in the database and in earlier calls.
        """
        if self.resolved.unsatisfiable:
            return _refused(self.scan, self._trace)
        trace, settings = self._trace, self._settings
        spent = budget.steps, budget.cost

        # Plans cache which sharing providers have capacity, so each repeated search needs a new
        # plan.
        plan, request = self._plan, self.resolved.request
        if self._repeated or plan.request is not request:
            plan = SearchPlan(request)

        # Anchors are read and searched lazily, while the candidates are consumed.
        sharing = self._sharing
        store = TreeStore(self._conn, self._cache, sharing.roots, budget.spend, pending_trees)
        anchors = AnchorSearches(plan, budget, trace)
        search_anchors = partial(
            _search_anchors,
            store=store,
            reader=AnchorReader(store, sharing.providers, budget.spend, self.resolved.taints),
            budget=budget,
            stop_after_cached=self._tuning.stop_after_cached,
        )
        # Candidates of all anchors are interleaved up to the limit.
        ordered: OrderedHosts | None = None
        offer: OfferCandidates = partial(interleave, breadth_first=settings.breadth_first)
        if request.order:
            ordered = OrderedHosts(
                request.order,
                breadth_first=settings.breadth_first,
                randomize=settings.randomize,
                spend=budget.spend,
            )
            offer = ordered.candidates if self._repeated else ordered.candidates_of_best
        sources = partial(self._roots_of, plan, store, budget)
        searches = search_anchors(anchors, sources)
        offered = offer(searches, self._search_sharing_alone(anchors, store))
        if sharing.providers:
            offered = unique(offered)
        searched = [anchors]
        if plan.splittable:
            split_anchors = SplitSearches(plan, budget)
            searched.append(split_anchors)
            # Search all roots again. If the capacity of a tree decreases, no single provider may
            # have enough any more, and the tree may have a split that it did not have before.
            split_searches = search_anchors(split_anchors, partial(sources, in_parts=True))
            offered = within(settings.max_answer_size, chain(offered, offer(split_searches, ())))
        candidates, ended_by = collect(islice(offered, self._limit.count), budget, trace)
        result = self._result(candidates, SearchStats.of(budget, spent, searched), ended_by)
        return replace(result, heads=ordered.heads(candidates)) if ordered else result

    def _result(
        self, candidates: list[Candidate], stats: SearchStats, ended_by: str | None
    ) -> SearchResult:
        """Report the end of a search, and return its result.

        Args:
            ended_by: the option that ended the search, or None if it is complete.

        Raises:
            SearchExhausted: the limit on work was reached before the first candidate.
            DeadlineExceeded: the deadline was reached before the first candidate.
        """
        settings, limit = self._settings, self._limit
        bound = ended_by or (limit.option if len(candidates) == limit.count else None)
        if bound == MAX_ANSWER_SIZE:
            LOG.warning("max_answer_size cut a response short at %s candidates", len(candidates))
        _emit(len(candidates), bound, stats)
        if stats.exhausted and not candidates:
            deadline.check()
            raise SearchExhausted(settings.max_search_steps)
        if settings.randomize and not self.resolved.request.order:
            random.shuffle(candidates)
            candidates.sort(key=attrgetter("split"))
        return SearchResult(candidates, trees_of(candidates), self._trace, self.scan, stats)

    def _search_sharing_alone(self, anchors: AnchorSearches, store: TreeStore) -> Iterator[Search]:
        """Yield the search of each set of sharing providers that may serve the request alone."""
        if self._alone is None:
            root = sharing_root_condition(self.resolved)
            asked = asks_root(self.resolved)
            sets = sharing_alone(self._conn, self._sharing, root, asks_root=asked)
            self._alone = sorted(sets, key=lambda providers: [each.uuid for each in providers])
        taints = self.resolved.taints
        for providers in self._alone:
            members = sharing_members(providers, store.pinned())
            yield anchors.start(sharing_pool(untainted(members, taints)))


def _refused(scan: Scan, trace: Trace) -> SearchResult:
    """Return the result of a request that no tree can satisfy."""
    trace.codes.update(scan.resolved.unsatisfiable)
    LOG.debug("no candidates: %s", trace)
    _emit(0, None, SearchStats())
    return SearchResult((), (), trace, scan)


def _emit(candidates: int, bound: str | None, stats: SearchStats) -> None:
    events.emit(Event.SEARCH, candidates=candidates, bound=bound, **asdict(stats))


def _search_anchors(
    anchors: AnchorSearches,
    make_roots: Callable[[], OpenRoots],
    store: TreeStore,
    reader: AnchorReader,
    budget: Budget,
    *,
    stop_after_cached: int | None,
) -> Iterator[Search]:
    """Yield the searches of all trees, except for refused ones.

    Raises:
        StopSearch: cached trees have sufficient candidates.
    """
    roots = make_roots()
    for batch in roots.batches(budget.spend):
        parts = [batch] if stop_after_cached is None else store.known_first(batch)
        for number, part in enumerate(parts):
            if number and stop_after_cached is not None and anchors.served >= stop_after_cached:
                raise StopSearch
            trees = reader.trees(part)
            yield from anchors.start_each(trees, reader.pools, roots.outcomes)
