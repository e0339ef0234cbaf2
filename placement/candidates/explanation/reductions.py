"""How much less of a class some host could serve, where none serves the whole amount.

A host can give the largest amount that a provider's units allow within its room, less what other
groups take there. These are the amounts worth trying: between two of them nothing new fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_
from typing import NamedTuple

from falcon_placement_client.inventory import Stock, fits
from placement.candidates.budget import LOOKS_PER_STEP
from placement.candidates.explanation.profiles import Shortage, Verdict
from placement.candidates.explanation.question import Joins, Question
from placement.candidates.explanation.relaxed import with_amount
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.value import Relaxed
from placement.candidates.explanation.verdicts import Judge, signatures
from placement.candidates.model import Pool
from placement.candidates.terms.amounts import AMOUNT_KEYWORD, Amount
from placement.candidates.trace import Refusal

MOST_PLANS = 256  # of smaller requests that are kept
MOST_ANSWERS = 1000  # answers that are kept for hosts that are alike
MOST_SUMS = 4096  # of what other groups may take of the class

# What it takes to see how much some inventory could give beside what others take.
LOOKS_PER_AMOUNT = 5


class Amounts(NamedTuple):
    """Amounts worth trying, largest first; from `whole_from` on none is left out."""

    values: Sequence[int]
    whole_from: int = 0


@dataclass(slots=True)
class Best:
    """The largest amount with which some host is served, and how many hosts that are."""

    amount: int = 0
    hosts: int = 0


class Reductions:
    """The largest amounts of each class of each group.

    served: some host is served as it is, so that nobody asks. undecided: some host, or all of them,
    took too long.
    """

    def __init__(self, question: Question, judge: Judge) -> None:
        self.served = False
        self.undecided = False
        self._question = question
        self._judge = judge
        # Work that is left, and all work at which this host's ends, in looks.
        self._left = judge.budget.steps_left * LOOKS_PER_STEP // 2
        self._end = 0
        self._best: dict[tuple[int, int], Best] = {}
        self._joins = lru_cache(MOST_PLANS)(self._joins_with)
        self._usages: dict[tuple[int, str], list[int]] = {}

    def add(self, pool: Pool, verdict: Verdict) -> None:
        """Look at a host, as long as half of the work is left for the others.

        Raises BudgetSpentError.
        """
        if not verdict.falls:
            self.served = True
        if self.served:
            return
        before = self._judge.budget.looks
        self._end = before + self._left
        try:
            self._add(pool, verdict)
        finally:
            self._left -= self._judge.budget.looks - before

    def _add(self, pool: Pool, verdict: Verdict) -> None:
        if verdict.shortages is None:
            verdict.shortages = list(self._shortages(pool, verdict))
        for shortage in verdict.shortages:
            if self._judge.budget.looks > self._end:
                self.undecided = True
                return
            best = self._best.setdefault((shortage.slot, shortage.place), Best())
            amounts = self._amounts(pool, shortage, best.amount)
            largest = 0
            for amount in amounts.values:
                if self._serves(pool, verdict, shortage, amount):
                    largest = amount
                    break
            self.undecided |= largest < amounts.whole_from
            if largest > best.amount:
                best.amount, best.hosts = largest, 0
            best.hosts += largest > 0

    def _shortages(self, pool: Pool, verdict: Verdict) -> Iterator[Shortage]:
        """Yield the amounts each of which alone may be in the way of a host."""
        if not verdict.masks or verdict.root_refused:
            return
        question = self._question
        for screen, masks in zip(question.distinct, verdict.masks, strict=True):
            if screen.soft & reduce(and_, masks[0]):
                return  # a trait that nobody has, with room or without
        unserved = {slot for slot, providers in enumerate(verdict.options) if not providers}
        for slot, screen in enumerate(question.screens):
            if not unserved <= {slot}:
                continue
            masks = verdict.masks[question.place[slot]]
            for place, (name, amount) in enumerate(question.joins.plan.slots[slot].resources):
                providers = screen.providers(masks, screen.units(place))
                if providers and amount > 1:
                    yield Shortage(slot, place, name, amount, providers)

    def _amounts(self, pool: Pool, shortage: Shortage, least: int) -> Amounts:
        """Return the amounts worth trying, none below `least`."""
        name, limit = shortage.resource_class, shortage.amount
        self._judge.budget.spend(2 * len(shortage.providers))
        # PERF: like devices are many.
        stocks = {pool.members[position].stocks[name] for position in shortage.providers}
        largest = max([_largest(stock, limit) for stock in stocks])
        if largest < max(least, 1):
            return Amounts(())
        if not self._question.joins.kinds:
            return Amounts((largest,))
        amounts = {_largest(stock, limit) for stock in stocks}
        if name in self._question.joins.plan.contended_classes:
            usages = self._usages_of_others(shortage)
            self._judge.budget.spend(LOOKS_PER_AMOUNT * len(usages) * len(stocks))
            for usage in usages:
                amounts |= {_largest(stock, limit, usage) for stock in stocks}
        tried = [amount for amount in amounts if amount >= max(least, 1)]
        return Amounts(sorted(tried, reverse=True))

    def _usages_of_others(self, shortage: Shortage) -> list[int]:
        """Return what some of the other slots may take of the class together."""
        key = shortage.slot, shortage.resource_class
        usages = self._usages.get(key)
        if usages is None:
            usages = self._usages[key] = self._sums_of_others(shortage)
        return usages

    def _sums_of_others(self, shortage: Shortage) -> list[int]:
        sums = {0}
        amounts = self._question.joins.plan.amounts_of(shortage.resource_class)
        for slot, amount in amounts.items():
            self._judge.budget.spend(len(sums))
            if slot != shortage.slot:
                sums |= {usage + amount for usage in sums}
            if len(sums) > MOST_SUMS:
                self.undecided = True
                return sorted(sums)[:MOST_SUMS]
        return sorted(sums)

    def _serves(self, pool: Pool, verdict: Verdict, shortage: Shortage, amount: int) -> bool:
        """Whether the host would be served with this amount; False where that is undecided."""
        if not self._question.joins.kinds:
            return True
        slot, name = shortage.slot, shortage.resource_class
        joins = self._joins(slot, name, amount)
        options = [*verdict.options]
        options[slot] = [
            position
            for position in shortage.providers
            if fits(pool.members[position].stocks[name], amount)
        ]
        # Hosts that are alike differ here in who fits, and in what the new amount joins.
        key = slot, shortage.place, amount, tuple(options[slot]), signatures(joins, pool)
        serves = verdict.answers.get(key)
        if serves is None:
            answer = self._judge.serves(joins.plan, joins.kinds, pool, options)
            self.undecided |= answer is None
            serves = bool(answer)
            if len(verdict.answers) < MOST_ANSWERS:
                verdict.answers[key] = serves
        return serves

    def _joins_with(self, slot: int, name: str, amount: int) -> Joins:
        """Return what joins the slots when one asks for another amount of a class."""
        self._judge.spend_on_plan()
        suffix = self._question.joins.plan.slots[slot].group.suffix
        return Joins.of(with_amount(self._question.request, suffix, name, amount))

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the largest amounts, those that serve most hosts first; none if some serve all."""
        if self.served:
            return []
        slots = self._question.joins.plan.slots
        reductions = []
        for (slot, place), best in self._best.items():
            if best.hosts:
                suffix, resource = slots[slot].group.suffix, slots[slot].resources[place]
                amount = Amount(*resource)
                term = StatedTerm(Refusal.CAPACITY, AMOUNT_KEYWORD, suffix, amount)
                reductions.append(Relaxed(term, best.hosts, best.amount))
        return sorted(reductions, key=lambda reduction: -reduction.hosts)


def _largest(stock: Stock, limit: int, usage: int = 0) -> int:
    """Return the most below the limit that fits beside what others use; 0 where nothing does."""
    room = min(stock.room - usage, limit - 1)
    amount = room - room % stock.step_size
    return amount if amount >= max(stock.min_unit, 1) else 0
