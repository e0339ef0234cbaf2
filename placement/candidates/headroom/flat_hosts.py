"""The headroom of hosts with a single provider, by arithmetic on columns of free units.

Hosts with equal traits, aggregates and units of their inventories form a group. A request is
evaluated once for each group, as if a host had unlimited capacity. If this host can serve the
request, each host of the group takes as many consumers as its scarcest class allows.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import eq

from placement.candidates.budget import Charge
from placement.candidates.explanation.causes import Rejection
from placement.candidates.explanation.evaluation import ORDER
from placement.candidates.headroom.limits import LimitFinder, limit_of
from placement.candidates.headroom.totals import Totals
from placement.candidates.headroom.value import RoomLimit
from placement.candidates.model import Member, Pool, Stocks, Tree
from placement.candidates.plan import SearchPlan
from placement.candidates.terms import PlaceTerm, of_kind
from placement.candidates.trace import Refusal
from placement.inventory import Stock

# Cost of the columns of a host, and cost of each class of a request.
COST_PER_HOST = 20
COST_PER_CLASS = 2

# Capacity of a host that has enough of every class.
PLENTY = 1 << 62

# Maximum number of groups in memory.
MAX_GROUPS = 10_000

# Class -> min_unit, max_unit and step_size, or None without an inventory.
Units = tuple[tuple[int, int, int] | None, ...]


@dataclass(slots=True, eq=False)
class FlatGroup:
    """Hosts that differ only in their free units."""

    # Units, traits and aggregates, which are equal on all hosts.
    key: Hashable
    # Units by class, in the order of `FlatHosts.classes`.
    units: Units
    # The hosts, in the order of the rows.
    trees: list[Tree] = field(default_factory=list)
    # Free units by class, one row for each host.
    rows: list[tuple[int, ...]] = field(default_factory=list)
    # One column of free units for each class, or None before the first use.
    columns: Sequence[Sequence[int]] | None = None

    @property
    def example(self) -> Tree:
        """One of the hosts."""
        return self.trees[0]

    @property
    def aggregates(self) -> frozenset[str]:
        """Normalized UUIDs of the aggregates of each host."""
        return self.example.root.aggregates


class FlatHosts:
    """The hosts that consist of a single provider, by group."""

    def __init__(
        self, classes: Sequence[str], trees: Iterable[Tree], *, with_aggregates: bool = True
    ) -> None:
        """Read the free units of hosts.

        Args:
            classes: the classes of all requests.
            trees: trees of one provider.
            with_aggregates: whether hosts of a group have equal aggregates.
        """
        # The classes of all requests, in the order of columns.
        self.classes = classes
        # Key of equal hosts -> their group.
        self._groups: dict[Hashable, FlatGroup] = {}
        for tree in trees:
            (_uuid, _parent, stocks, traits, aggregates, _id) = tree.members[0]
            free: list[int] = []
            units: list[tuple[int, int, int] | None] = []
            for name in classes:
                stock = stocks.get(name)
                if stock is None:
                    free.append(0)
                    units.append(None)
                    continue
                capacity, used, *unit = stock
                free.append(capacity - used if used < capacity else 0)
                units.append(tuple(unit))  # type: ignore[arg-type]
            key = (tuple(units), traits, aggregates if with_aggregates else None)
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = FlatGroup(key, key[0])
            group.trees.append(tree)
            group.rows.append(tuple(free))

    @property
    def groups(self) -> Collection[FlatGroup]:
        """The groups of hosts."""
        return self._groups.values()


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
        # Trees that the request names, which are evaluated separately from their group.
        self._named = {term.stored for term in of_kind(plan.request.group_terms, PlaceTerm)}

    def add(self, hosts: FlatHosts, group: FlatGroup) -> list[Tree]:
        """Add the hosts of a group to the totals.

        Returns:
            The hosts that the request names, which were not added.

        Raises:
            BudgetSpentError: the limit on work was reached, and no host was added.
        """
        named, group = self._without_named(group)
        rows = group.rows
        if not rows:
            return named
        self._spend(len(rows) * COST_PER_CLASS * len(self._amounts))
        rejections = self._find_rejections(hosts.classes, group)
        code = rejections[0].code if rejections else None
        if code is not None and ORDER[code] < ORDER[Refusal.CAPACITY]:
            self._totals.add(0, 0, limit_of(rejections), group.aggregates, len(rows))
            return named
        times = self._times(hosts.classes, group)
        if code is None:
            self._add_served(times, group.aggregates)
        else:
            self._add_refused(times, limit_of(rejections), group.aggregates)
        return named

    def _without_named(self, group: FlatGroup) -> tuple[list[Tree], FlatGroup]:
        """Return the hosts that the request names, and the group without these hosts."""
        named = [tree for tree in group.trees if tree.uuid in self._named] if self._named else []
        if not named:
            return named, group
        others = FlatGroup(group.key, group.units)
        for tree, row in zip(group.trees, group.rows, strict=True):
            if tree.uuid not in self._named:
                others.trees.append(tree)
                others.rows.append(row)
        return named, others

    def _find_rejections(self, classes: Sequence[str], group: FlatGroup) -> Sequence[Rejection]:
        """Return why hosts of a group are rejected even if they have enough of every class."""
        rejections = self._rejections.get(group.key)
        if rejections is None:
            plenty = _with_plenty(group.example, classes, group.units)
            rejections = self._limits.rejections(plenty)
            if len(self._rejections) < MAX_GROUPS:
                self._rejections[group.key] = rejections
        return rejections

    def _times(self, classes: Sequence[str], group: FlatGroup) -> list[Sequence[int]]:
        """Return for each amount how many times each host has it."""
        if group.columns is None:
            group.columns = list(zip(*group.rows, strict=True))
        columns = group.columns
        return [
            [free // units for free in columns[classes.index(name)]]
            for name, units, _suffix in self._amounts
        ]

    def _add_served(self, times: Sequence[Sequence[int]], aggregates: frozenset[str]) -> None:
        """Add hosts that serve as many consumers as their scarcest class allows."""
        scarcest = _running_minimum(times)
        numbers = scarcest[-1]
        total = sum(numbers)
        serving = len(numbers) - numbers.count(0)
        self._totals.add_sums(total, total, serving, max(numbers), aggregates)
        # The limit of a host is the first amount that fits exactly as many times as the number of
        # its consumers.
        limits: Counter[RoomLimit] = Counter()
        before = 0
        for (name, _units, suffix), minimum in zip(self._amounts, scarcest, strict=True):
            short = sum(map(eq, minimum, numbers))
            limits[RoomLimit(Refusal.CAPACITY, suffix, name)] += short - before
            before = short
        self._totals.count(limits)

    def _add_refused(
        self, times: Sequence[Sequence[int]], limit: RoomLimit, aggregates: frozenset[str]
    ) -> None:
        """Add hosts that serve no consumer.

        If an amount does not fit, it is the limit of the host.
        """
        limits: Counter[RoomLimit] = Counter()
        before = 0
        for (name, _units, suffix), minimum in zip(
            self._amounts, _running_minimum(times), strict=True
        ):
            short = minimum.count(0)
            limits[RoomLimit(Refusal.CAPACITY, suffix, name)] += short - before
            before = short
        limits[limit] += len(times[0]) - before
        self._totals.add_sums(0, 0, 0, 0, aggregates)
        self._totals.count(limits)


def _running_minimum(times: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return, for each host, the running minimum of its values in the lists."""
    minima = [times[0]]
    for numbers in times[1:]:
        # PERF: a comparison takes only a fraction of the time of calling `min`.
        minima.append([a if a < b else b for a, b in zip(minima[-1], numbers, strict=True)])
    return minima


def _with_plenty(tree: Tree, classes: Sequence[str], units: Units) -> Pool:
    """Return the pool of a host with enough of every class in these inventories."""
    stocks = Stocks(
        {
            name: Stock(PLENTY, 0, *of_class)
            for name, of_class in zip(classes, units, strict=True)
            if of_class is not None
        }
    )
    member: Member = tree.root._replace(stocks=stocks)
    return Pool(tree, (member,))
