"""Measure how many more consumers of each request fit on the given trees.

The module does not read from the database. Without sharing providers, trees are independent, and
their numbers of consumers are added up. Equal trees are measured only once. For each request in
turn, all hosts are measured. Then the remaining work is used for hosts whose number is still an
interval.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property

from placement.candidates.budget import COST_PER_STEP, REQUEST_DEADLINE, Budget, BudgetSpentError
from placement.candidates.headroom.flat_hosts import COST_PER_HOST, FlatCounter, FlatHosts
from placement.candidates.headroom.host_room import RoomFinder
from placement.candidates.headroom.limits import LimitFinder
from placement.candidates.headroom.room import HostRoom, filled
from placement.candidates.headroom.shared_hosts import SharedHosts
from placement.candidates.headroom.totals import Totals
from placement.candidates.headroom.value import UNDECIDED, Headroom, HeadroomRequest, RoomLimit
from placement.candidates.model import Pool, SharingMember, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.search.anchors import MAX_CACHED_MEMBERS, dedup_key
from placement.candidates.terms import MemberOf, NotMemberOf
from placement.candidates.trees.sharing import AnchorPools, untainted
from placement.candidates.trees.source import HostSource
from placement.errors import DeadlineExceeded
from placement.vocabulary import SHARING_TRAIT

# Maximum number of distinct hosts of one request in memory.
MAX_DISTINCT = 20_000


def measure_headroom(
    questions: Sequence[HeadroomRequest],
    source: HostSource,
    budget: Budget,
) -> list[Headroom]:
    """Return how many more consumers of each request fit.

    Args:
        questions: the requests.
        source: all trees, which may be read while they are iterated.
        budget: limit on the work for all requests together.
    """
    hosts = _Hosts(source, questions, budget)
    steps = budget.steps_left
    meters = [_Meter(question, budget, steps) for question in questions]
    for meter in meters:
        meter.look(hosts)
    for meter in meters:
        meter.refine()
    return [meter.headroom() for meter in meters]


class _Batch:
    """Trees that are measured together."""

    def __init__(
        self, trees: Sequence[Tree], classes: Sequence[str], *, with_aggregates: bool
    ) -> None:
        # Hosts of one provider.
        self.flat = FlatHosts(
            classes,
            [tree for tree in trees if len(tree.members) == 1],
            with_aggregates=with_aggregates,
        )
        # All other trees.
        self.nested = [tree for tree in trees if len(tree.members) > 1]


class _Hosts:
    """The batches of trees.

    The first request reads the batches, and the other requests reuse them.
    """

    def __init__(
        self, source: HostSource, questions: Sequence[HeadroomRequest], budget: Budget
    ) -> None:
        self._source = source
        self._budget = budget
        # The batches that have not been read yet.
        self._batches = source.batches()
        # The classes of all requests, sorted.
        self._classes = sorted(set().union(*(each.request.classes for each in questions)))
        # Whether a request distinguishes hosts by their aggregates.
        self._by_aggregates = any(map(_reads_aggregates, questions))
        # The batches read so far.
        self._read: list[_Batch] = []
        # Whether a limit has ended the reading. In this case, other hosts are unknown.
        self._is_cut = False

    @cached_property
    def sharing(self) -> Sequence[SharingMember]:
        """The sharing providers of all trees. They are read after the first batch."""
        return self._source.sharing()

    def __iter__(self) -> Iterator[_Batch]:
        """Yield all batches.

        Raises:
            BudgetSpentError: the limit on work was reached, now or for an earlier request.
            DeadlineExceeded: the deadline was reached during a read, now or for an earlier request.
        """
        yield from self._read
        if self._is_cut:
            raise BudgetSpentError
        try:
            for trees in self._batches:
                with_aggregates = self._by_aggregates or bool(self.sharing)
                batch = _Batch(trees, self._classes, with_aggregates=with_aggregates)
                self._read.append(batch)
                self._budget.spend(len(trees) * COST_PER_HOST)
                yield batch
        except (BudgetSpentError, DeadlineExceeded):
            # After an error, an iterator yields no further batches, as if it were complete.
            self._is_cut = True
            raise


def _reads_aggregates(question: HeadroomRequest) -> bool:
    """Return whether a request distinguishes hosts by their aggregates."""
    terms = [*question.request.group_terms, *question.request.root]
    return bool(question.by) or any(isinstance(term, MemberOf | NotMemberOf) for term in terms)


class _Meter:
    """Measures the headroom of one request."""

    def __init__(self, question: HeadroomRequest, budget: Budget, max_steps: int) -> None:
        self._question = question
        self._budget = budget
        # The figures for the response.
        self._totals = Totals(question)
        # The plan of the request.
        self._plan = plan = SearchPlan(question.request)
        # Finds the room of a pool.
        self._finder = RoomFinder(plan, budget, max_steps)
        # Finds the limit of a host.
        self._limits = LimitFinder(question.request, budget, max_steps)
        # Whether arithmetic is sufficient for hosts with a single provider.
        self._flat: FlatCounter | None = None
        if not plan.splittable and not plan.contended_classes:
            self._flat = FlatCounter(plan, self._limits, self._totals, budget.spend)
        # The hosts that share resources, or None until the first batch is read.
        self._shared: SharedHosts | None = None
        # Creates the pools of anchors. Set with the first batch.
        self._pools: AnchorPools
        # Key of equal hosts -> their room, the number of consumers that one of them serves by
        # itself, and their limit. Trees that only share resources are no hosts and have no limit.
        self._known: dict[Hashable, tuple[HostRoom, int, RoomLimit | None]] = {}
        # Rooms whose number of consumers is an interval, with their hosts.
        self._intervals: dict[int, tuple[HostRoom, list[Pool]]] = {}

    def look(self, hosts: _Hosts) -> None:
        """Measure all hosts, as far as the limit on work allows."""
        try:
            for batch in hosts:
                if self._shared is None:
                    self._set_sharing(hosts.sharing)
                self._add(batch)
            if self._shared is not None:
                self._add_joint(self._shared)
        except BudgetSpentError:
            self._totals.complete = False
        except DeadlineExceeded:
            self._budget.ended_by = REQUEST_DEADLINE
            self._totals.complete = False

    def _set_sharing(self, sharing: Sequence[SharingMember]) -> None:
        """Create the pools of anchors, and select the sharing providers that can serve any slot."""
        # The pools include full and unsuitable sharing providers, because they may be the reason
        # for the limit of a host.
        related = untainted(filter(self._is_related, sharing), self._question.taints)
        self._pools = AnchorPools(related, self._budget.spend)
        serving = list(filter(self._serves, related))
        self._shared = SharedHosts(self._plan, self._finder, serving, self._budget)

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

    def _add(self, batch: _Batch) -> None:
        for group in batch.flat.groups:
            example = group.example
            trees: Iterable[Tree] = group.trees
            is_alone = SHARING_TRAIT not in example.root.traits
            if self._flat is not None and is_alone and not self._pools.pool(example).sharing:
                trees = self._flat.add(batch.flat, group)
            for tree in trees:
                self._add_tree(tree)
        for tree in batch.nested:
            self._add_tree(tree)

    def _add_tree(self, tree: Tree) -> None:
        """Measure one host."""
        pool = self._pools.pool(tree)
        key: Hashable = None
        if not self._plan.names_providers and len(pool.members) <= MAX_CACHED_MEMBERS:
            key = dedup_key(pool)
        self._budget.spend(COST_PER_STEP + len(pool.members))
        known = None if key is None else self._known.get(key)
        if known is None:
            room = self._finder.find(pool)
            by_itself = self._finder.find_by_itself(pool) if pool.sharing else room
            limit = None if tree.is_pool else self._limit(pool, by_itself)
            known = room, by_itself.lower, limit
            if key is not None and len(self._known) < MAX_DISTINCT:
                self._known[key] = known
        room, by_itself_lower, limit = known
        aggregates = tree.root.aggregates
        assert self._shared is not None
        if self._shared.concerns(pool):
            self._shared.add(pool, tree.id if key is None else key, room)
            self._totals.add_alone(by_itself_lower, limit, aggregates)
        elif room.is_exact:
            self._totals.add(room.lower, room.upper, limit, aggregates)
        else:
            self._intervals.setdefault(id(room), (room, []))[1].append(pool)

    def _limit(self, pool: Pool, room: HostRoom) -> RoomLimit:
        if room.lower and not room.is_exact:
            return UNDECIDED
        return self._limits.find(filled(pool, room.usage) if room.lower else pool)

    def _add_joint(self, shared: SharedHosts) -> None:
        """Add the consumers of hosts that share resources."""
        for key in (None, *self._totals.keys):
            self._totals.add_joint(*shared.bounds(key), key)

    def refine(self) -> None:
        """Narrow the intervals, and add the hosts of each interval to the totals."""
        for room, pools in self._intervals.values():
            try:
                if not self._budget.spent:
                    self._finder.refine(room, pools[0])
            except BudgetSpentError:
                pass  # the result is still the interval
            for pool in pools:
                self._add_interval(room, pool)

    def _add_interval(self, room: HostRoom, pool: Pool) -> None:
        assert pool.anchor is not None
        limit = None if pool.anchor.is_pool else UNDECIDED
        try:
            if limit is not None and not self._budget.spent:
                limit = self._limit(pool, room)
        except BudgetSpentError:
            pass  # the limit of the host is still unknown
        self._totals.add(room.lower, room.upper, limit, pool.anchor.root.aggregates)

    def headroom(self) -> Headroom:
        """Return the result."""
        return self._totals.headroom()
