"""The assignments of pools that are alike: searched for one of them, and known for the others."""

from collections.abc import Generator

from placement.candidates.budget import Budget
from placement.candidates.model import Assignment
from placement.candidates.trace import Refusal

# Assignments, and whether each is known to be the last; returns why there are no more.
Solutions = Generator[tuple[Assignment, bool], None, Refusal | None]


class Assignments:
    """The assignments of all pools of one shape, searched as far as some pool asks for them.

    They are kept: a candidate is a place in the list, and what one pool has found is no work for
    another. refusal: why there is none, or no other one.
    """

    def __init__(self, solutions: Solutions, budget: Budget) -> None:
        """Search for the first one.  Raises BudgetSpentError."""
        self.refusal: Refusal | None = None
        self._known: list[Assignment] = []
        self._solutions: Solutions | None = solutions
        self._budget = budget
        self._search(solutions)

    @property
    def exist(self) -> bool:
        """Whether there is any."""
        return bool(self._known)

    def after(self, place: int) -> Assignment | None:
        """Return the one after so many others, or None where there is none.

        place: how many the pool has been told, none of them left out. Raises BudgetSpentError.
        """
        if place == len(self._known):
            if self._solutions is None:
                return None
            self._search(self._solutions)
        elif place:
            # To tell what is known is a step. A pool has paid for the first when it was begun.
            self._budget.step()
        return self._known[place] if place < len(self._known) else None

    def end_after(self, place: int) -> bool:
        """Whether it is known that there are no more than so many."""
        return self._solutions is None and place >= len(self._known)

    def _search(self, solutions: Solutions) -> None:
        try:
            assignment, last = next(solutions)
        except StopIteration as end:
            self.refusal, self._solutions = end.value, None
            return
        self._known.append(assignment)
        if last:
            self._solutions = None
