"""The limits of full hosts: the code that an explanation would report for one more consumer."""

from collections.abc import Sequence

from placement.candidates.budget import Budget
from placement.candidates.explanation.causes import Rejection
from placement.candidates.explanation.evaluation import HostClass
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.host_evaluator import HostEvaluator
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.headroom.value import UNDECIDED, RoomLimit
from placement.candidates.model import Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.terms.amounts import Amount

# Maximum number of classes of hosts in memory.
MAX_CLASSES = 10_000


class LimitFinder:
    """Finds the limits of hosts for one request. Hosts of one class are evaluated once."""

    def __init__(self, request: CandidateRequest, budget: Budget, max_steps: int) -> None:
        # The request, prepared for the evaluation of hosts.
        self._request = ExplainRequest(request, budget.spend, relaxes=False)
        # Evaluates one host at a time.
        self._evaluator = HostEvaluator(HostSolver(self._request, budget, max_steps))
        self._budget = budget
        # Class of equal hosts -> their limit.
        self._limits: dict[HostClass, RoomLimit] = {}

    def find(self, pool: Pool) -> RoomLimit:
        """Return the limit of a pool that cannot serve another consumer.

        The limit is undecided if the pool can serve another consumer after all.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        host_class = self._classify(pool)
        limit = self._limits.get(host_class)
        if limit is None:
            rejections = self._evaluator.find_rejections(host_class, pool)
            limit = limit_of(rejections) if rejections else UNDECIDED
            if len(self._limits) >= MAX_CLASSES:
                self._limits.clear()
            self._limits[host_class] = limit
        return limit

    def rejections(self, pool: Pool) -> Sequence[Rejection]:
        """Return the rejections of a pool. Empty if the pool is served."""
        return self._evaluator.find_rejections(self._classify(pool), pool)

    def _classify(self, pool: Pool) -> HostClass:
        request = self._request
        self._budget.spend(request.host_cost + request.provider_cost * len(pool.members))
        mask = 0
        if request.root.terms and pool.anchor is not None:
            mask = request.root.root_mask(pool.anchor.root)
        return self._evaluator.classify(pool, mask)


def limit_of(rejections: Sequence[Rejection]) -> RoomLimit:
    """Return the first rejection of a host, as a limit."""
    rejection = rejections[0]
    amount = rejection.cause.terms[-1].value if rejection.cause.terms else None
    resource_class = amount.resource_class if isinstance(amount, Amount) else None
    return RoomLimit(rejection.code, rejection.group, resource_class)
