"""Hosts that sharing providers in a tainted tree would serve.

An evaluation covers only the sharing providers that a host can use. If tolerating a taint would add
sharing providers, the host is evaluated again with them.
"""

from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import Joins
from placement.candidates.explanation.host_counts import HostCounts
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.model import Pool, Tree
from placement.candidates.terms import Untainted, of_kind
from placement.candidates.trace import Refusal
from placement.candidates.trees.sharing import AnchorPools


class TaintGains:
    """Counts such hosts for each relaxation that tolerates a taint."""

    def __init__(self, solver: HostSolver, pools: AnchorPools) -> None:
        """Prepare the relaxations.

        Args:
            pools: the pools of the request with its taints.
        """
        self._solver = solver
        explain_request = solver.explain_request
        names = [term.name for term in of_kind(explain_request.request.root, Untainted)]
        tolerating = {name: pools.tolerating(name) for name in names}
        # (index of the relaxation, plan of the request without the taint, its pools)
        self._relaxed = [
            (index, Joins.from_request(relaxation.without()), wider)
            for index, relaxation in enumerate(explain_request.relaxations)
            if relaxation.term.code is Refusal.TAINTED
            and (wider := tolerating[str(relaxation.term.value)]) is not None
        ]

    @property
    def adds_pools(self) -> bool:
        """Whether tolerating a taint would add sharing providers."""
        return bool(self._relaxed)

    def add(self, tree: Tree, pool: Pool, evaluation: Evaluation, host_counts: HostCounts) -> None:
        """Count a rejected host if tolerating a taint would make it serve the request.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        if not evaluation.rejections:
            return
        for index, joins, pools in self._relaxed:
            if index in evaluation.gains:
                continue
            wider = pools.pool(tree)
            if wider.reached == pool.reached:
                continue
            serves = self._solver.serves_request(joins, wider)
            if serves is None:
                host_counts.undecided += 1
            elif serves:
                host_counts.gains.add_to(index)
