"""The patterns of a pool: the amounts of its providers and classes that one consumer can use.

The solver yields the assignments of a request. Assignments that use equal amounts are the same
pattern, regardless of the groups that they serve. Pools with equal options and equal signatures of
all constraints have the same assignments, so their patterns are searched only once.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Self

from placement.candidates.budget import Budget, Charge
from placement.candidates.constraints import Constraint, Undo, build_constraints, kinds_of
from placement.candidates.headroom.room import Row
from placement.candidates.headroom.simplex import Pattern
from placement.candidates.model import OptionList, Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.search.solver import assignments
from placement.candidates.trace import Refusal

# Cost of a new pattern, in units of the budget. It also limits the memory of all patterns.
COST_PER_PATTERN = 64


class Patterns(NamedTuple):
    """The patterns of pools of one shape."""

    # The rows that at least one pattern uses.
    rows: Sequence[Row]
    # Amounts of rows, given by index.
    patterns: Sequence[Pattern]
    # Whether these are all patterns.
    is_complete: bool


class Ordered(Constraint):
    """Interchangeable slots use providers in ascending order. This yields each set only once."""

    code = Refusal.ISOLATE  # not reported

    def __init__(self, slots: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        # Slot -> its position in the order.
        self._place = {slot: place for place, slot in enumerate(slots)}
        self._providers: dict[int, int] = {}  # position -> provider

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return False. Requests cannot contain this condition."""
        return False

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Create one constraint for each set of interchangeable slots."""
        return [cls(slots) for slots in interchangeable(plan)]

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider if it is in order with the providers of the other slots."""
        place = self._place[slot]
        for other, placed in self._providers.items():
            if (placed > provider) if other < place else (placed < provider):
                return None
        self._providers[place] = provider
        return lambda: self._providers.pop(place)


def interchangeable(plan: SearchPlan) -> list[Sequence[int]]:
    """Return the sets of slots that have equal requirements and equal roles in all constraints."""
    kinds = kinds_of(plan)
    by_role: dict[Hashable, list[int]] = {}
    for slot, requirement in plan.requirement_of.items():
        roles = tuple([kind.role(plan, slot) for kind in kinds])
        by_role.setdefault((id(requirement), roles), []).append(slot)
    return [slots for slots in by_role.values() if len(slots) > 1]


class PatternSearch:
    """Searches the patterns of pools for one request."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        # The constraints that apply to the plan.
        self._kinds = kinds_of(plan)
        # Sets of slots that are interchangeable.
        self._equal_slots = interchangeable(plan)

    @property
    def joins(self) -> bool:
        """Whether any constraint joins slots.

        Otherwise, slots use their providers independently.
        """
        return bool(self._kinds)

    def shape(self, pool: Pool, options: Options) -> Hashable:
        """Return a key that is equal for pools with the same patterns."""
        return (
            tuple([tuple(options[each.slots[0]]) for each in self._plan.requirements]),
            *[kind.signature(self._plan, pool) for kind in self._kinds],
            (pool.local, pool.reached) if pool.reached else None,
        )

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
        constraints, options = build_constraints(
            self._kinds, self._plan, pool, options, budget.spend
        )
        constraints += map(Ordered, self._equal_slots)
        resources = [slot.resources for slot in self._plan.slots]
        by_itself = by_itself or pool.anchor is None
        local = len(pool.members) if by_itself else pool.local
        numbers: dict[Row, int] = {}
        patterns: dict[Pattern, None] = {}
        solutions = assignments(options, constraints, budget, _ignore)
        for assignment, _last in solutions:
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
                budget.spend(COST_PER_PATTERN)
                patterns[pattern] = None
        return Patterns(tuple(numbers), tuple(patterns), is_complete=True)


def free_units(pool: Pool, rows: Sequence[Row]) -> list[int]:
    """Return the free units of rows. `max_unit` is ignored because it does not limit sums."""
    return [pool.members[position].stocks[name].free for position, name in rows]


def usage_of(patterns: Patterns, times: Mapping[int, int]) -> dict[Row, int]:
    """Return the units of each row that patterns use, each pattern a number of times."""
    usage: Counter[Row] = Counter()
    for number, count in times.items():
        for row, units in patterns.patterns[number]:
            usage[patterns.rows[row]] += units * count
    return usage


def _ignore(_code: Refusal) -> None:
    """Ignore a refused placement."""
