"""The hosts in batches, and the headroom of hosts with a single provider.

For hosts with a single provider, arithmetic on columns of free units is sufficient. Hosts with
equal traits, aggregates and units of their inventories form a group. A request is evaluated once
for each group, as if a host had unlimited capacity. If this host can serve the request, each host
of the group takes as many consumers as its scarcest class allows.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import eq

from placement.candidates.model import Pool, Refusal, SharingMember, Stocks, Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.search import SearchPlan
from placement.candidates.terms import AMOUNT_CODES, MemberOf, NotMemberOf, PlaceTerm, of_kind
from placement.errors import DeadlineExceeded
from placement.foresight.explanation.causes import ORDER, Rejection
from placement.foresight.headroom.limits import LimitFinder, limit_of
from placement.foresight.headroom.value import HeadroomQuery, RoomLimit, Totals
from placement.foresight.hosts import HostSource
from placement.inventory import Stock
from placement.runtime.budget import (
    COST_PER_PROVIDER,
    REQUEST_DEADLINE,
    Budget,
    BudgetSpentError,
    Charge,
)

# Capacity of a host that has enough of every class.
PLENTY = 1 << 62

# Maximum number of groups in memory.
MAX_GROUPS = 10_000

# Class -> min_unit, max_unit and step_size, or None without an inventory.
Units = tuple[tuple[int, int, int] | None, ...]


class FlatGroup:
    """Hosts that differ only in their free units."""

    def __init__(self, key: Hashable, units: Units) -> None:
        # Equal for groups with equal units, traits and aggregates.
        self.key = key
        # Units by class, in the order of `HostBatch.classes`.
        self.units = units
        # The hosts, in the order of the rows.
        self.trees: list[Tree] = []
        # Free units by class, one row for each host.
        self.rows: list[tuple[int, ...]] = []

    @cached_property
    def columns(self) -> Sequence[Sequence[int]]:
        """One column of free units for each class."""
        return list(zip(*self.rows, strict=True))

    @property
    def example(self) -> Tree:
        """One of the hosts."""
        return self.trees[0]

    def with_plenty(self, classes: Sequence[str]) -> Pool:
        """Return the pool of a host with enough of every class."""
        stocks = {
            name: Stock(PLENTY, 0, *units)
            for name, units in zip(classes, self.units, strict=True)
            if units is not None
        }
        return Pool(self.example, (self.example.root._replace(stocks=Stocks(stocks)),))


class HostBatch:
    """Hosts that are measured together."""

    def __init__(
        self,
        trees: Iterable[Tree],
        classes: Sequence[str],
        *,
        with_aggregates: bool,
        named: Collection[str],
    ) -> None:
        """Read the free units of hosts.

        Args:
            trees: the trees.
            classes: the classes of all requests.
            with_aggregates: whether hosts of a group have equal aggregates.
            named: UUIDs of the providers that a request names. They have a group of their own.
        """
        # The classes of all requests, in the order of columns.
        self.classes = classes
        # The hosts of several providers.
        self.nested: list[Tree] = []
        # Key of equal hosts of one provider -> their group.
        self._groups: dict[Hashable, FlatGroup] = {}
        for tree in trees:
            if len(tree.members) > 1:
                self.nested.append(tree)
                continue
            (uuid, _parent, stocks, traits, aggregates, _id) = tree.members[0]
            free: list[int] = []
            units: list[tuple[int, int, int] | None] = []
            for name in classes:
                stock = stocks.get(name)
                if stock is None:
                    free.append(0)
                    units.append(None)
                    continue
                capacity, used, *unit = stock  # PERF: as `Stock.free`
                free.append(capacity - used if used < capacity else 0)
                units.append(tuple(unit))  # type: ignore[arg-type]
            aside = uuid if uuid in named else None
            key = (tuple(units), traits, aggregates if with_aggregates else None, aside)
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = FlatGroup(key, key[0])
            group.trees.append(tree)
            group.rows.append(tuple(free))

    @property
    def groups(self) -> Collection[FlatGroup]:
        """The groups of hosts of one provider."""
        return self._groups.values()


class MeasuredHosts:
    """The batches of hosts.

    The first request reads the batches, and the other requests reuse them.
    """

    def __init__(self, source: HostSource, query: HeadroomQuery, budget: Budget) -> None:
        requests = query.requests.values()
        self._source = source
        self._budget = budget
        # The trees that have not been read yet.
        self._unread = source.batches()
        # The batches read so far.
        self._read: list[HostBatch] = []
        # The classes of all requests, sorted.
        self._classes = sorted(set().union(*[each.classes for each in requests]))
        # Whether a request distinguishes hosts by their aggregates.
        self._by_aggregates = bool(query.by) or any(map(_reads_aggregates, requests))
        places = [of_kind(each.group_terms, PlaceTerm) for each in requests]
        # UUIDs of the providers that a request names.
        self._named = {term.stored for terms in places for term in terms}

    @cached_property
    def sharing(self) -> Sequence[SharingMember]:
        """The sharing providers of all trees. They are read after the first batch."""
        return self._source.sharing()

    def __iter__(self) -> Iterator[HostBatch]:
        """Yield all batches.

        Raises:
            BudgetSpentError: the limit on work or the deadline was reached, now or before.
        """
        yield from self._read
        if self._budget.spent:  # an iterator that has failed yields no further batches
            raise BudgetSpentError
        try:
            for trees in self._unread:
                batch = HostBatch(
                    trees,
                    self._classes,
                    with_aggregates=self._by_aggregates or bool(self.sharing),
                    named=self._named,
                )
                self._read.append(batch)
                self._budget.spend(COST_PER_PROVIDER * len(trees) * len(self._classes))
                yield batch
        except DeadlineExceeded:
            self._budget.ended_by = REQUEST_DEADLINE
            raise BudgetSpentError from None


def _reads_aggregates(request: CandidateRequest) -> bool:
    """Return whether a request distinguishes hosts by their aggregates."""
    terms = [*request.group_terms, *request.root]
    return any(isinstance(term, MemberOf | NotMemberOf) for term in terms)


class FlatCounter:
    """Counts the consumers of one request on hosts of one provider."""

    def __init__(
        self, plan: SearchPlan, limits: LimitFinder, totals: Totals, spend: Charge
    ) -> None:
        """Prepare a request in which no two slots have a class in common."""
        self._limits = limits
        self._totals = totals
        self._spend = spend
        # Key of a group -> why its hosts are rejected even if they have enough of every class.
        self._rejections: dict[Hashable, Sequence[Rejection]] = {}
        # (class, units, suffix), in the order in which shortages are reported.
        self._amounts = [
            (name, units, slot.group.suffix)
            for slot in plan.slots
            for name, units in reversed(slot.resources)
        ]

    def add(self, classes: Sequence[str], group: FlatGroup) -> bool:
        """Add the hosts of a group to the totals, or return False if arithmetic is not sufficient.

        If the units of the hosts refuse an amount, the limit of a host depends on its free units.

        Args:
            classes: the classes of the batch.
            group: the hosts.

        Raises:
            BudgetSpentError: the limit on work was reached, and no host was added.
        """
        # Arithmetic takes half the time of checking providers one by one.
        self._spend(COST_PER_PROVIDER // 2 * len(group.rows) * len(self._amounts))
        rejections = self._rejections.get(group.key)
        if rejections is None:
            rejections = self._limits.rejections(group.with_plenty(classes))
            if len(self._rejections) < MAX_GROUPS:
                self._rejections[group.key] = rejections
        if rejections and ORDER[rejections[0].code] < ORDER[Refusal.CAPACITY]:
            if rejections[0].code in AMOUNT_CODES[1:]:
                return False
            self._totals.limits[limit_of(rejections)] += len(group.rows)
            return True
        times = [
            [free // units for free in group.columns[classes.index(name)]]
            for name, units, _suffix in self._amounts
        ]
        # For each amount, how many times each host has it and all amounts before it.
        minima = list(accumulate(times, _minimum))
        limit = limit_of(rejections) if rejections else None
        numbers = minima[-1] if limit is None else [0] * len(group.rows)
        total, serving = sum(numbers), len(numbers) - numbers.count(0)
        self._totals.add(total, total, serving, max(numbers), group.example.root.aggregates)
        self._count_limits(minima, numbers, limit)
        return True

    def _count_limits(
        self, minima: Sequence[Sequence[int]], numbers: Sequence[int], limit: RoomLimit | None
    ) -> None:
        """Count the limits of hosts.

        The limit of a host is the first amount that it has exactly as many times as the number of
        its consumers, or `limit` if there is no such amount.
        """
        before = 0
        for (name, _units, suffix), minimum in zip(self._amounts, minima, strict=True):
            reached = sum(map(eq, minimum, numbers))
            self._totals.limits[RoomLimit(Refusal.CAPACITY, suffix, name)] += reached - before
            before = reached
        if limit is not None:
            self._totals.limits[limit] += len(numbers) - before


def _minimum(numbers: Sequence[int], others: Sequence[int]) -> Sequence[int]:
    """Return the minimum of each pair."""
    # PERF: a comparison takes only a fraction of the time of calling `min`.
    return [a if a < b else b for a, b in zip(numbers, others, strict=True)]
