"""The changes of a request with which more hosts would serve it.

A change omits a term, replaces an amount, or serves amounts in parts. The changed request is solved
again on each host that such a change can help. All changes share one limit on work.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from placement.candidates.model import Pool, Refusal, Tree
from placement.candidates.request import UNSUFFIXED, StatedTerm
from placement.candidates.search import Requirement
from placement.candidates.terms import (
    AMOUNT_KEYWORD,
    Amount,
    Masks,
    Untainted,
    each_mask,
    lowest,
    of_kind,
)
from placement.candidates.trees import AnchorPools
from placement.foresight.explanation.explained_plan import (
    ExplainedPlan,
    RequestChange,
    with_amount,
    with_split,
)
from placement.foresight.explanation.fit import Fit, Shortage
from placement.foresight.explanation.solver import Solver
from placement.foresight.explanation.value import Relaxed
from placement.foresight.explanation.words import sentences
from placement.inventory import Stock, fits, largest, sizes
from placement.runtime.budget import COST_PER_PROVIDER, COST_PER_STEP, Budget, BudgetShare

# Maximum number of amounts of a splittable class that are tried on one host.
MAX_AMOUNTS = 64

_SPLIT_CODES = (Refusal.MAX_UNIT, Refusal.CAPACITY)


class AmountChange(NamedTuple):
    """Another amount of a class of a slot."""

    # Index of the slot.
    slot: int
    # Index of the class within the resources of the slot.
    resource_index: int
    # Whether the amount is larger than the requested one.
    is_larger: bool


class Helping(NamedTuple):
    """The changes with which equal hosts would serve the request."""

    # The indexes of changes that omit a term.
    terms: Sequence[int] = ()
    # The nearest amounts.
    amounts: Sequence[tuple[AmountChange, int]] = ()
    # The classes to serve in parts, or nothing.
    split: tuple[str, ...] = ()


NONE_HELPS = Helping()


class Relaxations:
    """Counts the hosts that would serve changed requests."""

    def __init__(self, plan: ExplainedPlan, budget: Budget, max_steps: int) -> None:
        """Prepare a request. Half of the remaining work may be used for its changes.

        Args:
            plan: The plan of the request.
            budget: The limit on all work.
            max_steps: The work of which each host may use a share, in steps.
        """
        # Whether a host with a change is undecided, and the same for amounts. Amounts do not matter
        # if any host serves the request.
        self._undecided = self._undecided_amounts = False
        # Whether any host serves the request.
        self._served = False
        self._plan = plan
        # The part of the work for changes.
        self._work = BudgetShare(budget, budget.steps_left // 2)
        self._solver = Solver(plan, self._work, max_steps)
        # Index of a change -> number of additional hosts that it would make serve the request.
        self._hosts: Counter[int] = Counter()
        # Amount -> the nearest amount that helps any host, and the number of these hosts.
        self._amounts: dict[AmountChange, tuple[int, int]] = {}
        # Classes to serve in parts -> number of hosts that they would add.
        self._splits: Counter[tuple[str, ...]] = Counter()
        # For each taint without which a host would reach more sharing providers: the index of the
        # change, and the pools without the taint. None until the first host.
        self._wider: list[tuple[int, AnchorPools]] | None = None

    @property
    def undecided(self) -> bool:
        """Whether the limit on work left a change without a result."""
        undecided_amounts = self._undecided_amounts and not self._served
        return self._undecided or undecided_amounts or self._work.spent

    # -- one host --------------------------------------------------------------------------------

    def find(self, pool: Pool, fit: Fit) -> Helping:
        """Return the changes that help the hosts that are equal to a rejected host.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        self._served = self._served or not fit.rejections
        if not fit.rejections or fit.is_lost:
            return NONE_HELPS
        amounts: list[tuple[AmountChange, int]] = []
        split: tuple[str, ...] = ()
        with self._work:
            if fit.helping is None:
                fit.helping = list(self._helping_terms(fit))
            if not self._served:
                for shortage in fit.shortages:
                    amounts += self._helping_amounts(pool, fit, shortage)
                split = self._helping_split(pool, fit)
        return Helping(fit.helping or (), amounts, split)

    def add(self, tree: Tree, pool: Pool, fit: Fit, helping: Helping, pools: AnchorPools) -> None:
        """Count a host that equals the one of `find`. `pools` are those of the request.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        for index in helping.terms:
            self._hosts[index] += 1
        for change, amount in helping.amounts:
            best, hosts = self._amounts[change]
            self._amounts[change] = best, hosts + (amount == best)
        if helping.split:
            self._splits[helping.split] += 1
        if self._wider is None:
            self._wider = list(self._find_wider(pools))
        for index, wider_pools in self._wider if fit.rejections else ():
            wider = wider_pools.pool(tree)
            if index not in helping.terms and wider.reached != pool.reached:
                with self._work:
                    plan = self._solver.planned(index, self._plan.changes[index].request)
                    serves = self._solver.serves_request(plan, wider)
                    self._undecided |= serves is None
                    self._hosts[index] += bool(serves)

    def _find_wider(self, pools: AnchorPools) -> Iterator[tuple[int, AnchorPools]]:
        names = {term.name for term in of_kind(self._plan.request.root, Untainted)}
        for index, change in enumerate(self._plan.changes):
            if change.term.code is Refusal.TAINTED and change.term.value in names:
                wider = pools.tolerating(str(change.term.value))
                if wider is not None:
                    yield index, wider

    # -- without a term --------------------------------------------------------------------------

    def _helping_terms(self, fit: Fit) -> Iterator[int]:
        self._work.spend(COST_PER_STEP * len(self._plan.changes))
        narrow = list(map(_failed_alone, self._plan.requirements, fit.masks))
        for index, change in enumerate(self._plan.changes):
            serves = self._serves_without(index, change, fit, narrow)
            self._undecided |= serves is None
            if serves:
                yield index

    def _serves_without(
        self, index: int, change: RequestChange, fit: Fit, narrow: Sequence[int]
    ) -> bool | None:
        """Return whether a host would serve the request without a term.

        Args:
            index: The index of the change.
            change: The change.
            fit: The result of the host.
            narrow: For each distinct requirement, the bits of terms whose omission gives options.
        """
        # If the host rejects a group, a change of another group does not help.
        if fit.root & ~change.root or not fit.by_group.keys() <= {change.term.suffix}:
            return False
        if change.root:
            return fit.root != 0 and fit.together
        if not change.slots:
            # Constraints between slots do not affect the options of a slot.
            if not all(fit.options) or not {change.term}.issuperset(fit.missing):
                return False
            plan = self._solver.planned(index, change.request)
            return self._solver.serves(plan, fit.pool, fit.options)
        indexes = self._plan.index_of
        if not any(narrow[indexes[slot]] & bit for slot, bit in change.slots.items()):
            return False
        options = list(fit.options)
        self._work.spend(len(fit.pool.members) * len(change.slots))
        for slot, dropped in change.slots.items():
            masks = fit.masks[indexes[slot]]
            options[slot] = tuple(self._plan.stated_requirements[slot].meeting(masks, dropped))
        return self._solver.serves(self._plan, fit.pool, options)

    # -- with another amount ---------------------------------------------------------------------

    def _helping_amounts(
        self, pool: Pool, fit: Fit, shortage: Shortage
    ) -> Iterator[tuple[AmountChange, int]]:
        """Yield the nearest smaller and larger amounts, unless other hosts have nearer ones."""
        smaller, is_whole = self._smaller_amounts(pool, shortage)
        for tried in (smaller, self._larger_amounts(pool, shortage)):
            if not tried:
                continue
            change = AmountChange(*shortage[:2], tried[0] > shortage.amount)
            best, _hosts = self._amounts.get(change, (None, 0))
            for amount in tried:
                is_farther = best is not None and (amount > best) is change.is_larger
                if amount != best and is_farther:
                    break
                if self._serves_amount(pool, fit, shortage, amount):
                    if amount != best:
                        self._amounts[change] = amount, 0
                    yield change, amount
                    break
            else:
                self._undecided_amounts |= not is_whole and not change.is_larger

    def _smaller_amounts(self, pool: Pool, shortage: Shortage) -> tuple[Sequence[int], bool]:
        """Return the smaller amounts to try in descending order, and whether these are all.

        The largest amount that a provider can serve depends on its units and its free capacity,
        minus the amounts of other groups on the same provider. An amount between two of them does
        not serve additional hosts.
        """
        name, most = shortage.resource_class, shortage.amount - 1
        self._work.spend(COST_PER_PROVIDER * len(shortage.providers))
        # PERF: many devices have equal inventories.
        stocks = {pool.members[position].stocks[name] for position in shortage.providers}
        if not self._plan.amounts_of(name).keys().isdisjoint(self._plan.splittable):
            # Parts add up, so the largest amount may be any number.
            rooms = [max(0, pool.members[each].stocks[name].room) for each in shortage.providers]
            room = sum(rooms) if shortage.slot in self._plan.splittable else max(rooms)
            numbers = range(min(room, most), 0, -1)
            return numbers[:MAX_AMOUNTS], len(numbers) <= MAX_AMOUNTS
        amounts = {_beside(stock, 0, most) for stock in stocks}
        if not self._plan.kinds:
            amounts = {max(amounts)}
        elif name in self._plan.sums:
            sums = self._plan.sums[name]
            self._work.spend(COST_PER_PROVIDER * len(sums) * len(stocks))
            for stock in stocks:
                amounts |= {_beside(stock, usage, most) for usage in sums}
        return sorted(amounts - {0}, reverse=True), True

    def _larger_amounts(self, pool: Pool, shortage: Shortage) -> Sequence[int]:
        """Return the next amount that min_unit and step_size of some provider allow, if any."""
        if shortage.slot in self._plan.splittable:
            return ()
        stocks = [pool.members[each].stocks[shortage.resource_class] for each in shortage.providers]
        larger = [_next_amount(stock, shortage.amount) for stock in stocks]
        return sorted(filter(None, larger))[:1]

    def _serves_amount(self, pool: Pool, fit: Fit, shortage: Shortage, amount: int) -> bool:
        """Return whether the host would be served with this amount. False also means undecided."""
        if not self._plan.is_joined:
            return True
        slot, name = shortage.slot, shortage.resource_class
        request, suffix = self._plan.request, self._plan.slots[slot].group.suffix
        plan = self._solver.planned(
            (slot, name, amount), partial(with_amount, request, suffix, name, amount)
        )
        local = pool.local if slot in self._plan.splittable else 0
        options: list[Sequence[int]] = list(fit.options)
        options[slot] = tuple(
            each
            for each in shortage.providers
            if _serves_some(pool.members[each].stocks[name], amount, in_parts=each < local)
        )
        serves = self._solver.serves(plan, pool, options)
        self._undecided_amounts |= serves is None
        return bool(serves)

    # -- in parts --------------------------------------------------------------------------------

    def _helping_split(self, pool: Pool, fit: Fit) -> tuple[str, ...]:
        """Return the classes of which several providers together have enough, if this helps."""
        first = fit.rejections[0]
        if pool.local < 2 or first.code not in _SPLIT_CODES or first.group != UNSUFFIXED:
            return ()
        amounts = {
            term.resource_class: term.amount or 0
            for rejection in fit.rejections
            for term in rejection.cause.terms
        }
        self._work.spend(pool.local)
        for name, units in amounts.items():
            stocks = [stock for stock in pool.stocks(name)[: pool.local] if stock]
            if sum(largest(stock, units) for stock in stocks) < units:
                return ()
        names = tuple(sorted(amounts))
        plan = self._solver.planned(names, partial(with_split, self._plan.request, names))
        serves = self._solver.serves_request(plan, pool)
        self._undecided_amounts |= serves is None
        return names if serves else ()

    # -- results ---------------------------------------------------------------------------------

    def relaxed(self, served: int, *, in_text: bool = False) -> list[Relaxed]:
        """Return the changes that the API reports or, with `in_text`, those of the text.

        Args:
            served: The number of hosts that serve the request.
            in_text: Whether to add the larger amounts, and changes of several conditions.
        """
        terms, larger = [], self._relaxed_amounts(is_larger=True) if in_text else []
        for index, hosts in sorted((+self._hosts).items(), key=lambda item: (-item[1], item[0])):
            change = self._plan.changes[index]
            if in_text or not change.in_text:
                terms.append(Relaxed(change.term, served + hosts))
        return [*larger, *terms, *self._relaxed_amounts(is_larger=False)]

    def _relaxed_amounts(self, *, is_larger: bool) -> list[Relaxed]:
        """Return the nearest amounts, most hosts first. Return nothing if any host is served."""
        relaxed = []
        for change, (amount, hosts) in () if self._served else self._amounts.items():
            if change.is_larger is is_larger and hosts:
                slot = self._plan.slots[change.slot]
                asked = Amount(*slot.resources[change.resource_index])
                term = StatedTerm(Refusal.CAPACITY, AMOUNT_KEYWORD, slot.group.suffix, asked)
                relaxed.append(Relaxed(term, hosts, amount))
        return sorted(relaxed, key=lambda each: -each.hosts)

    def sentences(self, served: int) -> Iterable[str]:
        """Return sentences about the changes that help most hosts."""
        several = len(self._plan.groups) > 1
        yield from sentences.relaxations(self.relaxed(served, in_text=True), several=several)
        if not self._served and not self.undecided:
            for split, hosts in self._splits.most_common(1):
                yield sentences.split(split, hosts)


def _failed_alone(requirement: Requirement, masks: Masks) -> int:
    """Return the bits of terms without which some provider would be accepted.

    PERF: on most hosts, each provider fails several terms, so there are none.
    """
    alone = 0
    for _position, mask in each_mask(masks):
        failed = mask & requirement.hard
        if failed == lowest(failed):
            alone |= failed
    return alone


def _beside(stock: Stock, usage: int, most: int) -> int:
    """Return the largest amount that fits in addition to `usage`, or 0."""
    # PERF: `inventory.largest` takes twice as long.
    room = min(stock.room - usage, most)
    amount = room - room % stock.step_size
    return amount if amount >= max(stock.min_unit, 1) else 0


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the smallest amount above `units` that an inventory allows, or None."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None


def _serves_some(stock: Stock, amount: int, *, in_parts: bool) -> bool:
    """Return whether the amount fits or, in parts, any part of it."""
    return bool(sizes(stock, amount)) if in_parts else fits(stock, amount)
