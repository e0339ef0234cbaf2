"""Smaller amounts of a class that at least one host could serve, if no host can serve the request.

The largest amount that a provider can serve depends on its units and its free capacity, minus the
amounts of other groups on the same provider. Only such amounts are tried, because an amount between
two of them does not serve additional hosts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_
from typing import NamedTuple

from placement.candidates.budget import COST_PER_STEP
from placement.candidates.explanation.evaluation import Evaluation, Shortage
from placement.candidates.explanation.explain_request import Joins
from placement.candidates.explanation.host_solver import HostSolver, signatures
from placement.candidates.explanation.relaxed import with_amount
from placement.candidates.explanation.value import Relaxed
from placement.candidates.model import Pool
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import AMOUNT_KEYWORD, Amount
from placement.candidates.trace import Refusal
from placement.inventory import Stock, fits, sizes

# Cached plans of requests with a smaller amount.
MAX_PLANS = 256
# Cached results for one class of hosts.
MAX_ANSWERS = 1000
# Maximum number of amounts of a splittable class that are tried on one host.
MAX_AMOUNTS = 64
# Sums of the amounts of a class that other groups may consume.
MAX_SUMS = 4096

# Work of computing the largest amount of one inventory that fits after one such sum.
COST_PER_AMOUNT = 5


class Amounts(NamedTuple):
    """Amounts to try."""

    # Units, in descending order.
    values: Sequence[int]
    # Smallest amount above which the list is complete.
    whole_from: int = 0


@dataclass(slots=True)
class Best:
    """The largest amount with which at least one host would serve the request."""

    # Units, or 0 if there is no such host.
    amount: int = 0
    # Number of hosts that would serve the request.
    hosts: int = 0


class Reductions:
    """Finds the largest amount of each class of each group."""

    def __init__(self, solver: HostSolver) -> None:
        # Whether a host is served. In this case, no reduction is needed.
        self.served = False
        # Whether the limit on work was reached.
        self.undecided = False
        # The request for which the hosts are evaluated.
        self._explain_request = solver.explain_request
        # The slots of the request.
        self._plan = solver.explain_request.joins.plan
        self._solver = solver
        # Remaining work for reductions.
        self._left = solver.budget.steps_left * COST_PER_STEP // 2
        # Value of `budget.cost` at which the work for the current host must end.
        self._end = 0
        # (Slot, index of the resource) -> the largest amount found so far.
        self._best: dict[tuple[int, int], Best] = {}
        # Plans the request with a smaller amount, and caches the plans.
        self._joins = lru_cache(MAX_PLANS)(self._joins_with)
        # (Slot, class) -> sums of the amounts that other slots may take of the class.
        self._usages: dict[tuple[int, str], list[int]] = {}

    def add(self, pool: Pool, evaluation: Evaluation) -> None:
        """Try smaller amounts on a host, within half of all work.

        Args:
            pool: The providers of the host.
            evaluation: The evaluation of its class.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        if not evaluation.rejections:
            self.served = True
        if self.served:
            return
        before = self._solver.budget.cost
        self._end = before + self._left
        try:
            self._add(pool, evaluation)
        finally:
            self._left -= self._solver.budget.cost - before

    def _add(self, pool: Pool, evaluation: Evaluation) -> None:
        if evaluation.shortages is None:
            evaluation.shortages = list(self._shortages(pool, evaluation))
        for shortage in evaluation.shortages:
            if self._solver.budget.cost > self._end:
                self.undecided = True
                return
            best = self._best.setdefault((shortage.slot, shortage.resource_index), Best())
            amounts = self._amounts(pool, shortage, best.amount)
            largest = 0
            for amount in amounts.values:
                if self._serves(pool, evaluation, shortage, amount):
                    largest = amount
                    break
            self.undecided |= largest < amounts.whole_from
            if largest > best.amount:
                best.amount, best.hosts = largest, 0
            best.hosts += largest > 0

    def _shortages(self, pool: Pool, evaluation: Evaluation) -> Iterator[Shortage]:
        """Yield the amounts that may be the only reason why a host cannot serve the request."""
        if not evaluation.masks or evaluation.root_refused:
            return
        explain_request = self._explain_request
        for requirement, masks in zip(explain_request.distinct, evaluation.masks, strict=True):
            if requirement.soft & reduce(and_, masks[0]):
                return  # no provider has a certain trait, so no amount helps
        unserved = {slot for slot, providers in enumerate(evaluation.options) if not providers}
        for slot, requirement in enumerate(explain_request.requirements):
            if not unserved <= {slot}:
                continue
            masks = evaluation.masks[explain_request.distinct_index[slot]]
            for index, (name, amount) in enumerate(self._plan.slots[slot].resources):
                providers = requirement.meeting(masks, requirement.units(index))
                if providers and amount > 1:
                    yield Shortage(slot, index, name, amount, providers)

    def _amounts(self, pool: Pool, shortage: Shortage, least: int) -> Amounts:
        """Return the amounts to try. All of them are at least `least`."""
        name, limit = shortage.resource_class, shortage.amount
        self._solver.budget.spend(2 * len(shortage.providers))
        if not self._plan.amounts_of(name).keys().isdisjoint(self._plan.splittable):
            return self._amounts_in_parts(pool, shortage, least)
        # PERF: many devices have equal inventories.
        stocks = {pool.members[position].stocks[name] for position in shortage.providers}
        amounts = {_largest(stock, limit) for stock in stocks}
        largest = max(amounts)
        if largest < max(least, 1):
            return Amounts(())
        if not self._explain_request.joins.kinds:
            return Amounts((largest,))
        if name in self._plan.contended_classes:
            usages = self._usages_of_others(shortage)
            self._solver.budget.spend(COST_PER_AMOUNT * len(usages) * len(stocks))
            for usage in usages:
                amounts |= {_largest(stock, limit, usage) for stock in stocks}
        tried = [amount for amount in amounts if amount >= max(least, 1)]
        return Amounts(sorted(tried, reverse=True))

    def _amounts_in_parts(self, pool: Pool, shortage: Shortage, least: int) -> Amounts:
        """Return the amounts to try. Parts add up, so the largest amount may be any number."""
        stocks = [
            pool.members[position].stocks[shortage.resource_class]
            for position in shortage.providers
        ]
        rooms = [max(0, stock.room) for stock in stocks]
        in_parts = shortage.slot in self._plan.splittable
        most = min(sum(rooms) if in_parts else max(rooms, default=0), shortage.amount - 1)
        numbers = range(most, max(least, 1) - 1, -1)
        tried = numbers[:MAX_AMOUNTS]
        return Amounts(tried, tried[-1] if len(tried) < len(numbers) else 0)

    def _usages_of_others(self, shortage: Shortage) -> list[int]:
        """Return the sums of a class that any of the other slots together may consume."""
        key = shortage.slot, shortage.resource_class
        usages = self._usages.get(key)
        if usages is None:
            usages = self._usages[key] = self._sums_of_others(shortage)
        return usages

    def _sums_of_others(self, shortage: Shortage) -> list[int]:
        sums = {0}
        amounts = self._plan.amounts_of(shortage.resource_class)
        for slot, amount in amounts.items():
            self._solver.budget.spend(len(sums))
            if slot != shortage.slot:
                sums |= {usage + amount for usage in sums}
            if len(sums) > MAX_SUMS:
                self.undecided = True
                return sorted(sums)[:MAX_SUMS]
        return sorted(sums)

    def _serves(self, pool: Pool, evaluation: Evaluation, shortage: Shortage, amount: int) -> bool:
        """Return whether the host would be served with this amount. False also means undecided."""
        if not self._explain_request.joins.kinds and not self._plan.splittable:
            return True
        slot, name = shortage.slot, shortage.resource_class
        joins = self._joins(slot, name, amount)
        local = pool.local if slot in self._plan.splittable else 0
        options = [*evaluation.options]
        options[slot] = [
            position
            for position in shortage.providers
            if _serves_some(pool.members[position].stocks[name], amount, in_parts=position < local)
        ]
        # Hosts of one class may differ in the providers that fit a smaller amount, and in the
        # signatures of its constraints.
        key = slot, shortage.resource_index, amount, tuple(options[slot]), signatures(joins, pool)
        serves = evaluation.answers.get(key)
        if serves is None:
            answer = self._solver.serves(joins, pool, options)
            self.undecided |= answer is None
            serves = bool(answer)
            if len(evaluation.answers) < MAX_ANSWERS:
                evaluation.answers[key] = serves
        return serves

    def _joins_with(self, slot: int, name: str, amount: int) -> Joins:
        """Return the plan and constraints of the request with another amount of a class."""
        suffix = self._plan.slots[slot].group.suffix
        request = with_amount(self._explain_request.request, suffix, name, amount)
        return self._solver.plan(request)

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the largest amounts, most hosts first. Return nothing if any host is served."""
        if self.served:
            return []
        slots = self._plan.slots
        reductions = []
        for (slot, index), best in self._best.items():
            if best.hosts:
                suffix, resource = slots[slot].group.suffix, slots[slot].resources[index]
                amount = Amount(*resource)
                term = StatedTerm(Refusal.CAPACITY, AMOUNT_KEYWORD, suffix, amount)
                reductions.append(Relaxed(term, best.hosts, best.amount))
        return sorted(reductions, key=lambda reduction: -reduction.hosts)


def _largest(stock: Stock, limit: int, usage: int = 0) -> int:
    """Return the largest amount below the limit that fits in addition to `usage`, or 0."""
    # PERF: `inventory.largest` takes twice as long.
    room = min(stock.room - usage, limit - 1)
    amount = room - room % stock.step_size
    return amount if amount >= max(stock.min_unit, 1) else 0


def _serves_some(stock: Stock, amount: int, *, in_parts: bool) -> bool:
    """Return whether the amount fits or, in parts, any part of it."""
    return bool(sizes(stock, amount)) if in_parts else fits(stock, amount)
