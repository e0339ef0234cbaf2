"""The bound on the work of one search.

Work is counted in *looks*: one provider looked at for one group, some 0.1 µs. What takes more than
a few of them says so, before it is done where it is much. The deadline of the request stands behind
that: it is looked at each time that some work has been counted.
"""

from collections.abc import Callable

from placement import deadline

# A step, which is a provider tried for a slot or put to one of its constraints, in looks.
LOOKS_PER_STEP = 8

# Work after which the deadline is looked at, some milliseconds of it.
LOOKS_PER_CHECK = 20_000

# The options of `[placement]` that may end a search.
MAX_SEARCH_STEPS = "max_search_steps"
REQUEST_DEADLINE = "request_deadline"

# Is told of so many looks.
Spend = Callable[[int], None]


def free(looks: int) -> None:
    """Count nothing: for those whose work is not bounded."""


class BudgetSpentError(Exception):
    """The search has done all the work that it was given."""


class Budget:
    """The work that a search may do, and has done.

    max_steps: the bound, in steps. steps: providers tried for a slot. looks: all work. ended_by:
    the option that ended the search; None: none has.
    """

    def __init__(self, max_steps: int) -> None:
        self.steps = 0
        self.looks = 0
        self.ended_by: str | None = None
        self._max_looks = max_steps * LOOKS_PER_STEP
        # PERF: one comparison for both bounds.
        self._next_check = min(LOOKS_PER_CHECK, self._max_looks)

    def spend(self, looks: int) -> None:
        """Count work.  Raises BudgetSpentError beyond the bound, and after the deadline."""
        self.looks += looks
        if self.looks > self._next_check:
            self._check()

    def _check(self) -> None:
        if self.looks > self._max_looks:
            self.ended_by = MAX_SEARCH_STEPS
        elif deadline.is_over():
            self.ended_by = REQUEST_DEADLINE
        if self.ended_by is not None:
            raise BudgetSpentError
        self._next_check = min(self.looks + LOOKS_PER_CHECK, self._max_looks)

    def step(self, constraints: int = 0, looks: int = 0) -> None:
        """Count a provider tried for a slot and put to so many constraints, and looks before it."""
        self.steps += 1
        self.spend(looks + LOOKS_PER_STEP * (1 + constraints))

    @property
    def steps_left(self) -> int:
        """The work that may still be done, in steps."""
        return max(0, self._max_looks - self.looks) // LOOKS_PER_STEP

    @property
    def spent(self) -> bool:
        """Whether the search was ended by a bound."""
        return self.ended_by is not None
