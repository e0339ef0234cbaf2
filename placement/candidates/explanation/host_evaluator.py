"""Evaluation of hosts. It finds the condition that rejects a host.

Hosts of one class are evaluated once. The masks of the providers determine the result for single
groups. To evaluate conditions that join groups, the solver searches for the first assignment under
the constraints of the request. Hosts belong to one class if they have equal masks. If the request
joins slots, the signatures of all constraints must be equal as well.
"""

from collections.abc import Callable, Hashable, Sequence

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.constraints import Kinds
from placement.candidates.explanation.causes import Rejection, RejectionCause
from placement.candidates.explanation.evaluation import Evaluation, HostClass
from placement.candidates.explanation.explain_request import ExplainRequest, Joins
from placement.candidates.explanation.host_evaluation import HostEvaluation
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.search.splits import is_served, split_signature
from placement.candidates.terms import bits
from placement.candidates.trace import Refusal

# One host may use 1/SHARE of the limit on work. A host that needs more is undecided.
SHARE = 16
# Total number of slots and terms of the relaxed requests whose plans are cached.
MAX_KEPT_PARTS = 50_000

# Work of joining one slot with the others.
COST_PER_JOINED_SLOT = 24
# Work of evaluating a class of hosts, and further work for each slot.
COST_PER_EVALUATION = 200
COST_PER_SLOT = 35


class HostEvaluator:
    """Evaluates hosts, one pool at a time."""

    def __init__(self, explain_request: ExplainRequest, budget: Budget, max_steps: int) -> None:
        # The request for which the hosts are evaluated.
        self.explain_request = explain_request
        # The limit on all work.
        self.budget = budget
        # The limit on the work for one host, in steps.
        self.share = max(1, max_steps // SHARE)
        # Index of a relaxation -> its plan. PERF: the first plans stay in the cache. Every host
        # needs all plans in the same order, so replacing plans would not help.
        self._joins: dict[int, Joins] = {}

    def classify(self, pool: Pool, root_mask: int) -> HostClass:
        """Return the class of a host; `root_mask` has the bits of the terms that its root fails."""
        if root_mask & (root_mask - 1):
            # A single relaxation does not help, so the other terms have no effect.
            return HostClass(root_mask)
        return HostClass(
            root_mask, self.explain_request.masks(pool), self.signatures(pool), len(pool.reached)
        )

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return everything that the evaluation reads from a pool, except for the masks."""
        joins = self.explain_request.joins
        return signatures(joins, pool) if joins.kinds or joins.plan.splittable else ()

    def evaluate(self, host_class: HostClass, pool: Pool) -> Evaluation:
        """Evaluate a class of hosts.

        Args:
            host_class: The class.
            pool: The providers of one of its hosts.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        self._spend_on_evaluation(host_class)
        rejections = self._root_rejections(host_class.root)
        if rejections and not host_class.masks:
            evaluation = Evaluation(rejections)
            if rejections[0].code is Refusal.TAINTED:
                evaluation.instead = self._root_rejections(host_class.root, tainted=False)
        else:
            evaluation = self.host_evaluation(pool, host_class).evaluate(rejections)
        evaluation.lacking = self.explain_request.features.lacking(host_class, pool.local)
        return evaluation

    def find_rejections(self, host_class: HostClass, pool: Pool) -> Sequence[Rejection]:
        """Return why a class of hosts is rejected, without relaxations, or nothing if it is served.

        Args:
            host_class: The class.
            pool: The providers of one of its hosts.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        self._spend_on_evaluation(host_class)
        rejections = self._root_rejections(host_class.root)
        if rejections:
            return rejections
        return self.host_evaluation(pool, host_class).find_rejections(rejections)[2]

    def _spend_on_evaluation(self, host_class: HostClass) -> None:
        self.budget.spend(
            COST_PER_EVALUATION
            + COST_PER_SLOT * len(self.explain_request.requirements)
            + 4 * sum(len(itself) + len(as_root) for itself, as_root in host_class.masks)
        )

    def _root_rejections(self, mask: int, *, tainted: bool = True) -> list[Rejection]:
        """Return the rejections of a root at the first code that it fails.

        Args:
            mask: The bits of the terms that the root fails.
            tainted: Whether to consider taints.
        """
        terms = [self.explain_request.root_terms[bit.bit_length() - 1] for bit in bits(mask)]
        if not tainted:
            terms = [term for term in terms if term.code is not Refusal.TAINTED]
        return [
            Rejection(term.code, None, RejectionCause((term,)), providers=(0,))
            for term in terms
            if term.code is terms[0].code
        ]

    def host_evaluation(self, pool: Pool, host_class: HostClass) -> HostEvaluation:
        """Return the evaluation of a host, to be started with `evaluate`."""
        return HostEvaluation(self, pool, host_class)

    def joins_without(self, index: int) -> Joins:
        """Return the plan and constraints of a relaxation, given by its index.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        joins = self._joins.get(index)
        if joins is None:
            self.spend_on_plan()
            joins = Joins.from_request(self.explain_request.relaxations[index].without())
            if (len(self._joins) + 1) * self.explain_request.parts <= MAX_KEPT_PARTS:
                self._joins[index] = joins
        return joins

    def spend_on_plan(self) -> None:
        """Charge the work of planning a relaxed request.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        self.budget.spend(self.explain_request.plan_cost)

    def serves(
        self, plan: SearchPlan, kinds: Kinds, pool: Pool, options: Sequence[Sequence[int]]
    ) -> bool | None:
        """Return whether any assignment satisfies all constraints of the given classes.

        Args:
            plan: The plan of the request.
            kinds: The classes of the constraints.
            pool: The providers of a host.
            options: The positions of the providers that can serve each slot.

        Returns:
            None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        if not all(options):
            return False
        if not kinds and not plan.splittable:
            return True
        self.budget.spend(COST_PER_JOINED_SLOT * (len(plan.slots) + len(plan.request.same_subtree)))
        return self.within_share(lambda budget: is_served(kinds, plan, pool, options, budget))

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
        return self.serves(plan, joins.kinds, pool, plan.options(pool, self.budget.spend))

    def within_share(self, decide: Callable[[Budget], bool]) -> bool | None:
        """Call a function with the budget of one host.

        Returns:
            The result, or None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        budget = Budget(self.share)
        try:
            return decide(budget)
        except BudgetSpentError:
            return None
        finally:
            self.budget.spend(budget.cost)


def signatures(joins: Joins, pool: Pool) -> tuple[Hashable, ...]:
    """Return everything that constraints read from a pool in addition to the options."""
    of_kinds = [kind.signature(joins.plan, pool) for kind in joins.kinds]
    return (*of_kinds, split_signature(joins.plan, pool), pool.reached)
