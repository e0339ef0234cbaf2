"""The fits of the hosts of one request."""

from collections.abc import Hashable

from placement.candidates.model import Pool, Refusal
from placement.candidates.terms import Masks
from placement.foresight.explanation.explained_plan import ExplainedPlan
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.joint_causes import JointCauses, with_sums
from placement.foresight.explanation.solver import Solver
from placement.runtime.budget import COST_PER_PROVIDER, COST_PER_RESULT, Budget

# Maximum number of fits in memory.
MAX_FITS = 10_000


class Fits:
    """The fits of the hosts of one request. Hosts of one class share a fit.

    They have equal masks and, if the request joins slots, equal signatures of all constraints. The
    masks contain all conditions on single providers that the providers of a host fail.
    """

    def __init__(self, plan: ExplainedPlan, budget: Budget, max_steps: int) -> None:
        """Prepare a request.

        Args:
            plan: The plan of the request.
            budget: The limit on work.
            max_steps: The work of which each host may use a share, in steps.
        """
        self.plan = plan
        # Decides whether a host can be served.
        self.solver = Solver(plan, budget, max_steps)
        # Finds why groups cannot be served together.
        self._causes = JointCauses(self.solver)
        self._budget = budget
        # Class of hosts -> their fit.
        self._fits: dict[Hashable, Fit] = {}

    def of(self, pool: Pool) -> Fit:
        """Return the fit of a host.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        plan, size = self.plan, len(pool.members)
        self._budget.spend(COST_PER_RESULT + size * plan.provider_cost)
        root, masks = plan.root_mask(pool), plan.masks(pool)
        key: Hashable = root, masks, len(pool.reached)
        if root & (root - 1):  # no other term matters
            key = root
        elif plan.is_joined:
            key = key, plan.signature(pool)
        fit = self._fit(key, pool, root, masks)
        for rejection in fit.rejections[:1]:
            if rejection.code is Refusal.CAPACITY_SUM:
                # Amounts that do not fit together are too large for different reasons.
                cause = with_sums(plan, rejection, pool).cause
                if cause != rejection.cause:
                    return self._fit((key, cause), pool, root, masks)
        return fit

    def _fit(self, key: Hashable, pool: Pool, root: int, masks: tuple[Masks, ...]) -> Fit:
        plan, size = self.plan, len(pool.members)
        fit = self._fits.get(key)
        if fit is None:
            self._budget.spend(
                COST_PER_RESULT * (1 + len(plan.slots))
                + COST_PER_PROVIDER * size * len(plan.requirements)
            )
            if len(self._fits) >= MAX_FITS:
                self._fits.clear()
            fit = self._fits[key] = Fit(self.solver, self._causes, pool, root, masks)
        return fit
