"""The number of consumers that one pool can serve independently of other pools."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from operator import floordiv

from placement.candidates.constraints import Cards, Exclusive, bits_met, kinds_of, shape
from placement.candidates.model import Options, Pool, Row
from placement.candidates.search import Candidate, SearchPlan, SplitSearches, solutions
from placement.foresight.headroom.bounds import seats, upper_bound
from placement.runtime.bounded import SizeLimitedDict
from placement.runtime.budget import (
    COST_PER_PROVIDER,
    COST_PER_RESULT,
    COST_PER_STEP,
    Budget,
    BudgetShare,
)

# One pool may use 1/SHARE of all work.
SHARE = 64

# Maximum number of results in memory.
MAX_REMEMBERED = 20_000


@dataclass(slots=True, eq=False)
class PoolHeadroom:
    """The number of consumers that a pool can serve. Pools with equal free units share it."""

    # Number of consumers that were placed one after another.
    lower: int = 0
    # Number of consumers that no placement can exceed.
    upper: int = 0
    # Units that the placed consumers use.
    usage: Counter[Row] = field(default_factory=Counter)

    @property
    def is_exact(self) -> bool:
        """Whether no more consumers fit in any placement."""
        return self.lower == self.upper

    def add(self, usage: Counter[Row], times: int) -> None:
        """Add placed consumers, with their usage."""
        self.lower += times
        self.usage.update(usage)


class PoolHeadrooms:
    """Finds the headroom of pools for one request."""

    def __init__(self, plan: SearchPlan, budget: Budget, max_steps: int) -> None:
        """Prepare a request.

        Args:
            plan: its plan.
            budget: limit on all work.
            max_steps: initial value of this bound, in steps.
        """
        self._plan = plan
        # The constraints that apply to the plan.
        self._kinds = kinds_of(plan)
        # Whether any other constraint than the one of cards applies.
        self._joins_slots = any(kind is not Exclusive for kind in self._kinds)
        self._budget = budget
        # The limit on the work for one pool, in steps.
        self._max_steps = max(1, max_steps // SHARE)
        # Shape and stocks -> the result.
        self._results: SizeLimitedDict[PoolHeadroom] = SizeLimitedDict(MAX_REMEMBERED, lambda _: 1)

    def find(self, pool: Pool, *, by_itself: bool = False) -> PoolHeadroom:
        """Return how many consumers fit if each of them uses a provider of the anchor.

        Args:
            pool: the anchor and the sharing providers that it reaches.
            by_itself: whether no other host uses the sharing providers, so that a consumer may use
                only sharing providers of other trees.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        if self._plan.splittable:
            return self._find_in_parts(pool)
        return self.find_whole(pool, by_itself=by_itself)

    def _find_in_parts(self, pool: Pool) -> PoolHeadroom:
        """Return an interval: consumers with whole amounts come first, then others with parts.

        The parts that a consumer uses depend on the previous consumers, so this method does not
        search for the maximum number.
        """
        options = self.options(pool, in_parts=True)
        if options is None:
            return PoolHeadroom()
        upper = upper_bound(self._plan, pool, options)
        whole = self.find_whole(pool)
        found = PoolHeadroom(whole.lower, max(upper, whole.lower), whole.usage.copy())
        with BudgetShare(self._budget, self._max_steps) as budget:
            self._claim_one_by_one(found, pool, budget, options)
        return found

    def find_whole(self, pool: Pool, *, by_itself: bool = False) -> PoolHeadroom:
        """Return the headroom of a pool without splits. The arguments are those of `find`."""
        options = self.options(pool)
        if options is None:
            return PoolHeadroom()
        return self.find_among(pool, options, by_itself=by_itself)

    def options(self, pool: Pool, *, in_parts: bool = False) -> Options | None:
        """Return the providers of each slot.

        None if a slot has no providers or the root is refused.

        Args:
            in_parts: whether to include the providers of parts.
        """
        self._budget.spend(COST_PER_RESULT)
        if pool.anchor is not None and self._plan.root_refusal(pool.anchor) is not None:
            return None
        options = self._plan.options(pool, self._budget.spend, in_parts=in_parts)
        return options if all(options) else None

    def find_among(self, pool: Pool, options: Options, *, by_itself: bool = False) -> PoolHeadroom:
        """Return the headroom of a pool whose slots have these providers."""
        self._budget.spend(COST_PER_PROVIDER * sum(map(len, options)))
        by_itself = by_itself or not only_sharing(pool, options)
        # PERF: most hosts have no card.
        if by_itself and not self._joins_slots and not Cards(self._plan, pool):
            return self._fill_slots(pool, options)
        stocks = tuple([member.stocks for member in pool.members])
        key: Hashable = (shape(self._kinds, self._plan, pool, options), by_itself, stocks)
        if key not in self._results:
            self._results[key] = self._place(pool, options, by_itself=by_itself)
        return self._results[key]

    def _fill_slots(self, pool: Pool, options: Options) -> PoolHeadroom:
        """Return the headroom if no constraint joins the slots. Each one is filled separately."""
        served = [
            (resources, seats(pool, resources, providers))
            for (_group, resources), providers in zip(self._plan.slots, options, strict=True)
            if resources
        ]
        number = min([sum(by_position.values()) for _resources, by_position in served])
        usage: Counter[Row] = Counter()
        for resources, by_position in served:
            rest = number
            for position, count in by_position.items():
                taken = min(rest, count)
                rest -= taken
                for name, units in resources if taken else ():
                    usage[position, name] = units * taken
        return PoolHeadroom(number, number, usage)

    def _place(self, pool: Pool, options: Options, *, by_itself: bool) -> PoolHeadroom:
        """Place consumers one after another, or on the best way of each card if more fit there."""
        found = PoolHeadroom(0, upper_bound(self._plan, pool, options))
        slots = self._plan.slots
        ways = Cards(self._plan, pool).best_ways(
            options, lambda slot, providers: seats(pool, slots[slot].resources, providers)
        )
        most, best = ways or (found.upper, options)
        found.upper = min(found.upper, most)
        with BudgetShare(self._budget, self._max_steps) as budget:
            self._claim_one_by_one(found, pool, budget, options, by_itself=by_itself)
        is_narrower = list(map(len, best)) != list(map(len, options))
        if is_narrower and not found.is_exact and all(best):
            placed = self.find_among(pool, best, by_itself=by_itself)
            if placed.lower > found.lower:
                found.lower, found.usage = placed.lower, placed.usage
        return found

    # -- one consumer after the other ----------------------------------------------------------

    def _claim_one_by_one(
        self,
        found: PoolHeadroom,
        pool: Pool,
        budget: Budget,
        options: Options,
        *,
        by_itself: bool = True,
    ) -> None:
        """Place consumers until no more fit or the upper bound is reached.

        Args:
            found: the consumers so far.
            pool: the providers, without these consumers.
            budget: limit on the work.
            options: slot -> positions of the providers that may serve it.
            by_itself: whether a consumer may use only sharing providers of other trees.
        """
        pool = pool.after(found.usage)
        allowed = list(map(frozenset, options))
        while found.lower < found.upper:
            candidate = self._next(pool, budget, allowed, by_itself=by_itself)
            if candidate is None:
                if not found.lower:
                    found.upper = 0
                return
            usage: Counter[Row] = Counter()
            for slot, position in zip(candidate.layout.slots, candidate.assignment, strict=True):
                for name, units in slot.resources:
                    usage[position, name] += units
            times = 1
            if not candidate.split:
                # The candidate remains valid as long as it fits.
                stocks = [pool.members[position].stocks[name] for position, name in usage]
                fits = map(floordiv, [stock.free for stock in stocks], usage.values())
                times = min(found.upper - found.lower, max(1, min(fits) // 2))
            usage = Counter({row: units * times for row, units in usage.items()})
            pool = pool.after(usage)
            found.add(usage, times)

    def _next(
        self, pool: Pool, budget: Budget, allowed: Sequence[frozenset[int]], *, by_itself: bool
    ) -> Candidate | None:
        """Return a candidate of the pool, or None. Candidates with a split come last."""
        plan = self._plan
        budget.spend(COST_PER_STEP * len(plan.slots))
        # Providers with more of the collective traits come last: a consumer then uses no more of
        # them than it needs, which leaves them to other consumers.
        bits = [bits_met(plan.collective_traits, member).bit_count() for member in pool.members]
        options = [
            sorted(filter(served.__contains__, providers), key=bits.__getitem__)
            for providers, served in zip(plan.options(pool, budget.spend), allowed, strict=True)
        ]
        if all(options):
            local = len(pool.members) if by_itself else pool.local
            for assignment, _last in solutions(self._kinds, plan, pool, options, budget):
                if min(assignment) < local:
                    return Candidate(plan, pool, assignment)
        return SplitSearches(plan, budget).start(pool).first if plan.splittable else None


def only_sharing(pool: Pool, options: Options) -> bool:
    """Return whether sharing providers of other trees alone can serve every slot of an anchor."""
    return pool.anchor is not None and all(providers[-1] >= pool.local for providers in options)
