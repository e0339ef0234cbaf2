"""The room of pools for requests in which several providers may serve an amount in parts."""

from collections.abc import Mapping, Sequence

from placement.candidates.budget import COST_PER_STEP, Budget
from placement.candidates.headroom.bounds import upper_bound
from placement.candidates.headroom.host_room import RoomFinder
from placement.candidates.headroom.room import NO_ROOM, HostRoom, filled, room_in
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan


class SplitRoomFinder(RoomFinder):
    """Finds an interval: it packs consumers with whole amounts first, then others with parts.

    The parts that a consumer uses depend on the previous consumers, so the finder does not search
    for the maximum number.
    """

    def __init__(self, plan: SearchPlan, budget: Budget, max_steps: int) -> None:
        super().__init__(plan, budget, max_steps)
        # The plan of the request with splits.
        self._split_plan = SearchPlan(plan.request, splits=True)
        # Slot -> its requirement in the plan with splits.
        self._requirements = {
            slot: requirement
            for requirement in self._split_plan.requirements
            for slot in requirement.slots
        }

    def find(self, pool: Pool) -> HostRoom:
        """Return the number of consumers that fit, as an interval.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        if pool.anchor is not None and self._plan.root_refusal(pool.anchor) is not None:
            return NO_ROOM
        options, parts = self.with_parts(pool)
        if not all(options[slot] or parts.get(slot) for slot in range(len(options))):
            return NO_ROOM
        upper = upper_bound(self._plan, options, room_in(pool), self._budget.spend, parts)
        assert upper is not None  # every request has resources
        whole = self.find_again(pool)
        room = HostRoom(whole.lower, max(upper, whole.lower), whole.usage)
        rest = filled(pool, room.usage)
        self._within_share(lambda budget: self._filler.fill(room, rest, budget), default=None)
        return room

    def find_by_itself(self, pool: Pool) -> HostRoom:
        """Return the same as `find`, which counts all consumers, as an interval."""
        return self.find(pool)

    def with_parts(self, pool: Pool) -> tuple[Options, Mapping[int, Sequence[int]]]:
        """Return slot -> providers of whole amounts, and splittable slot -> providers of parts."""
        plan = self._split_plan
        options: list[Sequence[int]] = []
        for slot in range(len(plan.slots)):
            requirement = self._requirements[slot]
            self._budget.spend(COST_PER_STEP + len(pool.members) * requirement.cost)
            options.append(requirement.current_providers(pool))
        parts: dict[int, Sequence[int]] = {}
        for slot in plan.splittable:
            ((name, amount),) = plan.slots[slot].resources
            parts[slot] = list(self._requirements[slot].part_sizes(pool, name, amount))
        return options, parts

    def refine(self, room: HostRoom, pool: Pool) -> None:
        """Keep the interval. It cannot be narrowed."""
