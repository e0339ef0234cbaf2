"""Whether a host is served where several providers may serve an amount in parts.

Which parts there are depends on what exactly is left, so masks do not tell it. Each request that is
in question, the one asked and those that say less, is put to the search itself: first without
splits, then with them.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.constraints import CollectiveTraits, SplitCapacity
from placement.candidates.explanation.question import Joins, Question, Relaxation
from placement.candidates.explanation.reductions import Reductions
from placement.candidates.explanation.relaxed import with_amount, without_class, without_traits
from placement.candidates.explanation.verdicts import (
    Case,
    Fall,
    Judge,
    Profile,
    Verdict,
    signatures,
)
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.split_search import SplitSearches
from placement.candidates.trace import Refusal
from placement.objects.capacity import sizes

MOST_TRIED = 64  # amounts of one class on one host
MOST_VARIANTS = 256


class Variant:
    """A request that hosts may be put to: the one asked, or one that says less."""

    def __init__(self, request: CandidateRequest) -> None:
        self._whole = Joins.of(request)
        self._split = SearchPlan(request, splits=True)

    def serves(self, pool: Pool, judge: Judge) -> bool | None:
        """Whether there is a candidate, in parts or not; None where that takes too much work.

        Raises BudgetSpentError.
        """
        plan = self._whole.plan
        if pool.anchor is None or plan.root_refusal(pool.anchor) is not None:
            return False
        options: list[Sequence[int]] = [()] * len(plan.slots)
        for requirement in plan.requirements:
            providers = requirement.providers(pool)
            for slot in requirement.slots:
                options[slot] = providers
        judge.budget.spend(len(pool.members) * sum(each.looks for each in plan.requirements))
        whole = judge.serves(plan, self._whole.kinds, pool, options)
        if whole:
            return True
        split = self._serves_in_parts(pool, judge)
        return True if split else None if whole is None else split

    def _serves_in_parts(self, pool: Pool, judge: Judge) -> bool | None:
        if not self._split.splittable:
            return False
        budget = Budget(judge.share)
        try:
            return SplitSearches(self._split, budget).begin(pool).outcome.served
        except BudgetSpentError:
            return None
        finally:
            judge.budget.spend(budget.looks)

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return all that is read of a pool, besides what masks tell."""
        plan = self._split
        parts = [tuple(_parts(plan, slot, pool)) for slot in plan.splittable]
        return (
            *parts,
            *signatures(self._whole, pool),
            CollectiveTraits.signature(plan, pool),
            SplitCapacity.signature(plan, pool),
        )


def _parts(plan: SearchPlan, slot: int, pool: Pool) -> Iterator[tuple[int, range]]:
    """Yield who may serve parts of a slot, those with most room first, and how large these are."""
    ((name, amount),) = plan.slots[slot].resources
    members = pool.members

    def order(position: int) -> tuple[int, str]:
        stock = members[position].stocks[name]
        return stock.used - stock.capacity, members[position].uuid

    for position in sorted(
        (each for each in range(pool.local) if name in members[each].stocks), key=order
    ):
        yield position, sizes(members[position].stocks[name], amount)


class SplitJudge(Judge):
    """Decides hosts for a request with `can_split`."""

    def __init__(self, question: Question, budget: Budget, max_steps: int) -> None:
        super().__init__(question, budget, max_steps)
        self.variant = lru_cache(MOST_VARIANTS)(Variant)

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return all that is read of a pool besides masks."""
        return self.variant(self.question.request).signatures(pool)

    def case(self, pool: Pool, profile: Profile) -> Case:
        """Return the host as an example of those with its profile."""
        return _SplitCase(self, pool, profile)


class _SplitCase(Case):
    def __init__(self, judge: SplitJudge, pool: Pool, profile: Profile) -> None:
        super().__init__(judge, pool, profile)
        self._variant = judge.variant

    def _serves(self, request: CandidateRequest) -> bool | None:
        return self._variant(request).serves(self._pool, self._judge)

    def _possible(self) -> bool | None:
        # Where the root alone is refused, the rest is asked of the same request without it.
        request = self._question.request
        return self._serves(replace(request, root=type(request.root)()) if self._root else request)

    def _fall_together(self, possible: bool | None) -> Fall | None:
        """Return what the request must do without: first the last of what joins groups."""
        request = self._question.request
        alone = replace(request, same_subtree=(), isolate=frozenset())
        if possible or possible is None:
            return None if possible else Fall(Refusal.BUDGET, None)
        served = self._serves(alone)
        if served is None:
            return Fall(Refusal.BUDGET, None)
        if not served:
            return Fall(self._fall_of_parts(alone), None)
        served = self._serves(replace(request, same_subtree=()))
        if served is None:
            return Fall(Refusal.BUDGET, None)
        return Fall(Refusal.SAME_SUBTREE if served else Refusal.ISOLATE, None)

    def _fall_of_parts(self, request: CandidateRequest) -> Refusal:
        """Return whether traits are in the way, or the sums of the parts."""
        without = without_traits(request, UNSUFFIXED)
        if without != request and self._serves(without):
            return Refusal.COLLECTIVE_TRAITS
        return Refusal.CAPACITY_SUM

    def _gain(self, relaxation: Relaxation, possible: bool | None) -> bool | None:
        return self._serves(relaxation.request)


class SplitReductions(Reductions):
    """The largest amounts where some may be served in parts."""

    def __init__(self, question: Question, judge: SplitJudge) -> None:
        super().__init__(question, judge)
        self._variant = judge.variant
        self._split_classes = frozenset[str]().union(
            *(group.can_split for group in question.request.groups)
        )

    def _amounts(
        self, pool: Pool, slot: int, place: int, providers: Sequence[int], least: int
    ) -> Sequence[int]:
        plan = self._question.joins.plan
        name, asked = plan.slots[slot].resources[place]
        amounts = super()._amounts(pool, slot, place, providers, least)
        if name not in self._split_classes:
            return amounts
        stocks = [pool.members[position].stocks[name] for position in providers]
        rooms = [max(0, min(stock.room, asked - 1)) for stock in stocks]
        most = sum(rooms) if plan.slots[slot].group.suffix == UNSUFFIXED else max(rooms, default=0)
        tried = range(min(most, asked - 1), max(least, 1) - 1, -1)
        if tried and not self._may_help(pool, slot, name):
            return ()
        if len(tried) > MOST_TRIED:
            tried = tried[:MOST_TRIED]
            self.undecided = True
        return sorted({*amounts, *tried}, reverse=True)

    def _may_help(self, pool: Pool, slot: int, name: str) -> bool:
        """Whether the host would be served if the group did not ask for the class at all.

        If not, it is not served with any amount. Nor for traits, which those of the class may
        have brought.
        """
        group = self._question.joins.plan.slots[slot].group
        if len(group.resources) == 1:
            return True
        request = without_class(self._question.request, group.suffix, name)
        return self._variant(request).serves(pool, self._judge) is not False

    def _serves(
        self,
        pool: Pool,
        verdict: Verdict,
        slot: int,
        place: int,
        providers: Sequence[int],
        amount: int,
    ) -> bool:
        key = slot, place, amount
        serves = verdict.known.get(key)
        if serves is None:
            plan = self._question.joins.plan
            name, _asked = plan.slots[slot].resources[place]
            suffix = plan.slots[slot].group.suffix
            request = with_amount(self._question.request, suffix, name, amount)
            answer = self._variant(request).serves(pool, self._judge)
            self.undecided |= answer is None
            serves = verdict.known[key] = bool(answer)
        return serves


def judges(question: Question, budget: Budget, max_steps: int) -> tuple[Judge, Reductions]:
    """Return what decides the hosts of a request, and what finds smaller amounts."""
    if question.split:
        split_judge = SplitJudge(question, budget, max_steps)
        return split_judge, SplitReductions(question, split_judge)
    judge = Judge(question, budget, max_steps)
    return judge, Reductions(question, judge)
