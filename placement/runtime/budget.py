"""The limit on the work of one search.

The unit of work is about 0.1 µs, a quarter of the check of one provider for one group. Code that
costs more than a few units charges the budget, in advance if the work is large. The budget also
checks the deadline of the request, and lets other threads run, at regular amounts of work.
"""

import time
from collections.abc import Callable
from typing import Self

from placement.runtime import deadline

# Cost of checking a provider against the conditions of a slot.
COST_PER_PROVIDER = 4
# Cost of a step: trying a provider for a slot, or checking one constraint for it.
COST_PER_STEP = 8
# Cost of making a candidate, a pattern or another result.
COST_PER_RESULT = 64
# Cost of reading a provider of a tree.
COST_PER_READ_PROVIDER = 120

# Amount of work between two checks of the deadline. It takes a few milliseconds.
WORK_BETWEEN_CHECKS = 20_000

# The options that may end a search.
MAX_SEARCH_STEPS = "max_search_steps"
REQUEST_DEADLINE = "request_deadline"
STATEMENT_TIMEOUT = "statement_timeout"

# Function that charges an amount of work to a budget.
Charge = Callable[[int], None]


def uncharged(cost: int) -> None:
    """Charge nothing. Callers pass this function for work without a limit."""


class BudgetSpentError(Exception):
    """The search has reached its limit on work or its deadline."""


class Budget:
    """The work that a search may do, and the work that it has done."""

    def __init__(self, max_steps: int, *, needs_result: bool = False) -> None:
        """Create a budget.

        Args:
            max_steps: limit on all work, in steps.
            needs_result: whether the search may exceed this limit until it has a first candidate.
                Only the deadline ends it before. Ignored for requests without a deadline.
        """
        # Number of providers tried for a slot.
        self.steps = 0
        # All work so far, in units.
        self.cost = 0
        # The option that ended the search, or None if no limit was reached.
        self.ended_by: str | None = None
        # Whether the limit on work does not apply yet. The search sets it to false.
        self.needs_result = needs_result and deadline.is_set()
        # The limit on `cost`.
        self._max_cost = max_steps * COST_PER_STEP
        # PERF: a single comparison checks both limits.
        self._next_check = min(WORK_BETWEEN_CHECKS, self._max_cost)

    def spend(self, cost: int) -> None:
        """Charge work.

        Raises:
            BudgetSpentError: the bound or the deadline has passed.
        """
        self.cost += cost
        if self.cost > self._next_check:
            self._check()

    def _check(self) -> None:
        time.sleep(0)  # lets other threads run
        is_beyond = self.cost > self._max_cost
        if is_beyond and not self.needs_result:
            self.ended_by = MAX_SEARCH_STEPS
        elif deadline.is_over():
            self.ended_by = REQUEST_DEADLINE
        if self.ended_by is not None:
            raise BudgetSpentError
        next_check = self.cost + WORK_BETWEEN_CHECKS
        self._next_check = next_check if is_beyond else min(next_check, self._max_cost)

    def step(self, constraints: int = 0, cost: int = 0) -> None:
        """Charge one provider tried for a slot.

        Args:
            constraints: number of constraints to check for the provider.
            cost: further work, in units.
        """
        self.steps += 1
        # PERF: the same as `spend`, without a call.
        self.cost += cost + COST_PER_STEP * (1 + constraints)
        if self.cost > self._next_check:
            self._check()

    @property
    def steps_left(self) -> int:
        """The remaining work, in steps."""
        return max(0, self._max_cost - self.cost) // COST_PER_STEP

    @property
    def spent(self) -> bool:
        """Whether a limit has ended the search."""
        return self.ended_by is not None


class BudgetShare(Budget):
    """A part of the work of a budget. A `with` block that spends all of it ends without an error.

    Several blocks may use one share. Its work is also charged to the whole budget.
    """

    def __init__(self, whole: Budget, max_steps: int) -> None:
        super().__init__(max_steps)
        self._whole = whole
        # The part of `cost` that has been charged to the whole budget.
        self._charged = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _type: object, error: object, _traceback: object) -> bool:
        """Charge the work. Raises BudgetSpentError if the whole budget is spent."""
        cost, self._charged = self.cost - self._charged, self.cost
        self._whole.spend(cost)
        return isinstance(error, BudgetSpentError)
