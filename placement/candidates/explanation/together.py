"""Why groups do not fit together that fit one by one: which classes, and whether room would help.

The room of a provider is what is free, and no more than max_unit. Two hosts with equal room are
served alike, and yet another thing may be in the way on each. So this is asked of hosts beside
their verdict: of each class in turn, whether the host would be served if there were enough of it.
"""

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress

from falcon_placement_client.inventory import Stock
from placement.candidates.budget import LOOKS_PER_STEP, BudgetSpentError
from placement.candidates.explanation.joining import isolation_cause
from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.profiles import ORDER, Fall, FallCause, Verdict
from placement.candidates.explanation.verdicts import Judge
from placement.candidates.model import Pool, Stocks
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

SHARE = 8  # the part of all work that this may take


class SumCauses:
    """Finds what stands in the way where the sum of the groups does not fit."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._plan = judge.question.joins.plan
        self._kinds = judge.question.joins.kinds
        # Work that is left for it, in looks.
        self._left = judge.budget.steps_left * LOOKS_PER_STEP // SHARE

    def key(self, pool: Pool) -> Hashable:
        """Return what tells apart hosts with one verdict: what is free, whatever max_unit says."""
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

    def fall(self, pool: Pool, verdict: Verdict) -> Fall:
        """Return the fall of a host with its cause, which is left open where it is hard to find."""
        before = self._judge.budget.looks
        cause = FallCause(amounts=self._sums(self._plan.contended_classes))
        if self._left > 0:
            # That the host falls out is known, also if no more may be found out about it.
            with suppress(BudgetSpentError):
                cause = self._cause(pool, verdict.options)
        self._left -= self._judge.budget.looks - before
        slots = {slot for name, _units in cause.amounts for slot in self._plan.amounts_of(name)}
        servers = sorted({each for slot in slots for each in verdict.options[slot]})
        return verdict.falls[0]._replace(cause=cause, at_code=servers)

    def _cause(self, pool: Pool, options: Sequence[Sequence[int]]) -> FallCause:
        if self._is_isolation(pool, options):
            return isolation_cause(self._plan, options, Manner.ISOLATION)
        classes = self._short_classes(pool, options)
        bounded = [name for name in classes if _bounds_room(pool, name)]
        if bounded:
            lifted = self._lifted(pool, bounded, units_only=True)
            if self._serves(lifted, options, upto=Refusal.CAPACITY_SUM):
                return FallCause(amounts=self._sums(classes), manner=Manner.MAX_UNIT)
        return FallCause(amounts=self._sums(classes))

    def _sums(self, names: Iterable[str]) -> tuple[Amount, ...]:
        return tuple(Amount(name, self._plan.combined_amounts[name]) for name in names)

    def _is_isolation(self, pool: Pool, options: Sequence[Sequence[int]]) -> bool:
        """Whether a host with enough of everything would serve only without the isolation."""
        if not any(kind.code is Refusal.ISOLATE for kind in self._kinds):
            return False
        enough = self._lifted(pool, self._plan.contended_classes)
        if self._serves(enough, options) is not False:
            return False
        return bool(self._serves(enough, options, without=Refusal.ISOLATE))

    def _short_classes(self, pool: Pool, options: Sequence[Sequence[int]]) -> tuple[str, ...]:
        """Return the one class with too little room, or all, where several have."""
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
        upto: Refusal = Refusal.SAME_SUBTREE,
        without: Refusal | None = None,
    ) -> bool | None:
        kinds = [
            kind
            for kind in self._kinds
            if ORDER[kind.code] <= ORDER[upto] and kind.code is not without
        ]
        return self._judge.serves(self._plan, kinds, pool, options)

    def _lifted(self, pool: Pool, names: Iterable[str], *, units_only: bool = False) -> Pool:
        """Return a pool with enough of some classes; units_only: in which max_unit is no bound."""
        members = list(pool.members)
        self._judge.budget.spend(4 * len(members))
        for name in names:
            enough = self._plan.combined_amounts[name]
            for position, member in enumerate(members):
                stock = member.stocks.get(name)
                if stock is not None:
                    lifted = _lifted(stock, enough, units_only=units_only)
                    stocks = Stocks({**member.stocks, name: lifted})
                    members[position] = member._replace(stocks=stocks)
        return pool._replace(members=tuple(members))


def _bounds_room(pool: Pool, name: str) -> bool:
    """Whether some provider has more of a class free than max_unit lets it give at once."""
    stocks = [stock for stock in pool.stocks(name) if stock]
    return any(stock.room < stock.capacity - stock.used for stock in stocks)


def _lifted(stock: Stock, enough: int, *, units_only: bool) -> Stock:
    most = max(stock.max_unit, enough)
    if units_only:
        return stock._replace(max_unit=most)
    return stock._replace(max_unit=most, capacity=max(stock.capacity, stock.used + enough))
