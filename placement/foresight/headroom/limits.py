"""The limits of full hosts: the code that an explanation would report for one more consumer."""

from collections.abc import Sequence

from placement.candidates.model import Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.terms import Amount
from placement.foresight.explanation.causes import Rejection
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fits import Fits
from placement.foresight.headroom.value import UNDECIDED, RoomLimit
from placement.runtime.budget import Budget


class LimitFinder:
    """Finds the limits of hosts for one request."""

    def __init__(self, request: CandidateRequest, budget: Budget, max_steps: int) -> None:
        plan = ExplainedPlan(request, budget.spend, relaxes=False)
        # The results of the hosts.
        self._fits = Fits(plan, budget, max_steps)

    def find(self, pool: Pool) -> RoomLimit:
        """Return the limit of a pool that cannot serve another consumer.

        The limit is undecided if the pool can serve another consumer after all.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        rejections = self.rejections(pool)
        return limit_of(rejections) if rejections else UNDECIDED

    def rejections(self, pool: Pool) -> Sequence[Rejection]:
        """Return the rejections of a pool. Empty if the pool is served."""
        return self._fits.of(pool).rejections


def limit_of(rejections: Sequence[Rejection]) -> RoomLimit:
    """Return the first rejection of a host, as a limit."""
    rejection = rejections[0]
    amount = rejection.cause.terms[-1].value if rejection.cause.terms else None
    resource_class = amount.resource_class if isinstance(amount, Amount) else None
    return RoomLimit(rejection.code, rejection.group, resource_class)
