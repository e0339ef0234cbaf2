"""The evaluation of hosts one after the other, and the explanation of all of them.

Explanations, the log lines of empty results and simulations find their reasons with this class.
They differ only in the hosts that they supply.
"""

from collections.abc import Callable, Iterable, Sequence

from placement.candidates.budget import COST_PER_STEP, Budget, BudgetSpentError
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.host_counts import HostCounts
from placement.candidates.explanation.host_evaluator import HostEvaluator
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.explanation.reductions import Reductions
from placement.candidates.explanation.single_hosts import SingleHosts
from placement.candidates.explanation.split_gains import SplitGains
from placement.candidates.explanation.taint_gains import TaintGains
from placement.candidates.explanation.value import Explanation, Hosts, Relaxed
from placement.candidates.explanation.words import sentences
from placement.candidates.explanation.words.facts import Names
from placement.candidates.model import Tree
from placement.candidates.request import CandidateRequest
from placement.candidates.trees.sharing import AnchorPools

# Work for each host, in addition to the work for its providers.
COST_PER_HOST = 4 * COST_PER_STEP

# Returns the names of providers, given by UUID.
ReadNames = Callable[[Sequence[str]], Names]


class ExplainedHosts:
    """Evaluates hosts one after the other, and explains why they cannot serve a request."""

    def __init__(
        self, request: CandidateRequest, budget: Budget, max_steps: int, *, relaxes: bool = True
    ) -> None:
        """Prepare a request.

        Args:
            request: The request, with resolved terms and a root term per taint.
            budget: The limit on work.
            max_steps: The work of which each host may use a share, in steps.
            relaxes: Whether to find the relaxations that would help as well.
        """
        # Whether the limit on work was reached. In this case, other hosts are unknown.
        self.spent = False
        self._budget = budget
        # The request, prepared for the evaluation of hosts.
        self._request = ExplainRequest(request, budget.spend, relaxes=relaxes)
        # Decides whether a host can be served.
        self._solver = HostSolver(self._request, budget, max_steps)
        # Finds smaller amounts.
        self._reductions = Reductions(self._solver)
        # The numbers of hosts.
        self._counts = HostCounts(HostEvaluator(self._solver))
        # Whether to find relaxations.
        self._relaxes = relaxes
        # The gains of tolerating taints, or None until the first host.
        self._taint_gains: TaintGains | None = None
        # The gains of parts.
        self._split_gains = SplitGains(self._solver)

    def add(
        self, trees: Iterable[Tree], pools: AnchorPools, single_hosts: SingleHosts | None = None
    ) -> None:
        """Evaluate hosts, as far as the limit on work allows.

        Args:
            trees: The trees of the hosts.
            pools: Returns their pools. The sharing providers must include those without capacity,
                because they may be the reason.
            single_hosts: Collects the explanations of single hosts, or None.
        """
        request, budget = self._request, self._budget
        try:
            for tree in trees:
                pool = pools.pool(tree)
                cost = COST_PER_HOST + request.host_cost
                budget.spend(cost + request.provider_cost * len(pool.members))
                evaluation = self._counts.add(pool)
                if tree.is_pool:
                    continue
                if single_hosts is not None:
                    single_hosts.add(pool, evaluation)
                if self._relaxes:
                    if self._taint_gains is None:
                        self._taint_gains = TaintGains(self._solver, pools)
                    self._taint_gains.add(tree, pool, evaluation, self._counts)
                    self._reductions.add(pool, evaluation)
                    self._split_gains.add(pool, evaluation)
        except BudgetSpentError:
            self.spent = True

    def explanation(self, total: int | None, names: ReadNames) -> Explanation:
        """Return the explanation of the hosts so far.

        Args:
            total: The number of all trees, or None if it is unknown.
            names: Returns the names of the providers that the text contains.
        """
        counts, gains, reductions = self._counts, self._counts.gains, self._reductions
        uuids = counts.end()
        if uuids:
            counts.name(names(sorted(uuids)))
        undecided = reductions.undecided and not reductions.served
        undecided |= self.spent or counts.undecided > 0
        every = None if total is None else total - counts.sharing_trees
        complete = counts.looked == every and not undecided
        hosts = Hosts(
            every,
            counts.looked,
            counts.served,
            complete,
            counts.sharing_trees,
            counts.serving_trees,
        )
        blocked = counts.blocked()
        relaxations = [*gains.relaxed(counts.served), *reductions.relaxed()]
        several = len(self._request.groups) > 1
        suggested: Sequence[Relaxed] = relaxations
        if complete and not relaxations and self._taint_gains and not self._taint_gains.adds_pools:
            suggested = gains.relaxed_with_taint(counts.served)
        conflict = counts.conflict() if complete else ""
        changes = sentences.relaxations(suggested, several=several, all_terms=bool(conflict))
        if not self.spent and not hosts.served:
            changes = [*changes, *gains.suggestions(), *self._split_gains.sentences()]
        # If a name does not exist, this is the reason for every host.
        missing = sentences.nonexistent([*self._request.root_terms, *self._request.stated])
        reasons = missing or counts.reasons(conflict)
        text = " ".join([sentences.outcome(hosts), *reasons, *changes])
        return Explanation(hosts, counts.groups(), counts.together(), blocked, relaxations, text)
