"""How many more hosts would serve changed requests: without a term, or with amounts in parts."""

from collections import Counter
from collections.abc import Sequence

from placement.candidates.model import Pool, Tree
from placement.candidates.request import UNSUFFIXED
from placement.candidates.terms import Untainted, of_kind
from placement.candidates.trace import Refusal
from placement.candidates.trees.sharing import AnchorPools
from placement.foresight.explanation.explained_plan import JoinedPlan, with_split
from placement.foresight.explanation.fit import Fit
from placement.foresight.explanation.rejected_hosts import Tally
from placement.foresight.explanation.solver import Solver
from placement.foresight.explanation.value import Relaxed
from placement.foresight.explanation.words import sentences
from placement.inventory import largest

# Finding hosts that would serve amounts in parts may use 1/SPLIT_SHARE of all work.
SPLIT_SHARE = 8

_SPLIT_CODES = (Refusal.MAX_UNIT, Refusal.CAPACITY)


class ChangeCounts:
    """Counts the hosts that changes of the request would add."""

    def __init__(self, solver: Solver) -> None:
        # Number of hosts and changes without a result.
        self.undecided = 0
        self._solver = solver
        # The changes of the request.
        self._changes = solver.plan.changes
        # Index of a change -> number of additional hosts that it would make serve the request.
        self._gains: Counter[int] = Counter()
        # The same for pairs of a change and one that tolerates a taint.
        self._with_taint: Counter[tuple[int, int]] = Counter()
        # The same for traits that the roots of these hosts have.
        self._on_root: Counter[int] = Counter()
        # For each taint without which a host would reach more sharing providers: the index of the
        # change, the plan of the request without the taint, and its pools. None until the first
        # host.
        self._tolerating: list[tuple[int, JoinedPlan, AnchorPools]] | None = None

    def add(self, tally: Tally) -> None:
        """Count the hosts of a tally."""
        gains, hosts = tally.fit.gains, tally.hosts
        self.undecided += gains.undecided * hosts
        for index in gains.changes:
            self._gains[index] += hosts
            if tally.fit.has_on_root(self._changes[index]):
                self._on_root[index] += hosts
        for pair in gains.with_taint:
            self._with_taint[pair] += hosts

    # -- sharing providers in tainted trees ----------------------------------------------------

    def add_tolerant(self, tree: Tree, pool: Pool, fit: Fit, pools: AnchorPools) -> None:
        """Count a rejected host if tolerating a taint would add sharing providers that serve it.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        if self._tolerating is None:
            self._tolerating = list(self._find_tolerating(pools))
        for index, plan, wider_pools in self._tolerating if fit.rejections else ():
            wider = wider_pools.pool(tree)
            if index in fit.gains.changes or wider.reached == pool.reached:
                continue
            serves = self._solver.serves_request(plan, wider)
            self.undecided += serves is None
            self._gains[index] += bool(serves)

    def _find_tolerating(self, pools: AnchorPools) -> list[tuple[int, JoinedPlan, AnchorPools]]:
        """Return the changes with the plans and pools, given the pools of the request."""
        names = [term.name for term in of_kind(self._solver.plan.request.root, Untainted)]
        tolerating = {name: pools.tolerating(name) for name in names}
        return [
            (index, self._solver.planned(index, change.request), wider)
            for index, change in enumerate(self._changes)
            if change.term.code is Refusal.TAINTED
            and (wider := tolerating[str(change.term.value)]) is not None
        ]

    # -- results -------------------------------------------------------------------------------

    def relaxed(self, served: int) -> Sequence[Relaxed]:
        """Return the changes with the hosts that would serve, the most hosts first.

        Args:
            served: Number of hosts that serve the request.
        """
        gains = sorted((+self._gains).items(), key=lambda item: (-item[1], item[0]))
        return [Relaxed(self._changes[index].term, served + hosts) for index, hosts in gains]

    def relaxed_with_taint(self, served: int) -> Sequence[Relaxed]:
        """Return the same for hosts without a taint.

        Nothing if a single change could serve more hosts, because the numbers would be wrong.
        """
        return [
            Relaxed(self._changes[index].term, served + hosts, taint=self._changes[taint].term)
            for (index, taint), hosts in self._with_taint.most_common()
            if not self._tolerating
        ]

    def suggestions(self) -> Sequence[str]:
        """Return a sentence about the trait that could be required of the root instead, if any.

        The number of hosts is only right if no host serves the request.
        """
        return [
            sentences.root_required(self._changes[index].term, hosts)
            for index, hosts in self._on_root.most_common(1)
        ]


class SplitGains:
    """Counts the hosts that would serve classes of the unsuffixed group in parts."""

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        # Remaining work.
        self._left = solver.part_of_work(SPLIT_SHARE)
        # Whether each host was examined.
        self._is_complete = True
        # Classes that could be split -> number of additional hosts.
        self._gains: Counter[tuple[str, ...]] = Counter()

    def short_classes(self, pool: Pool, fit: Fit) -> tuple[str, ...]:
        """Return the classes of which no provider has enough, if several together have enough."""
        if pool.local < 2 or not fit.rejections:
            return ()
        first = fit.rejections[0]
        if first.code not in _SPLIT_CODES or first.group != UNSUFFIXED:
            return ()
        amounts = {
            term.resource_class: term.amount or 0
            for rejection in fit.rejections
            for term in rejection.cause.terms
        }
        self._solver.budget.spend(pool.local)
        for name, units in amounts.items():
            stocks = [stock for stock in pool.stocks(name)[: pool.local] if stock]
            if sum(largest(stock, units) for stock in stocks) < units:
                return ()
        return tuple(sorted(amounts))

    def add(self, pool: Pool, names: tuple[str, ...]) -> None:
        """Count a rejected host if it would serve the request with these classes in parts.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        if not self._is_complete:
            return
        solver = self._solver
        end = solver.budget.cost + self._left
        plan = solver.planned(names, lambda: with_split(solver.plan.request, names))
        serves = solver.serves_request(plan, pool)
        self._gains[names] += bool(serves)
        self._left = end - solver.budget.cost
        self._is_complete = serves is not None and self._left > 0

    def sentences(self) -> Sequence[str]:
        """Return a sentence about the classes that would serve most hosts in parts."""
        best = self._gains.most_common(1)
        if not self._is_complete or not best or not best[0][1]:
            return ()
        return (sentences.split(*best[0]),)
