"""Smaller amounts of a class that at least one host could serve, if no host can serve the request.

The largest amount that a provider can serve depends on its units and its free capacity, minus the
amounts of other groups on the same provider. Only such amounts are tried, because an amount between
two of them does not serve additional hosts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.candidates.budget import COST_PER_PROVIDER
from placement.candidates.model import Pool
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import AMOUNT_KEYWORD, Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.explained_plan import JoinedPlan, with_amount
from placement.foresight.explanation.fit import Fit, Shortage
from placement.foresight.explanation.solver import Solver
from placement.foresight.explanation.value import Relaxed
from placement.inventory import Stock, fits, sizes

# Maximum number of amounts of a splittable class that are tried on one host.
MAX_AMOUNTS = 64
# Sums of the amounts of a class that other groups may consume.
MAX_SUMS = 4096

# An amount of a request: the slot, and the index of the class within its resources.
Key = tuple[int, int]


class Tried(NamedTuple):
    """Amounts to try."""

    # Units, in descending order.
    amounts: Sequence[int]
    # Smallest amount above which the list is complete.
    whole_from: int = 0


@dataclass(slots=True)
class Best:
    """The largest amount with which at least one host would serve the request."""

    # Units, or 0 if there is no such host.
    amount: int = 0
    # Number of hosts that would serve the request.
    hosts: int = 0


class SmallerAmounts:
    """Finds the largest amount of each class of each group."""

    def __init__(self, solver: Solver) -> None:
        # Whether a host is served. In this case, no smaller amount is needed.
        self.served = False
        # Whether the limit on work was reached.
        self.undecided = False
        # The plan of the request.
        self._plan = solver.plan
        self._solver = solver
        # Remaining work. Smaller amounts may use half of all work.
        self._left = solver.part_of_work(2)
        # The largest amounts so far.
        self._best: dict[Key, Best] = {}
        # (Slot, class) -> sums of the amounts that other slots may take of the class.
        self._usages: dict[tuple[int, str], list[int]] = {}

    def find(self, pool: Pool, fit: Fit) -> Sequence[tuple[Key, int]]:
        """Return the largest amounts of a host that are not below those of other hosts.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        found: list[tuple[Key, int]] = []
        self.served = self.served or not fit.rejections
        if self.served or not fit.shortages:
            return found
        budget = self._solver.budget
        end = budget.cost + self._left
        for shortage in fit.shortages:
            if budget.cost > end:
                self.undecided = True
                break
            key = shortage.slot, shortage.resource_index
            best = self._best.get(key) or self._best.setdefault(key, Best())
            tried = self._tried(pool, shortage, max(best.amount, 1))
            for amount in tried.amounts:
                if self._serves(pool, fit, shortage, amount):
                    if amount > best.amount:
                        best.amount, best.hosts = amount, 0
                    found.append((key, amount))
                    break
            else:
                self.undecided |= tried.whole_from > 0
        self._left = end - budget.cost
        return found

    def add(self, found: Sequence[tuple[Key, int]]) -> None:
        """Count a host with the amounts that were found on it or on an equal host."""
        for key, amount in found:
            self._best[key].hosts += amount == self._best[key].amount

    def _tried(self, pool: Pool, shortage: Shortage, least: int) -> Tried:
        """Return the amounts to try. All of them are at least `least`."""
        name, limit = shortage.resource_class, shortage.amount
        spend = self._solver.budget.spend
        spend(COST_PER_PROVIDER * len(shortage.providers))
        splittable = self._plan.splittable
        if splittable and not self._plan.amounts_of(name).keys().isdisjoint(splittable):
            return self._tried_in_parts(pool, shortage, least)
        # PERF: many devices have equal inventories.
        stocks = {pool.members[position].stocks[name] for position in shortage.providers}
        amounts = {_largest(stock, limit) for stock in stocks}
        largest = max(amounts)
        if largest < least:
            return Tried(())
        if not self._plan.kinds:
            return Tried((largest,))
        if name in self._plan.contended_classes:
            usages = self._usages_of_others(shortage)
            spend(COST_PER_PROVIDER * len(usages) * len(stocks))
            for usage in usages:
                amounts |= {_largest(stock, limit, usage) for stock in stocks}
        return Tried(sorted([each for each in amounts if each >= least], reverse=True))

    def _tried_in_parts(self, pool: Pool, shortage: Shortage, least: int) -> Tried:
        """Return the amounts to try. Parts add up, so the largest amount may be any number."""
        name = shortage.resource_class
        stocks = [pool.members[position].stocks[name] for position in shortage.providers]
        rooms = [max(0, stock.room) for stock in stocks]
        in_parts = shortage.slot in self._plan.splittable
        most = min(sum(rooms) if in_parts else max(rooms, default=0), shortage.amount - 1)
        numbers = range(most, least - 1, -1)
        tried = numbers[:MAX_AMOUNTS]
        return Tried(tried, tried[-1] if len(tried) < len(numbers) else 0)

    def _usages_of_others(self, shortage: Shortage) -> list[int]:
        """Return the sums of a class that any of the other slots together may consume."""
        key = shortage.slot, shortage.resource_class
        usages = self._usages.get(key)
        if usages is None:
            usages = self._usages[key] = self._sums_of_others(*key)
        return usages

    def _sums_of_others(self, slot: int, name: str) -> list[int]:
        sums = {0}
        for other, amount in self._plan.amounts_of(name).items():
            self._solver.budget.spend(len(sums))
            if other != slot:
                sums |= {usage + amount for usage in sums}
            if len(sums) > MAX_SUMS:
                self.undecided = True
                return sorted(sums)[:MAX_SUMS]
        return sorted(sums)

    def _serves(self, pool: Pool, fit: Fit, shortage: Shortage, amount: int) -> bool:
        """Return whether the host would be served with this amount. False also means undecided."""
        if not self._plan.is_joined:
            return True
        slot, name = shortage.slot, shortage.resource_class
        plan = self._planned(slot, name, amount)
        local = pool.local if slot in self._plan.splittable else 0
        options = [*fit.options]
        options[slot] = tuple(
            [
                each
                for each in shortage.providers
                if _serves_some(pool.members[each].stocks[name], amount, in_parts=each < local)
            ]
        )
        serves = self._solver.serves(plan, pool, options)
        self.undecided |= serves is None
        return bool(serves)

    def _planned(self, slot: int, name: str, amount: int) -> JoinedPlan:
        """Return the plan of the request with another amount of a class."""
        request, suffix = self._plan.request, self._plan.slots[slot].group.suffix
        return self._solver.planned(
            (slot, name, amount), lambda: with_amount(request, suffix, name, amount)
        )

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the largest amounts, most hosts first. Return nothing if any host is served."""
        if self.served:
            return []
        relaxed = []
        for (number, index), best in self._best.items():
            if best.hosts:
                slot = self._plan.slots[number]
                amount = Amount(*slot.resources[index])
                term = StatedTerm(Refusal.CAPACITY, AMOUNT_KEYWORD, slot.group.suffix, amount)
                relaxed.append(Relaxed(term, best.hosts, best.amount))
        return sorted(relaxed, key=lambda each: -each.hosts)


def _largest(stock: Stock, limit: int, usage: int = 0) -> int:
    """Return the largest amount below the limit that fits in addition to `usage`, or 0."""
    # PERF: `inventory.largest` takes twice as long.
    room = min(stock.room - usage, limit - 1)
    amount = room - room % stock.step_size
    return amount if amount >= max(stock.min_unit, 1) else 0


def _serves_some(stock: Stock, amount: int, *, in_parts: bool) -> bool:
    """Return whether the amount fits or, in parts, any part of it."""
    return bool(sizes(stock, amount)) if in_parts else fits(stock, amount)
