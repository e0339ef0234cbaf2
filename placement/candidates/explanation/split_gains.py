"""Hosts that would serve a request if several providers could serve an amount in parts."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

from placement.candidates.budget import COST_PER_STEP
from placement.candidates.explanation.evaluation import Evaluation
from placement.candidates.explanation.explain_request import Joins
from placement.candidates.explanation.host_solver import HostSolver, signatures
from placement.candidates.explanation.words import sentences
from placement.candidates.model import Pool
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.trace import Refusal
from placement.inventory import largest

# Finding such hosts may use 1/SHARE of all work.
SHARE = 8
# Maximum number of results in memory.
MAX_RESULTS = 10_000

_CODES = (Refusal.MAX_UNIT, Refusal.CAPACITY)


class SplitGains:
    """Counts such hosts for the classes of the unsuffixed group."""

    def __init__(self, solver: HostSolver) -> None:
        # The request.
        self._request = solver.explain_request.request
        self._solver = solver
        # Remaining work.
        self._left = solver.budget.steps_left * COST_PER_STEP // SHARE
        # Whether each host was examined.
        self._is_complete = True
        # Classes that could be split -> number of additional hosts.
        self._gains: Counter[tuple[str, ...]] = Counter()
        # Classes -> the plan of the request in which they can be split.
        self._joins: dict[tuple[str, ...], Joins] = {}
        # Key of equal hosts -> whether they would serve.
        self._results: dict[Hashable, bool] = {}

    def add(self, pool: Pool, evaluation: Evaluation) -> None:
        """Count a rejected host if it would serve the request in parts.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        names = self._short_classes(pool, evaluation)
        if not names or not self._is_complete:
            return
        before = self._solver.budget.cost
        self._gains[names] += self._serves(names, pool, evaluation)
        self._left -= self._solver.budget.cost - before
        self._is_complete = self._is_complete and self._left > 0

    def _short_classes(self, pool: Pool, evaluation: Evaluation) -> tuple[str, ...]:
        """Return the classes of which no provider has enough, if several together have enough."""
        if not evaluation.rejections or evaluation.rejections[0].code not in _CODES:
            return ()
        if evaluation.rejections[0].group != UNSUFFIXED:
            return ()
        amounts = {
            term.resource_class: term.amount or 0
            for rejection in evaluation.rejections
            for term in rejection.cause.terms
        }
        self._solver.budget.spend(pool.local)
        for name, units in amounts.items():
            stocks = [stock for stock in pool.stocks(name)[: pool.local] if stock]
            if sum(largest(stock, units) for stock in stocks) < units:
                return ()
        return tuple(sorted(amounts))

    def _serves(self, names: tuple[str, ...], pool: Pool, evaluation: Evaluation) -> bool:
        joins = self._joins.get(names)
        if joins is None:
            joins = self._joins[names] = self._solver.plan(_with_split(self._request, names))
        key = names, evaluation, signatures(joins, pool)
        serves = self._results.get(key)
        if serves is None:
            found = self._solver.serves_request(joins, pool)
            self._is_complete = self._is_complete and found is not None
            serves = bool(found)
            if len(self._results) < MAX_RESULTS:
                self._results[key] = serves
        return serves

    def sentences(self) -> Sequence[str]:
        """Return a sentence about the classes that would serve most hosts in parts."""
        best = self._gains.most_common(1)
        if not self._is_complete or not best or not best[0][1]:
            return ()
        return (sentences.split(*best[0]),)


def _with_split(request: CandidateRequest, names: Collection[str]) -> CandidateRequest:
    groups = [
        group if group.suffixed else replace(group, split_classes=group.split_classes.union(names))
        for group in request.groups
    ]
    return replace(request, groups=tuple(groups))
