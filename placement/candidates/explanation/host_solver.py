"""Whether a host can be served, for a request or a relaxed request, within a share of all work."""

from collections.abc import Hashable

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.constraints import Kinds, signature
from placement.candidates.explanation.explain_request import ExplainRequest, Joins
from placement.candidates.model import Options, Pool
from placement.candidates.request import CandidateRequest
from placement.candidates.search.splits import is_served, split_signature

# One host may use 1/SHARE of the limit on work. A host that needs more is undecided.
SHARE = 16
# Total number of slots and terms of the relaxed requests whose plans are cached.
MAX_KEPT_PARTS = 50_000

# Work of joining one slot with the others.
COST_PER_JOINED_SLOT = 24


class HostSolver:
    """Searches for the first assignment of all slots on single hosts."""

    def __init__(self, explain_request: ExplainRequest, budget: Budget, max_steps: int) -> None:
        """Prepare a request; `max_steps` is the work of which each host may use a share."""
        # The request for which the hosts are evaluated.
        self.explain_request = explain_request
        # The limit on all work.
        self.budget = budget
        # The limit on the work for one host, in steps.
        self._share = max(1, max_steps // SHARE)
        # Index of a relaxation -> its plan. PERF: the first plans stay in the cache. Every host
        # needs all plans in the same order, so replacing plans would not help.
        self._joins: dict[int, Joins] = {}

    def plan(self, request: CandidateRequest) -> Joins:
        """Return the plan and constraints of a relaxed request.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        self.budget.spend(self.explain_request.plan_cost)
        return Joins.from_request(request)

    def joins_without(self, index: int) -> Joins:
        """Return the plan and constraints of a relaxation, given by its index.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        joins = self._joins.get(index)
        if joins is None:
            joins = self.plan(self.explain_request.relaxations[index].without())
            if (len(self._joins) + 1) * self.explain_request.parts <= MAX_KEPT_PARTS:
                self._joins[index] = joins
        return joins

    def serves(
        self, joins: Joins, pool: Pool, options: Options, kinds: Kinds | None = None
    ) -> bool | None:
        """Return whether any assignment satisfies all constraints.

        Args:
            joins: The plan of a request, and its constraints.
            pool: The providers of a host.
            options: The positions of the providers that can serve each slot.
            kinds: The constraints to satisfy, if not all of them.

        Returns:
            None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        plan, kinds = joins.plan, joins.kinds if kinds is None else kinds
        if not all(options):
            return False
        if not kinds and not plan.splittable:
            return True
        self.budget.spend(COST_PER_JOINED_SLOT * (len(plan.slots) + len(kinds)))
        budget = Budget(self._share)
        try:
            return is_served(kinds, plan, pool, options, budget)
        except BudgetSpentError:
            return None
        finally:
            self.budget.spend(budget.cost)

    def serves_request(self, joins: Joins, pool: Pool) -> bool | None:
        """Return whether a host has a candidate for another request.

        Returns:
            None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        plan = joins.plan
        if pool.anchor is None or plan.root_refusal(pool.anchor) is not None:
            return False
        return self.serves(joins, pool, plan.options(pool, self.budget.spend, in_parts=True))


def signatures(joins: Joins, pool: Pool) -> tuple[Hashable, ...]:
    """Return everything that constraints read from a pool in addition to the options."""
    return signature(joins.kinds, joins.plan, pool), split_signature(joins.plan, pool)
