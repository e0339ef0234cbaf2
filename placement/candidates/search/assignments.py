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
    another. end: how many there are, None while nobody knows. refusal: why there are no more.
    """

    def __init__(self, solutions: Solutions, budget: Budget) -> None:
        """Search for the first one.  Raises BudgetSpentError."""
        self.end: int | None = None
        self.refusal: Refusal | None = None
        self._known: list[Assignment] = []
        self._solutions = solutions
        self._budget = budget
        self._search()

    def after(self, place: int) -> Assignment | None:
        """Return the one after so many others, or None where there is none.

        place: how many the pool has been told, none of them left out. Raises BudgetSpentError.
        """
        if 0 < place < len(self._known):
            # To tell what is known is a step. A pool has paid for the first when it was begun.
            self._budget.step()
        elif place == len(self._known) and self.end is None:
            self._search()
        return self._known[place] if place < len(self._known) else None

    def _search(self) -> None:
        try:
            assignment, last = next(self._solutions)
        except StopIteration as end:
            self.refusal, last = end.value, True
        else:
            self._known.append(assignment)
        if last:
            self.end = len(self._known)
            self._solutions.close()  # with all that it has built
