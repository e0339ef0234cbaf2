"""Evaluation of hosts. It finds the condition that rejects a host.

Hosts of one class are evaluated once. The masks of the providers determine the result for single
groups. To evaluate conditions that join groups, the solver searches for the first assignment under
the constraints of the request. Hosts belong to one class if they have equal masks. If the request
joins slots, the signatures of all constraints must be equal as well.
"""

from collections.abc import Hashable, Sequence

from placement.candidates.explanation.causes import Rejection, RejectionCause
from placement.candidates.explanation.evaluation import Evaluation, HostClass
from placement.candidates.explanation.host_evaluation import HostEvaluation
from placement.candidates.explanation.host_solver import HostSolver, signatures
from placement.candidates.model import Pool
from placement.candidates.terms import bits
from placement.candidates.trace import Refusal

# Work of evaluating a class of hosts, and further work for each slot.
COST_PER_EVALUATION = 200
COST_PER_SLOT = 35


class HostEvaluator:
    """Evaluates hosts, one pool at a time."""

    def __init__(self, solver: HostSolver) -> None:
        # Decides whether a host can be served.
        self.solver = solver
        # The request for which the hosts are evaluated.
        self.explain_request = solver.explain_request

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
            evaluation = HostEvaluation(self.solver, pool, host_class).evaluate(rejections)
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
        return HostEvaluation(self.solver, pool, host_class).find_rejections(rejections)[2]

    def _spend_on_evaluation(self, host_class: HostClass) -> None:
        self.solver.budget.spend(
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
