"""Packings that result from placing the consumers one after the other, like claims."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.constraints import kinds_of
from placement.candidates.headroom.room import HostRoom, Row, with_members
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
                    fits = min([_free(pool, row) // units for row, units in amounts.items()])
                    times = min(room.upper - room.lower, max(1, fits // 2))
                pool = _after(pool, amounts, times)
                for row, units in amounts.items():
                    usage[row] += units * times
                room.lower += times
                room.usage = dict(usage)
        except BudgetSpentError:
            return

    def _next(self, pool: Pool, budget: Budget) -> Candidate | None:
        """Return a candidate of the pool, or None."""
        plan = self._plan
        budget.spend(COST_PER_STEP * len(plan.slots))
        options: list[Sequence[int]] = [()] * len(plan.slots)
        for requirement in plan.requirements:
            budget.spend(COST_PER_STEP + len(pool.members) * requirement.cost)
            providers = requirement.current_providers(pool)
            for slot in requirement.slots:
                options[slot] = providers
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


def _free(pool: Pool, row: Row) -> int:
    position, name = row
    stock = pool.members[position].stocks[name]
    return stock.capacity - stock.used


def _after(pool: Pool, amounts: Counter[Row], times: int) -> Pool:
    """Return the pool after a number of consumers have used these amounts."""
    members = list(pool.members)
    for (position, name), units in amounts.items():
        members[position] = members[position].after({name: units * times})
    return with_members(pool, members)


def _ignore(_code: Refusal) -> None:
    """Ignore a refused placement."""
