"""Measure how many more consumers of each request fit.

Without sharing providers, trees are independent, and their numbers of consumers are added up. Equal
trees are measured only once.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlalchemy.engine import Connection

from placement.candidates.constraints import Cards
from placement.candidates.model import Pool, SharingMember, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search import SearchPlan
from placement.candidates.terms import MemberOf, of_kind
from placement.candidates.trees import (
    DEFAULT_TUNING,
    AnchorPools,
    ResolvedRequest,
    Scan,
    SearchTuning,
    TreeCache,
    resolve_all,
    untainted,
)
from placement.config import CandidateSettings, SpecialTraits
from placement.foresight.headroom.hosts import FlatCounter, HostBatch, MeasuredHosts
from placement.foresight.headroom.limits import LimitFinder
from placement.foresight.headroom.pool_headroom import PoolHeadroom, PoolHeadrooms
from placement.foresight.headroom.shared_hosts import SharedHosts
from placement.foresight.headroom.value import Headroom, HeadroomQuery, RoomLimit, Totals
from placement.foresight.hosts import HostSource, SnapshotHosts, UnusedHosts
from placement.runtime import stopwatch
from placement.runtime.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.vocabulary import SHARING_TRAIT

# Maximum number of distinct hosts of one request in memory.
MAX_DISTINCT = 20_000


def find_headroom(
    conn: Connection,
    trees: TreeCache,
    query: HeadroomQuery,
    settings: CandidateSettings,
    tuning: SearchTuning = DEFAULT_TUNING,
) -> dict[str, Headroom]:
    """Return how many more consumers of each request fit in the connection's snapshot.

    Raises:
        UnknownResourceClasses: a resource class of a request does not exist.
        UnknownTraits: a trait of a request does not exist.
    """
    query, resolved = resolve_headroom(conn, query, settings.traits)
    budget = Budget(settings.max_search_steps)
    scan = Scan(conn, resolved)
    sharing = scan.sharing_providers()
    hosts = SnapshotHosts(conn, trees, scan.roots, sharing, budget.spend, tuning)
    with stopwatch.SEARCH:
        return measure_on(hosts, query, budget)


def resolve_headroom(
    conn: Connection, query: HeadroomQuery, traits: SpecialTraits
) -> tuple[HeadroomQuery, ResolvedRequest]:
    """Return the query with resolved names, and the first resolved request.

    Raises:
        UnknownResourceClasses: a resource class of a request does not exist.
        UnknownTraits: a trait of a request does not exist.
    """
    aggregates = CandidateRequest(
        (), root=tuple([MemberOf(frozenset([each])) for each in query.by])
    )
    with stopwatch.NAMES:
        *resolved, by = resolve_all(conn, [*query.requests.values(), aggregates], traits=traits)
    keys: dict[str, str | None] = {}
    for term in of_kind(by.request.root, MemberOf):
        keys |= dict.fromkeys(term.any_of, next(iter(term.keys), None))
    requests = {name: each.request for name, each in zip(query.requests, resolved, strict=True)}
    return replace(
        query, requests=requests, keys={name: keys[name] for name in query.by}
    ), resolved[0]


def measure_on(source: HostSource, query: HeadroomQuery, budget: Budget) -> dict[str, Headroom]:
    """Return how many more consumers of each request fit on the hosts of a source.

    Args:
        source: all hosts, which may be read while they are iterated.
        query: the requests, with resolved names.
        budget: limit on the work for all requests together.
    """
    hosts = MeasuredHosts(UnusedHosts(source) if query.empty else source, query, budget)
    steps = budget.steps_left
    measurements = {
        name: _Measurement(request, Totals(query), budget, steps)
        for name, request in query.requests.items()
    }
    for measurement in measurements.values():
        measurement.add_hosts(hosts)
    return {name: each.totals.headroom() for name, each in measurements.items()}


class _HostHeadroom(NamedTuple):
    """The headroom of a host. Equal hosts share it."""

    # The consumers that use a provider of the host.
    own: PoolHeadroom
    # Number of consumers that fit if no other host uses the sharing providers.
    by_itself: int
    # The limit of the host, or None if the tree only shares resources and is no host.
    limit: RoomLimit | None


class _Measurement:
    """The measurement of one request."""

    def __init__(
        self, request: CandidateRequest, totals: Totals, budget: Budget, max_steps: int
    ) -> None:
        self._budget = budget
        # The figures for the response.
        self.totals = totals
        # The plan of the request.
        self._plan = plan = SearchPlan(request)
        # Finds the headroom of a pool.
        self._pool_headrooms = PoolHeadrooms(plan, budget, max_steps)
        # Finds the limit of a host.
        self._limits = LimitFinder(request, budget, max_steps)
        # Whether arithmetic is sufficient for hosts with a single provider.
        self._flat: FlatCounter | None = None
        if not plan.splittable and not plan.contended_classes:
            self._flat = FlatCounter(plan, self._limits, self.totals, budget.spend)
        # The hosts that share resources, or None until the first batch is read.
        self._shared: SharedHosts | None = None
        # Creates the pools of anchors. Set with the first batch.
        self._pools: AnchorPools
        # Key of equal hosts -> their headroom.
        self._known: dict[Hashable, _HostHeadroom] = {}

    def add_hosts(self, hosts: MeasuredHosts) -> None:
        """Measure all hosts, as far as the limit on work allows."""
        try:
            for batch in hosts:
                if self._shared is None:
                    self._set_sharing(hosts.sharing)
                self._add(batch)
            if self._shared is not None:
                for key, sums in self.totals.sums.items():
                    sums.add(*self._shared.bounds(key))
        except BudgetSpentError:
            self.totals.complete = False

    def _set_sharing(self, sharing: Sequence[SharingMember]) -> None:
        """Create the pools of anchors, and select the sharing providers that can serve any slot."""
        # The pools include full and unsuitable sharing providers, because they may be the reason
        # for the limit of a host.
        related = untainted(filter(self._is_related, sharing), self._plan.request.taints)
        self._pools = AnchorPools(related, self._budget.spend)
        serving = list(filter(self._serves, related))
        self._shared = SharedHosts(self._plan, self._pool_headrooms, serving, self._budget)

    def _is_related(self, sharing: SharingMember) -> bool:
        """Return whether a sharing provider can change the number or the limit of any host.

        A provider without inventory of any class of a slot fails at the first check of the slot,
        so it is never the last provider that is rejected.
        """
        slots = self._plan.slots
        return not sharing.member.stocks.keys().isdisjoint(self._plan.combined_amounts) or any(
            not slot.resources for slot in slots
        )

    def _serves(self, sharing: SharingMember) -> bool:
        pool = Pool(None, (sharing.member,), (sharing,))
        self._budget.spend(COST_PER_STEP * len(self._plan.requirements))
        return any(requirement.providers(pool) for requirement in self._plan.requirements)

    def _add(self, batch: HostBatch) -> None:
        for group in batch.groups:
            tree = group.example
            is_alone = SHARING_TRAIT not in tree.root.traits and not self._pools.pool(tree).sharing
            is_alone = is_alone and not Cards(self._plan, Pool(tree, tree.members))
            flat = self._flat if is_alone else None
            if flat is not None and flat.add(batch.classes, group):
                continue
            for tree in group.trees:
                self._add_tree(tree)
        for tree in batch.nested:
            self._add_tree(tree)

    def _add_tree(self, tree: Tree) -> None:
        """Measure one host."""
        pool = self._pools.pool(tree)
        key = self._plan.host_key(pool)
        self._budget.spend(COST_PER_STEP + len(pool.members))
        known = self._known.get(key)
        if known is None:
            known = self._measure(pool)
            if len(self._known) < MAX_DISTINCT:
                self._known[key] = known
        own, by_itself, limit = known
        aggregates = tree.root.aggregates
        assert self._shared is not None
        if self._shared.concerns(pool):
            # The consumers of these hosts are counted together.
            self._shared.add(pool, key, own)
            self._add_limited(0, 0, by_itself, limit, aggregates)
        else:
            self._add_limited(own.lower, own.upper, own.lower, limit, aggregates)

    def _measure(self, pool: Pool) -> _HostHeadroom:
        assert pool.anchor is not None
        own = by_itself = self._pool_headrooms.find(pool)
        if pool.sharing and not self._plan.splittable:
            by_itself = self._pool_headrooms.find(pool, by_itself=True)
        limit = None
        if not pool.anchor.is_pool:
            limit = self._limits.find(pool.after(by_itself.usage) if by_itself.lower else pool)
        return _HostHeadroom(own, by_itself.lower, limit)

    def _add_limited(
        self,
        lower: int,
        upper: int,
        largest: int,
        limit: RoomLimit | None,
        aggregates: frozenset[str],
    ) -> None:
        """Add a host to the totals."""
        if limit is None:
            self.totals.add(lower, upper, 0, 0, aggregates)
            return
        self.totals.add(lower, upper, bool(largest), largest, aggregates)
        self.totals.limits[limit] += 1
