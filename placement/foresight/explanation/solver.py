"""Whether a host can be served, for a request or a changed request, within a share of all work."""

from collections.abc import Callable, Hashable

from placement.candidates.constraints import Kinds
from placement.candidates.model import Options, Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.search import is_served
from placement.foresight.explanation.explained_plan import ExplainedPlan, JoinedPlan
from placement.runtime.budget import (
    COST_PER_PROVIDER,
    COST_PER_RESULT,
    COST_PER_STEP,
    Budget,
    BudgetShare,
)

# One host may use 1/SHARE of the limit on work. A host that needs more is undecided.
SHARE = 16
# Maximum total number of slots and terms of the changed requests whose plans are cached.
MAX_PLANNED = 50_000
# Maximum number of cached results.
MAX_RESULTS = 10_000


class Solver:
    """Searches for the first assignment of all slots on single hosts."""

    def __init__(self, plan: ExplainedPlan, budget: Budget, max_steps: int) -> None:
        """Prepare a request; `max_steps` is the work of which each host may use a share."""
        self.plan = plan
        # The limit on all work.
        self.budget = budget
        # The limit on the work for one host, in steps.
        self._share = max(1, max_steps // SHARE)
        parts = len(plan.slots) + len(plan.changes)
        # Cost of planning a changed request.
        self._plan_cost = COST_PER_RESULT * (3 + 2 * len(plan.slots)) + COST_PER_PROVIDER * parts
        # Key of a changed request -> its plan. PERF: the first plans stay in the cache. Every host
        # needs all plans in the same order, so replacing plans would not help.
        self._plans: dict[Hashable, JoinedPlan] = {}
        # Maximum number of cached plans.
        self._max_plans = MAX_PLANNED // parts
        # Everything that an assignment for a changed request depends on -> whether there is one.
        self._results: dict[Hashable, bool | None] = {}

    def planned(self, key: Hashable, request: Callable[[], CandidateRequest]) -> JoinedPlan:
        """Return the plan of a changed request, given by a key and a function that creates it.

        Raises:
            BudgetSpentError: the limit on work was reached.
        """
        plan = self._plans.get(key)
        if plan is None:
            self.budget.spend(self._plan_cost)
            plan = JoinedPlan(request(), key=key)
            if len(self._plans) < self._max_plans:
                self._plans[key] = plan
        return plan

    def serves(
        self, plan: JoinedPlan, pool: Pool, options: Options, kinds: Kinds | None = None
    ) -> bool | None:
        """Return whether any assignment satisfies all constraints.

        Args:
            plan: The plan of a request.
            pool: The providers of a host.
            options: The positions of the providers that can serve each slot.
            kinds: The constraints to satisfy, if not all of them.

        Returns:
            None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: the limit on all work was reached.
        """
        applied = plan.kinds if kinds is None else kinds
        if not all(options):
            return False
        if not applied and not plan.splittable:
            return True
        if plan.key is None:  # callers cache the results of the request itself
            return self._solve(plan, pool, options, applied)
        self.budget.spend(COST_PER_PROVIDER * len(options))
        key = plan.key, plan.signature(pool), tuple(map(tuple, options))
        if key in self._results:
            return self._results[key]
        result = self._solve(plan, pool, options, applied)
        if len(self._results) < MAX_RESULTS:
            self._results[key] = result
        return result

    def _solve(self, plan: JoinedPlan, pool: Pool, options: Options, kinds: Kinds) -> bool | None:
        self.budget.spend(3 * COST_PER_STEP * (len(plan.slots) + len(kinds)))
        with BudgetShare(self.budget, self._share) as budget:
            return is_served(kinds, plan, pool, options, budget)
        return None

    def serves_request(self, plan: JoinedPlan, pool: Pool) -> bool | None:
        """Like `serves`, for a changed request with other options or for another pool."""
        if pool.anchor is None or plan.root_refusal(pool.anchor) is not None:
            return False
        return self.serves(plan, pool, plan.options(pool, self.budget.spend, in_parts=True))
