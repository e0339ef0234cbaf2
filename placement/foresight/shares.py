"""A part of the work of a budget."""

from typing import Self

from placement.candidates.budget import Budget, BudgetSpentError


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
