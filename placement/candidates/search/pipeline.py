"""Allocation candidates: every way in which a request can be met now.

`find_candidates` is the whole pipeline, top to bottom; each step is a module of its own::

    request ─ resolve ─ plan ─ sharing ─ conditions ─┐
                                                     │
        ┌─ statistics of the trees so far ───────────┤
        ▼                                            │
      roots ─ trees ─ anchors ─ solver ──────────────┴─ interleave ─ candidates
"""

import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter

from sqlalchemy.engine import Connection

from placement import deadline, events, stopwatch
from placement.candidates.budget import Budget
from placement.candidates.model import Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate, longest_text
from placement.candidates.search.ordered import OrderedHosts
from placement.candidates.search.result import (
    MAX_ANSWER_SIZE,
    EnoughError,
    Limit,
    SearchResult,
    SearchStats,
    Text,
    collect,
    trees_of,
    unique,
)
from placement.candidates.search.split_search import SplitSearches
from placement.candidates.trace import Trace
from placement.candidates.trees.conditions import (
    asks_root,
    sharing_root_condition,
    tree_conditions,
)
from placement.candidates.trees.open_roots import OpenRoots
from placement.candidates.trees.resolve import ResolvedRequest, resolve
from placement.candidates.trees.roots import RootReader, RootSource
from placement.candidates.trees.scan import AnchorReader, Scan
from placement.candidates.trees.sharing import (
    SharingProvider,
    sharing_alone,
    sharing_members,
    sharing_pool,
)
from placement.candidates.trees.store import NO_TREES, TreeCache, TreeStore
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning
from placement.config import CandidateSettings
from placement.errors import SearchExhausted
from placement.events import Event

LOG = logging.getLogger(__name__)


def find_candidates(
    conn: Connection,
    cache: TreeCache,
    request: CandidateRequest,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> SearchResult:
    """Find the candidates of a request on the connection's snapshot.

    Raises UnknownResourceClasses, UnknownTraits; SearchExhausted when the bound on steps is
    reached before the first candidate, and DeadlineExceeded when the deadline is. Reached later,
    they cut the answer short.
    """
    with stopwatch.NAMES:
        resolved = resolve(conn, request, taints=settings.taints)
    budget = Budget(settings.max_search_steps)
    with stopwatch.SEARCH:
        return RequestSearch(conn, cache, resolved, settings, tuning).find(budget)


class RequestSearch:
    """The search for a request on one snapshot, which can be made again when there is less room.

    resolved: the request, whose names are known.
    """

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
        """repeated: `find` is called several times."""
        self.resolved = resolved
        self.scan = Scan(conn, resolved)
        self._conn = conn
        self._cache = cache
        self._settings = settings
        self._tuning = tuning
        self._repeated = repeated
        self._trace = Trace()
        if resolved.unsatisfiable:
            return

        # What is asked of each tree: in Python's terms, and in the database's.
        self._plan = plan = SearchPlan(resolved.request)
        self._sharing = self.scan.sharing(plan.slots)
        self._limit = Limit.of(resolved.request, settings, longest_text(plan))
        self._roots = self._roots_of(plan, repeated=repeated)
        self._alone: list[Sequence[SharingProvider]] | None = None
        # Those in which a class is split come after all others.
        self._split_plan = None
        if any(group.can_split for group in resolved.request.groups):
            self._split_plan = SearchPlan(resolved.request, splits=True)

    def _roots_of(self, plan: SearchPlan, *, repeated: bool = False) -> OpenRoots:
        settings, tuning, resolved = self._settings, self._tuning, self.resolved
        conditions = tree_conditions(resolved, plan, self._sharing, tuning)
        spellings = self._sharing.spellings

        def make_source() -> RootSource:
            reader = RootReader(
                resolved,
                self.scan.roots,
                conditions,
                spellings,
                self._trace,
                tuning,
            )
            if resolved.request.order:  # of all hosts
                return RootSource(reader, None, randomize=False, tuning=tuning)
            limit = self._limit.count
            return RootSource(reader, limit, randomize=settings.randomize, tuning=tuning)

        return OpenRoots(
            make_source,
            repeated=repeated,
            resumed=not settings.randomize,
            batch=tuning.first_batch,
            conditions=min(len(conditions), tuning.max_conditions),
        )

    def find(self, budget: Budget, ahead: Mapping[int, Tree] = NO_TREES) -> SearchResult:
        """Find the candidates, as `find_candidates` does, within what is left of a budget.

        ahead: trees (by the root's id) that are searched as they will be, not as they are; they
        have less room than the database knows, and than they had in an earlier call.
        """
        if self.resolved.unsatisfiable:
            return _refused(self.scan, self._trace)
        trace, settings = self._trace, self._settings
        spent = budget.steps, budget.looks

        # A plan remembers which sharing providers have room, so each search has plans of its own.
        plan, split_plan = self._plan, self._split_plan
        if self._repeated:
            plan = SearchPlan(self.resolved.request)
            split_plan = split_plan and SearchPlan(self.resolved.request, splits=True)

        # Anchors are read, and searched, as candidates are asked for.
        sharing = self._sharing
        store = TreeStore(self._conn, self._cache, sharing.roots, budget.spend, ahead)
        anchors = AnchorSearches(plan, budget, trace)
        search_anchors = partial(
            _search_anchors,
            store=store,
            reader=AnchorReader(store, sharing.providers, budget.spend, self.resolved.taints),
            budget=budget,
            enough_known=self._tuning.enough_known,
        )
        # Anchors take turns until there are enough candidates.
        ordered = OrderedHosts(
            self.resolved.request.order,
            breadth_first=settings.breadth_first,
            randomize=settings.randomize,
            spend=budget.spend,
        )
        searches = search_anchors(anchors, self._roots)
        alone = self._search_sharing_alone(anchors, store)
        offered = ordered.candidates(searches, alone)
        if sharing.providers:
            offered = unique(offered)
        searched = [anchors]
        text = Text(settings.max_answer_size)
        if split_plan is not None:
            split_anchors = SplitSearches(split_plan, budget)
            searched.append(split_anchors)
            # Of all roots: with more room, a split may have members too many to be one.
            split_searches = search_anchors(split_anchors, self._roots_of(split_plan))
            splits = ordered.candidates(split_searches, ())
            offered = text.within(chain(offered, splits))
        candidates = collect(islice(offered, self._limit.count), budget, trace)
        stats = SearchStats.of(budget, spent, searched)
        result = self._result(candidates, stats, budget.ended_by, is_cut=text.cut)
        return replace(result, heads=ordered.heads(candidates)) if ordered.sorts else result

    def _result(
        self,
        candidates: list[Candidate],
        stats: SearchStats,
        ended_by: str | None,
        *,
        is_cut: bool,
    ) -> SearchResult:
        """Report what ended a search, and return what it has found.

        ended_by: the option that ended it; None: none has. is_cut: the answer has its largest size.
        Raises SearchExhausted and DeadlineExceeded for a search that ended before a candidate.
        """
        settings, limit = self._settings, self._limit
        bound = limit.option if len(candidates) == limit.count else None
        bound = MAX_ANSWER_SIZE if is_cut else bound
        if bound == MAX_ANSWER_SIZE:
            LOG.warning("max_answer_size cut an answer short at %s candidates", len(candidates))
        _tell(len(candidates), ended_by or bound, stats)
        if stats.exhausted and not candidates:
            deadline.check()
            raise SearchExhausted(settings.max_search_steps)
        if settings.randomize and not self.resolved.request.order:
            random.shuffle(candidates)
            candidates.sort(key=attrgetter("split"))
        return SearchResult(candidates, trees_of(candidates), self._trace, self.scan, stats)

    def _search_sharing_alone(self, anchors: AnchorSearches, store: TreeStore) -> Iterator[Search]:
        """Yield the search of each set of sharing providers that may serve by themselves."""
        if self._alone is None:
            root = sharing_root_condition(self.resolved)
            asked = asks_root(self.resolved)
            sets = sharing_alone(self._conn, self._sharing, root, asks_root=asked)
            self._alone = sorted(sets, key=lambda providers: [each.uuid for each in providers])
        taints = self.resolved.taints
        for providers in self._alone:
            yield anchors.begin(sharing_pool(sharing_members(providers, store.pinned(), taints)))


def _refused(scan: Scan, trace: Trace) -> SearchResult:
    """Return the result for a request that nothing can meet, whatever trees there are."""
    for code, suffix in scan.resolved.unsatisfiable:
        trace.refuse_request(code, suffix)
    LOG.debug("no candidates: %s", trace)
    _tell(0, None, SearchStats())
    return SearchResult((), (), trace, scan)


def _tell(candidates: int, bound: str | None, stats: SearchStats) -> None:
    events.emit(Event.SEARCH, candidates=candidates, bound=bound, **asdict(stats))


def _search_anchors(
    anchors: AnchorSearches,
    roots: OpenRoots,
    store: TreeStore,
    reader: AnchorReader,
    budget: Budget,
    *,
    enough_known: int | None,
) -> Iterator[Search]:
    """Yield the search of each tree in turn; how they go decides which roots are read next.

    Raises EnoughError.
    """
    for batch in roots.batches(budget.spend):
        parts = [batch] if enough_known is None else store.known_first(batch)
        for number, part in enumerate(parts):
            if number and enough_known is not None and anchors.served >= enough_known:
                raise EnoughError
            trees = reader.trees(part)
            outcomes = roots.outcomes([tree.id for tree in trees])
            for tree in trees:
                search = anchors.begin(reader.pool(tree))
                outcomes.append(search.outcome)
                yield search
