"""The number of consumers that one pool can serve independently of other pools."""

from collections.abc import Callable, Hashable
from typing import TypeVar

from placement.candidates.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.headroom.bounds import seats_of, upper_bound
from placement.candidates.headroom.filling import HostFiller
from placement.candidates.headroom.packing import (
    Packing,
    PackingProblem,
    pack,
    pack_greedily,
    tightened,
)
from placement.candidates.headroom.patterns import (
    Patterns,
    PatternSearch,
    free_units,
    usage_of,
)
from placement.candidates.headroom.room import NO_ROOM, HostRoom, Row, filled, room_in
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan

T = TypeVar("T")

# At first, one pool may use 1/SHARE of all work. Pools without an exact result are tried again
# after all hosts, with the remaining work.
SHARE = 64

# Maximum number of patterns of one shape that are searched at first.
MAX_PATTERNS = 1000

# Maximum number of shapes and rooms in memory.
MAX_REMEMBERED = 20_000

# Cost of a pool, in addition to the checks of its providers.
COST_PER_POOL = 24 * COST_PER_STEP


class RoomFinder:
    """Finds the room of pools for one request."""

    def __init__(self, plan: SearchPlan, budget: Budget, max_steps: int) -> None:
        """Prepare a request.

        Args:
            plan: its plan.
            budget: limit on all work.
            max_steps: initial value of this bound, in steps.
        """
        self._plan = plan
        self._budget = budget
        # The limit on the work for the patterns of one pool, in steps.
        self._share = max(1, max_steps // SHARE)
        # Finds the patterns of a shape.
        self._search = PatternSearch(plan)
        # Fills a pool with consumers, one after the other.
        self._filler = HostFiller(plan)
        # Shape -> its patterns, or None if finding them exceeds the share of a pool.
        self._patterns: dict[Hashable, Patterns | None] = {}
        # Shape and room of its rows -> the result.
        self._rooms: dict[Hashable, HostRoom] = {}

    def find(self, pool: Pool) -> HostRoom:
        """Return how many consumers fit if each of them uses a provider of the anchor.

        Args:
            pool: the anchor and the sharing providers that it reaches.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        return self._find_in_parts(pool) if self._plan.splittable else self.find_whole(pool)

    def _find_in_parts(self, pool: Pool) -> HostRoom:
        """Return an interval: consumers with whole amounts come first, then others with parts.

        The parts that a consumer uses depend on the previous consumers, so the finder does not
        search for the maximum number.
        """
        options = self.options(pool, in_parts=True)
        if options is None:
            return NO_ROOM
        upper = self.upper_bound(pool, options)
        whole = self.find_whole(pool)
        room = HostRoom(whole.lower, max(upper, whole.lower), whole.usage)
        rest = filled(pool, room.usage)
        self._within_share(lambda budget: self._filler.fill(room, rest, budget), default=None)
        return room

    def find_by_itself(self, pool: Pool) -> HostRoom:
        """Return how many consumers fit if no other host uses the sharing providers.

        Unlike in `find`, a consumer may use only sharing providers of other trees.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        if self._plan.splittable:  # an interval, which counts these consumers already
            return self._find_in_parts(pool)
        return self.find_whole(pool, by_itself=True)

    def find_whole(self, pool: Pool, *, by_itself: bool = False) -> HostRoom:
        """Return a packing of whole amounts on a pool. See `find` and `find_by_itself`."""
        options = self.options(pool)
        return NO_ROOM if options is None else self.find_in(pool, options, by_itself=by_itself)

    def options(self, pool: Pool, *, in_parts: bool = False) -> Options | None:
        """Return the providers of each slot.

        None if a slot has no providers or the root is refused.

        Args:
            in_parts: whether to include the providers of parts.
        """
        self._budget.spend(COST_PER_POOL)
        if pool.anchor is not None and self._plan.root_refusal(pool.anchor) is not None:
            return None
        options = self._plan.options(pool, self._budget.spend, in_parts=in_parts)
        return options if all(options) else None

    def find_in(self, pool: Pool, options: Options, *, by_itself: bool = False) -> HostRoom:
        """Return the room of a pool.

        Args:
            pool: the providers.
            options: the providers of each slot.
            by_itself: whether to count consumers that use only sharing providers of other trees.
        """
        by_itself = by_itself or not only_sharing(pool, options)
        if not self._search.joins and by_itself:
            return self.fill_slots(pool, options)
        shape = self._search.shape(pool, options), by_itself
        patterns = self._patterns_of(shape, pool, options, by_itself=by_itself)
        if patterns is None:
            key: Hashable = (shape, tuple([member.stocks for member in pool.members]))
        else:
            self._budget.spend(2 * len(patterns.rows))
            key = shape, tuple(free_units(pool, patterns.rows))
        room = self._rooms.get(key)
        if room is None:
            if len(self._rooms) >= MAX_REMEMBERED:
                self._rooms.clear()
            room = self._rooms[key] = HostRoom()
            room.upper = self.upper_bound(pool, options)
            self._fill(room, pool, options, patterns)
        return room

    def upper_bound(self, pool: Pool, options: Options) -> int:
        """Return a number of consumers that no packing can exceed."""
        upper = upper_bound(self._plan, options, room_in(pool), self._budget.spend)
        assert upper is not None  # every request has resources
        return upper

    def fill_slots(self, pool: Pool, options: Options) -> HostRoom:
        """Return the room if no constraint joins the slots.

        In this case, each slot is filled separately.
        """
        self._budget.spend(4 * sum(map(len, options)))
        seats = seats_of(self._plan, options, room_in(pool))
        served = [
            (slot, by_position)
            for slot, by_position in enumerate(seats)
            if self._plan.slots[slot].resources
        ]
        number = min([sum(by_position.values()) for _slot, by_position in served])
        usage: dict[Row, int] = {}
        for slot, by_position in served:
            rest = number
            for position, count in by_position.items():
                taken = min(rest, count)
                rest -= taken
                for name, units in self._plan.slots[slot].resources if taken else ():
                    usage[position, name] = units * taken
        return HostRoom(number, number, usage)

    def _fill(
        self, room: HostRoom, pool: Pool, options: Options, patterns: Patterns | None
    ) -> None:
        """Find a packing with a share of the work."""
        if patterns is None:
            self._within_share(lambda budget: self._filler.fill(room, pool, budget), default=None)
            return
        if not patterns.patterns:
            room.upper = 0
            return
        problem = PackingProblem(patterns.patterns, free_units(pool, patterns.rows))
        self._budget.spend(2 * sum(map(len, problem.patterns)))
        packing = pack_greedily(
            problem._replace(room=tightened(*problem)), room.upper, self._budget.spend
        )
        if packing.lower < room.upper:
            packing = self._within_share(
                lambda budget: pack(problem, packing, budget.spend), default=packing
            )
        _set(room, patterns, packing)

    def _patterns_of(
        self, shape: Hashable, pool: Pool, options: Options, *, by_itself: bool
    ) -> Patterns | None:
        if shape in self._patterns:
            return self._patterns[shape]
        if len(self._patterns) >= MAX_REMEMBERED:
            self._patterns.clear()
        patterns: Patterns | None = self._within_share(
            lambda budget: self._search.find(
                pool, options, budget, MAX_PATTERNS, by_itself=by_itself
            ),
            default=None,
        )
        if patterns is not None and not patterns.is_complete:
            patterns = None
        self._patterns[shape] = patterns
        return patterns

    def refine(self, room: HostRoom, pool: Pool) -> None:
        """Search for the largest packing with all of the remaining work.

        Raises:
            BudgetSpentError: the limit on work was reached, but the interval may be narrower than
                before.
        """
        options = self.options(pool)
        if options is None or self._plan.splittable:  # an interval with parts cannot be narrowed
            return
        patterns = self._search.find(pool, options, self._budget)
        problem = PackingProblem(patterns.patterns, free_units(pool, patterns.rows))
        packing = pack(problem, Packing({}, 0, room.upper), self._budget.spend)
        room.upper = packing.upper
        if packing.lower >= room.lower:
            _set(room, patterns, packing)
        self._budget.spend(0)

    def _within_share(self, work: Callable[[Budget], T], *, default: T) -> T:
        """Return the result of a function that uses the budget of one pool.

        Return `default` if the budget is spent.

        Raises:
            BudgetSpentError: the limit on all work was reached.
        """
        budget = Budget(self._share)
        try:
            result = work(budget)
        except BudgetSpentError:
            result = default
        self._budget.spend(budget.cost)
        return result


def only_sharing(pool: Pool, options: Options) -> bool:
    """Return whether sharing providers of other trees alone can serve every slot of an anchor."""
    return pool.anchor is not None and all(providers[-1] >= pool.local for providers in options)


def _set(room: HostRoom, patterns: Patterns, packing: Packing) -> None:
    room.lower, room.upper = packing.lower, packing.upper
    room.usage = usage_of(patterns, packing.times)
