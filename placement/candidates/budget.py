"""The bound on the work of one search.

Work is counted in *looks*: one provider looked at for one group, some 0.1 µs. What takes more than
a few of them says so, before it is done where it is much.
"""

from collections.abc import Callable

# A step, which is a provider tried for a slot or put to one of its constraints, in looks.
LOOKS_PER_STEP = 8

# Is told of so many looks.
Spend = Callable[[int], None]


def free(looks: int) -> None:
    """Count nothing: for those whose work is not bounded."""


class BudgetSpentError(Exception):
    """The search has done all the work that it was given."""


class Budget:
    """The work that a search may do, and has done.

    max_steps: the bound, in steps. steps: providers tried for a slot. looks: all work.
    """

    def __init__(self, max_steps: int) -> None:
        self.steps = 0
        self.looks = 0
        self._max_looks = max_steps * LOOKS_PER_STEP

    def spend(self, looks: int) -> None:
        """Count work.  Raises BudgetSpentError beyond the bound."""
        self.looks += looks
        if self.looks > self._max_looks:
            raise BudgetSpentError

    def step(self, constraints: int = 0, looks: int = 0) -> None:
        """Count a provider tried for a slot and put to so many constraints, and looks before it."""
        self.steps += 1
        self.spend(looks + LOOKS_PER_STEP * (1 + constraints))

    @property
    def spent(self) -> bool:
        """Whether the search was ended by the bound."""
        return self.looks > self._max_looks
