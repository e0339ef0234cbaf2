"""The patterns of a pool: the amounts of its providers and classes that one consumer can use.

The solver yields the assignments of a request. Assignments that use equal amounts are the same
pattern, regardless of the groups that they serve.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Self

from placement.candidates.budget import COST_PER_RESULT, Budget, Charge
from placement.candidates.constraints import Constraint, Kinds, Undo, kinds_of
from placement.candidates.headroom.simplex import Pattern
from placement.candidates.model import OptionList, Options, Pool, Row
from placement.candidates.plan import SearchPlan
from placement.candidates.search.solver import solutions
from placement.candidates.trace import Refusal


class Patterns(NamedTuple):
    """The patterns of a pool, and of all pools with equal assignments."""

    # The rows that at least one pattern uses.
    rows: Sequence[Row]
    # Amounts of rows, given by index.
    patterns: Sequence[Pattern]
    # Whether these are all patterns.
    is_complete: bool

    def free(self, pool: Pool) -> list[int]:
        """Return the free units of each row. `max_unit` is ignored: it does not limit sums."""
        return [pool.members[position].stocks[name].free for position, name in self.rows]

    def usage(self, times: Mapping[int, int]) -> Counter[Row]:
        """Return the units of each row that patterns use, each pattern a number of times."""
        usage: Counter[Row] = Counter()
        for number, count in times.items():
            for row, units in self.patterns[number]:
                usage[self.rows[row]] += units * count
        return usage


def interchangeable(plan: SearchPlan) -> list[Sequence[int]]:
    """Return the sets of slots that have equal requirements and equal roles in all constraints."""
    kinds = kinds_of(plan)
    by_role: dict[Hashable, list[int]] = {}
    for slot, requirement in plan.requirement_of.items():
        roles = tuple([kind.role(plan, slot) for kind in kinds])
        by_role.setdefault((id(requirement), roles), []).append(slot)
    return [slots for slots in by_role.values() if len(slots) > 1]


class Ordered(Constraint):
    """Interchangeable slots use providers in ascending order. This yields each set only once."""

    code = Refusal.ISOLATE  # not reported
    applies = staticmethod(interchangeable)

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        # Slot -> its provider, for the slots that have one.
        self._providers: dict[int, int] = {}

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Create one constraint for each set of interchangeable slots."""
        return [cls(slots) for slots in interchangeable(plan)]

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider if it is in order with the providers of the other slots."""
        for other, placed in self._providers.items():
            if (placed > provider) if other < slot else (placed < provider):
                return None
        self._providers[slot] = provider
        return lambda: self._providers.pop(slot)


class PatternSearch:
    """Searches the patterns of pools for one request."""

    def __init__(self, plan: SearchPlan) -> None:
        kinds = kinds_of(plan)
        self._plan = plan
        # The constraints that apply to the plan.
        self._kinds: Kinds = (*kinds, Ordered) if Ordered.applies(plan) else kinds

    def find(
        self,
        pool: Pool,
        options: Options,
        budget: Budget,
        most: int | None = None,
        *,
        by_itself: bool = False,
    ) -> Patterns:
        """Return the patterns of a pool.

        Candidates that use only sharing providers of other trees are counted for those trees.

        Args:
            pool: the providers.
            options: slot -> positions of the providers that can serve it alone.
            budget: limit on the work.
            most: number of patterns at which the search ends, or None for no limit.
            by_itself: whether to include patterns that use only sharing providers of other trees.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        resources = [slot.resources for slot in self._plan.slots]
        local = len(pool.members) if by_itself or pool.anchor is None else pool.local
        numbers: dict[Row, int] = {}
        patterns: dict[Pattern, None] = {}
        found = solutions(self._kinds, self._plan, pool, options, budget)
        for assignment, _last in found:
            if min(assignment) >= local:
                continue
            amounts: Counter[int] = Counter()
            for position, classes in zip(assignment, resources, strict=True):
                for name, units in classes:
                    amounts[numbers.setdefault((position, name), len(numbers))] += units
            pattern = tuple(sorted(amounts.items()))
            if pattern not in patterns:
                if len(patterns) == most:
                    return Patterns(tuple(numbers), tuple(patterns), is_complete=False)
                budget.spend(COST_PER_RESULT)
                patterns[pattern] = None
        return Patterns(tuple(numbers), tuple(patterns), is_complete=True)
