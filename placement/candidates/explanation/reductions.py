"""How much less of a class some host could serve, where none serves the whole amount.

A host can give the largest amount that a provider's units allow within its room, less what other
groups take there. These are the amounts worth trying: between two of them nothing new fits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_

from placement.candidates.explanation.question import Joins, Question
from placement.candidates.explanation.relaxed import with_amount
from placement.candidates.explanation.terms import Term
from placement.candidates.explanation.value import Relaxed
from placement.candidates.explanation.verdicts import Judge, Verdict, signatures
from placement.candidates.model import Pool
from placement.candidates.trace import Refusal
from placement.objects.capacity import Stock, fits

MOST_PLANS = 256  # of smaller requests that are kept
MOST_KNOWN = 1000  # answers that are kept for hosts that are alike
MOST_SUMS = 4096  # of what other groups may take of the class


@dataclass(slots=True)
class Best:
    """The largest amount with which some host is served, and how many hosts that are."""

    amount: int = 0
    hosts: int = 0


class Reductions:
    """The largest amounts of each class of each group.

    served: some host is served as it is, so that nobody asks. undecided: some host took too long.
    """

    def __init__(self, question: Question, judge: Judge) -> None:
        self.served = False
        self.undecided = False
        self._question = question
        self._judge = judge
        self._best: dict[tuple[int, int], Best] = {}
        self._joins = lru_cache(MOST_PLANS)(self._joins_with)

    def add(self, pool: Pool, verdict: Verdict) -> None:
        """Look at a host.  Raises BudgetSpentError."""
        if verdict.fall is None:
            self.served = True
        if self.served:
            return
        if verdict.reducible is None:
            verdict.reducible = list(self._reducible(pool, verdict))
        for slot, place, providers in verdict.reducible:
            best = self._best.setdefault((slot, place), Best())
            for amount in self._amounts(pool, slot, place, providers, best.amount):
                if self._serves(pool, verdict, slot, place, providers, amount):
                    if amount > best.amount:
                        best.amount, best.hosts = amount, 0
                    best.hosts += 1
                    break

    def _reducible(self, pool: Pool, verdict: Verdict) -> Iterator[tuple[int, int, Sequence[int]]]:
        """Yield slots and classes that alone may be in the way, with the providers that might."""
        if not verdict.masks or verdict.root_refused:
            return
        question = self._question
        for screen, masks in zip(question.distinct, verdict.masks, strict=True):
            if screen.soft & reduce(and_, masks):
                return  # a trait that nobody has, with room or without
        unserved = {slot for slot, providers in enumerate(verdict.options) if not providers}
        for slot, screen in enumerate(question.screens):
            if not unserved <= {slot}:
                continue
            masks = verdict.masks[question.place[slot]]
            for place, (_name, amount) in enumerate(question.joins.plan.slots[slot].resources):
                if amount == 1:
                    continue
                providers = screen.providers(masks, len(pool.members), screen.units(place))
                if providers:
                    yield slot, place, providers

    def _amounts(
        self, pool: Pool, slot: int, place: int, providers: Sequence[int], least: int
    ) -> Sequence[int]:
        """Return the amounts worth trying, largest first, none below `least`."""
        plan = self._question.joins.plan
        name, asked = plan.slots[slot].resources[place]
        stocks = [pool.members[position].stocks[name] for position in providers]
        largest = max([_largest(stock, asked, 0) for stock in stocks])
        if largest < max(least, 1):
            return ()
        if not self._question.joins.kinds:
            return (largest,)
        amounts = {_largest(stock, asked, 0) for stock in stocks}
        if name in plan.contended_classes:
            for taken in self._taken_by_others(slot, name):
                amounts |= {_largest(stock, asked, taken) for stock in stocks}
        return sorted([amount for amount in amounts if amount >= max(least, 1)], reverse=True)

    def _taken_by_others(self, slot: int, name: str) -> list[int]:
        sums = {0}
        for other, amount in self._question.joins.plan.amounts_of(name).items():
            if other != slot:
                sums |= {each + amount for each in sums}
            if len(sums) > MOST_SUMS:
                self.undecided = True
                return sorted(sums)[:MOST_SUMS]
        return sorted(sums)

    def _serves(
        self,
        pool: Pool,
        verdict: Verdict,
        slot: int,
        place: int,
        providers: Sequence[int],
        amount: int,
    ) -> bool:
        if not self._question.joins.kinds:
            return True
        joins = self._joins(slot, place, amount)
        name, _asked = joins.plan.slots[slot].resources[place]
        able = [
            position for position in providers if fits(pool.members[position].stocks[name], amount)
        ]
        key = slot, place, amount, tuple(able), signatures(joins, pool)
        serves = verdict.known.get(key)
        if serves is None:
            options = [*verdict.options]
            options[slot] = able
            answer = self._judge.serves(joins.plan, joins.kinds, pool, options)
            self.undecided |= answer is None
            serves = bool(answer)
            if len(verdict.known) < MOST_KNOWN:
                verdict.known[key] = serves
        return serves

    def _joins_with(self, slot: int, place: int, amount: int) -> Joins:
        """Return what joins the slots when one asks for another amount."""
        plan = self._question.joins.plan
        name, _asked = plan.slots[slot].resources[place]
        suffix = plan.slots[slot].group.suffix
        return Joins.of(with_amount(self._question.request, suffix, name, amount))

    def relaxed(self) -> Sequence[Relaxed]:
        """Return the largest amounts, those that serve most hosts first; none if some serve all."""
        if self.served:
            return []
        slots = self._question.joins.plan.slots
        relaxed = []
        for (slot, place), best in self._best.items():
            if best.hosts:
                suffix, resource = slots[slot].group.suffix, slots[slot].resources[place]
                term = Term(Refusal.CAPACITY, "resources", suffix, resource)
                relaxed.append(Relaxed(term, best.hosts, best.amount))
        return sorted(relaxed, key=lambda each: -each.hosts)


def _largest(stock: Stock, asked: int, taken: int) -> int:
    """Return the most below `asked` that fits beside what is taken; 0 where nothing does."""
    room = min(stock.room - taken, asked - 1)
    amount = room - room % stock.step_size
    return amount if amount >= max(stock.min_unit, 1) else 0
