"""Whether a host is served where several providers may serve an amount in parts.

Which parts there are depends on what exactly is left, so masks do not tell it. Each request that is
in question, the one asked and those that say less, is put to the search itself: first without
splits, then with them.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from falcon_placement_client.inventory import sizes
from placement.candidates.budget import Budget
from placement.candidates.constraints import CollectiveTraits, SplitCapacity
from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.profiles import Fall, FallCause, Profile, Shortage, Verdict
from placement.candidates.explanation.question import LOOKS_PER_TERM, Joins, Question
from placement.candidates.explanation.reductions import Amounts, Reductions
from placement.candidates.explanation.relaxed import with_amount, without_class, without_traits
from placement.candidates.explanation.verdicts import (
    LOOKS_PER_SLOT,
    Case,
    Judge,
    signatures,
)
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.search.split_search import SplitSearches, by_room
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

MOST_AMOUNTS = 64  # tried, amounts of one class on one host
MOST_VARIANTS = 256

# What it takes to begin a search for splits.
LOOKS_PER_SPLIT_SEARCH = 300


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
            judge.budget.spend(len(pool.members) * requirement.looks)
            for slot in requirement.slots:
                options[slot] = providers
        without_split = judge.serves(plan, self._whole.kinds, pool, options)
        if without_split:
            return True
        with_split = self._serves_in_parts(pool, judge)
        if without_split is None and not with_split:
            return None
        return with_split

    def _serves_in_parts(self, pool: Pool, judge: Judge) -> bool | None:
        if not self._split.splittable:
            return False
        judge.budget.spend(LOOKS_PER_SPLIT_SEARCH)
        return judge.within_share(
            lambda budget: SplitSearches(self._split, budget).begin(pool).outcome.served
        )

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
    givers = [position for position in range(pool.local) if name in members[position].stocks]
    for position in by_room(pool, name, givers):
        yield position, sizes(members[position].stocks[name], amount)


class SplitJudge(Judge):
    """Decides hosts for a request with `can_split`."""

    def __init__(self, question: Question, budget: Budget, max_steps: int) -> None:
        super().__init__(question, budget, max_steps)
        self._variant_of = lru_cache(MOST_VARIANTS)(self._make)

    def variant(self, request: CandidateRequest) -> Variant:
        """Return a request as hosts are put to it.  Raises BudgetSpentError."""
        self.budget.spend(self.question.parts)
        return self._variant_of(request)

    def _make(self, request: CandidateRequest) -> Variant:
        # A plan without splits and one with them.
        self.spend_on_plan()
        self.spend_on_plan()
        return Variant(request)

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
        self._judge.budget.spend(2 * LOOKS_PER_SLOT * len(self._question.screens))
        return self._variant(request).serves(self._pool, self._judge)

    def _possible(self) -> bool | None:
        request = self._question.request
        if self._root:
            # The root is to blame already. What else is, the request says that asks nothing of it.
            request = replace(request, root=())
        return self._serves(request)

    def _fall_together(self) -> Fall:
        """Return what the request must do without: first the last of what joins groups."""
        # Rules are given up, the last one first, until the host is served.
        request = self._question.request
        apart = replace(request, same_subtree=())
        free = replace(apart, isolate=frozenset())
        served_free = self._serves(free)
        if served_free is False:
            code = self._fall_of_parts(free)
            if code is Refusal.CAPACITY_SUM:
                return self._fall_of_sums()
            return Fall(code, None)
        served_apart = self._serves(apart) if served_free else None
        if served_apart is None:
            return Fall(Refusal.BUDGET, None)
        return Fall(Refusal.SAME_SUBTREE if served_apart else Refusal.ISOLATE, None)

    def _fall_of_sums(self) -> Fall:
        """Return that amounts do not fit in parts: of which classes, and who has some of it."""
        plan = self._question.joins.plan
        split = {name for group in plan.request.groups for name in group.can_split}
        names = split.union(plan.contended_classes)
        sums = [Amount(*sum_) for sum_ in plan.combined_amounts.items() if sum_[0] in names]
        slots = {slot for name in names for slot in plan.amounts_of(name)}
        servers = sorted({each for slot in slots for each in self._options[slot]})
        cause = FallCause(amounts=tuple(sums), manner=Manner.PARTS)
        return Fall(Refusal.CAPACITY_SUM, None, cause, at_code=servers)

    def _fall_of_parts(self, request: CandidateRequest) -> Refusal:
        """Return whether traits are in the way, or the sums of the parts."""
        without = without_traits(request, UNSUFFIXED)
        if without != request and self._serves(without):
            return Refusal.COLLECTIVE_TRAITS
        return Refusal.CAPACITY_SUM

    def _gain(self, place: int, possible: bool | None) -> bool | None:
        relaxation = self._question.relaxations[place]
        if not self._may_miss(relaxation.term):
            return False
        self._judge.budget.spend(LOOKS_PER_TERM * self._question.parts)
        return self._serves(relaxation.without())


class SplitReductions(Reductions):
    """The largest amounts where some may be served in parts."""

    def __init__(self, question: Question, judge: SplitJudge) -> None:
        super().__init__(question, judge)
        self._variant = judge.variant
        self._split_classes = frozenset[str]().union(
            *(group.can_split for group in question.request.groups)
        )

    def _amounts(self, pool: Pool, shortage: Shortage, least: int) -> Amounts:
        amounts = super()._amounts(pool, shortage, least)
        name, limit = shortage.resource_class, shortage.amount
        if name not in self._split_classes:
            return amounts
        # The unsuffixed group may add up what is left anywhere, so each number may be the one.
        stocks = [pool.members[position].stocks[name] for position in shortage.providers]
        rooms = [max(0, min(stock.room, limit - 1)) for stock in stocks]
        suffix = self._question.joins.plan.slots[shortage.slot].group.suffix
        most = sum(rooms) if suffix == UNSUFFIXED else max(rooms, default=0)
        numbers = range(min(most, limit - 1), max(least, 1) - 1, -1)
        if numbers and not self._may_help(pool, shortage.slot, name):
            return Amounts(())
        whole_from = 0
        if len(numbers) > MOST_AMOUNTS:
            numbers = numbers[:MOST_AMOUNTS]
            whole_from = numbers[-1]
        return Amounts(sorted({*amounts.values, *numbers}, reverse=True), whole_from)

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

    def _serves(self, pool: Pool, verdict: Verdict, shortage: Shortage, amount: int) -> bool:
        key = shortage.slot, shortage.place, amount
        serves = verdict.answers.get(key)
        if serves is None:
            suffix = self._question.joins.plan.slots[shortage.slot].group.suffix
            request = with_amount(self._question.request, suffix, shortage.resource_class, amount)
            answer = self._variant(request).serves(pool, self._judge)
            self.undecided |= answer is None
            serves = verdict.answers[key] = bool(answer)
        return serves


def judges(question: Question, budget: Budget, max_steps: int) -> tuple[Judge, Reductions]:
    """Return what decides the hosts of a request, and what finds smaller amounts."""
    if question.split:
        split_judge = SplitJudge(question, budget, max_steps)
        return split_judge, SplitReductions(question, split_judge)
    judge = Judge(question, budget, max_steps)
    return judge, Reductions(question, judge)
