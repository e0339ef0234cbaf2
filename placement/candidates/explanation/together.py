"""Determine why groups that fit separately do not fit together.

The room of a provider is the lower of its free capacity and max_unit. Hosts with equal room have
equal evaluations, but the cause of a rejection may differ. To find the cause, the host is evaluated
again for each class in turn, as if it had enough of the class or a larger max_unit.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from placement.candidates.budget import COST_PER_STEP, BudgetSpentError
from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import ORDER, Evaluation
from placement.candidates.explanation.host_solver import HostSolver
from placement.candidates.explanation.joint_rejections import isolation_cause
from placement.candidates.model import Pool
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.inventory import Stock

# Finding causes may use 1/SHARE of all work.
SHARE = 8


class SumCauses:
    """Finds the cause if the amounts of the groups together do not fit."""

    def __init__(self, solver: HostSolver) -> None:
        self._solver = solver
        # The plan of the request and the constraints that join its slots.
        self._joins = solver.explain_request.joins
        # The plan of the request.
        self._plan = self._joins.plan
        # The constraints that join the slots.
        self._kinds = self._joins.kinds
        # Remaining work for causes.
        self._left = solver.budget.steps_left * COST_PER_STEP // SHARE

    def key(self, pool: Pool) -> Hashable:
        """Return the free capacity regardless of max_unit, as a key of hosts with equal causes."""
        plan = self._plan
        return tuple(
            tuple(
                [
                    stock and bisect_right(plan.sums[name], stock.capacity - stock.used)
                    for stock in pool.stocks(name)
                ]
            )
            for name in plan.contended_classes
        )

    def find_rejection(self, pool: Pool, evaluation: Evaluation) -> Rejection:
        """Return the rejection of a host with its cause, or with all sums if no work is left."""
        before = self._solver.budget.cost
        cause = RejectionCause(amounts=self._sums(self._plan.contended_classes))
        if self._left > 0:
            # The rejection is known. Only its cause is less precise.
            with suppress(BudgetSpentError):
                cause = self._cause(pool, evaluation.options)
        self._left -= self._solver.budget.cost - before
        slots = {slot for name, _units in cause.amounts for slot in self._plan.amounts_of(name)}
        servers = sorted({each for slot in slots for each in evaluation.options[slot]})
        return evaluation.stated[0]._replace(cause=cause, at_code=servers)

    def _cause(self, pool: Pool, options: Sequence[Sequence[int]]) -> RejectionCause:
        if self._is_isolation(pool, options):
            return isolation_cause(self._plan, options, SpecialCase.ISOLATION)
        classes = self._short_classes(pool, options)
        bounded = [name for name in classes if _bounds_room(pool, name)]
        if bounded:
            lifted = self._lifted(pool, bounded, units_only=True)
            if self._serves(lifted, options, upto=Refusal.CAPACITY_SUM):
                return RejectionCause(amounts=self._sums(classes), case=SpecialCase.MAX_UNIT)
        return RejectionCause(amounts=self._sums(classes))

    def _sums(self, names: Iterable[str]) -> tuple[Amount, ...]:
        return tuple(Amount(name, self._plan.combined_amounts[name]) for name in names)

    def _is_isolation(self, pool: Pool, options: Sequence[Sequence[int]]) -> bool:
        """Return whether isolation would reject the host if it had enough of all classes."""
        if not any(kind.code is Refusal.ISOLATE for kind in self._kinds):
            return False
        enough = self._lifted(pool, self._plan.contended_classes)
        if self._serves(enough, options) is not False:
            return False
        return bool(self._serves(enough, options, without=Refusal.ISOLATE))

    def _short_classes(self, pool: Pool, options: Sequence[Sequence[int]]) -> tuple[str, ...]:
        """Return the only class with too little capacity, or all classes if there are several."""
        classes = self._plan.contended_classes
        if len(classes) > 1:
            for name in classes:
                lifted = self._lifted(pool, [name])
                if self._serves(lifted, options, upto=Refusal.CAPACITY_SUM):
                    return (name,)
        return classes

    def _serves(
        self,
        pool: Pool,
        options: Sequence[Sequence[int]],
        *,
        upto: Refusal | None = None,
        without: Refusal | None = None,
    ) -> bool | None:
        kinds = [
            kind
            for kind in self._kinds
            if kind.code is not without and (upto is None or ORDER[kind.code] <= ORDER[upto])
        ]
        return self._solver.serves(self._joins, pool, options, kinds)

    def _lifted(self, pool: Pool, names: Iterable[str], *, units_only: bool = False) -> Pool:
        """Return a pool that has enough of some classes. `units_only` only raises max_unit."""
        members = list(pool.members)
        self._solver.budget.spend(4 * len(members))
        for name in names:
            enough = self._plan.combined_amounts[name]
            for position, member in enumerate(members):
                stock = member.stocks.get(name)
                if stock is not None:
                    lifted = _lifted(stock, enough, units_only=units_only)
                    members[position] = members[position].with_stocks({name: lifted})
        return replace(pool, members=tuple(members))


def _bounds_room(pool: Pool, name: str) -> bool:
    """Return whether max_unit of some provider is less than its free capacity of a class."""
    stocks = [stock for stock in pool.stocks(name) if stock]
    return any(stock.room < stock.capacity - stock.used for stock in stocks)


def _lifted(stock: Stock, enough: int, *, units_only: bool) -> Stock:
    most = max(stock.max_unit, enough)
    if units_only:
        return stock._replace(max_unit=most)
    return stock._replace(max_unit=most, capacity=max(stock.capacity, stock.used + enough))
