"""Packings that result from placing the consumers one after the other, like claims."""

from collections import Counter

from placement.candidates.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.constraints import kinds_of
from placement.candidates.headroom.room import HostRoom, Row, filled, room_in
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.search.anchors import solutions
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.splits import SplitSearches
from placement.candidates.trace import Refusal


class HostFiller:
    """Fills pools for one request. Candidates with a split come after all other candidates."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        # The constraints that apply to the plan.
        self._kinds = kinds_of(plan)

    def fill(self, room: HostRoom, pool: Pool, budget: Budget) -> None:
        """Add consumers to a packing until no more fit or the upper bound is reached.

        Args:
            room: the room of the pool, whose packing the pool contains already.
            pool: the providers, with that packing.
            budget: limit on the work.
        """
        usage = Counter(dict(room.usage))
        try:
            while room.lower < room.upper:
                candidate = self._next(pool, budget)
                if candidate is None:
                    if not room.lower:
                        room.upper = 0
                    break
                amounts = _rows(candidate)
                times = 1
                if not candidate.split:
                    # The candidate remains valid as long as it fits.
                    free = room_in(pool)
                    fits = min([free(row) // units for row, units in amounts.items()])
                    times = min(room.upper - room.lower, max(1, fits // 2))
                taken = {row: units * times for row, units in amounts.items()}
                pool = filled(pool, taken)
                usage.update(taken)
                room.lower += times
                room.usage = dict(usage)
        except BudgetSpentError:
            return

    def _next(self, pool: Pool, budget: Budget) -> Candidate | None:
        """Return a candidate of the pool, or None."""
        plan = self._plan
        budget.spend(COST_PER_STEP * len(plan.slots))
        options = plan.options(pool, budget.spend)
        if all(options):
            for assignment in solutions(self._kinds, plan, pool, options, budget, _ignore):
                return Candidate(plan, pool, assignment[0])
        return SplitSearches(plan, budget).start(pool).first if plan.splittable else None


def _rows(candidate: Candidate) -> Counter[Row]:
    """Return the units of each row that a candidate uses."""
    amounts: Counter[Row] = Counter()
    for slot, position in zip(candidate.layout.slots, candidate.assignment, strict=True):
        for name, units in slot.resources:
            amounts[position, name] += units
    return amounts


def _ignore(_code: Refusal) -> None:
    """Ignore a refused placement."""
