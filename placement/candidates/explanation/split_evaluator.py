"""Evaluate hosts for requests with `can_split`, where several providers may serve an amount.

The possible parts depend on the exact free capacity, so masks do not determine the result. Instead,
the evaluator runs the search itself for the request and its relaxations, first without splits and
then with splits.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from placement.candidates.budget import Budget
from placement.candidates.constraints import CollectiveTraits, SplitCapacity
from placement.candidates.explanation.causes import Rejection, RejectionCause, SpecialCase
from placement.candidates.explanation.evaluation import Evaluation, HostClass, Shortage
from placement.candidates.explanation.explain_request import COST_PER_TERM, ExplainRequest, Joins
from placement.candidates.explanation.host_evaluation import HostEvaluation
from placement.candidates.explanation.host_evaluator import (
    COST_PER_JOINED_SLOT,
    HostEvaluator,
    signatures,
)
from placement.candidates.explanation.reductions import Amounts, Reductions
from placement.candidates.explanation.relaxed import with_amount, without_class, without_traits
from placement.candidates.model import Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import UNSUFFIXED, CandidateRequest
from placement.candidates.search.split_search import SplitSearches, by_room
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.inventory import sizes

# Maximum number of amounts of one class that are tried on one host.
MAX_AMOUNTS = 64
# Cached plans of the request and its relaxations.
MAX_VARIANTS = 256

# Work of starting a search for splits.
COST_PER_SPLIT_SEARCH = 300


class Variant:
    """The request or one of its relaxations, planned without and with splits."""

    def __init__(self, request: CandidateRequest) -> None:
        # The plan for candidates without splits.
        self._whole = Joins.from_request(request)
        # The plan for candidates with splits.
        self._split = SearchPlan(request, splits=True)

    def serves(self, pool: Pool, evaluator: HostEvaluator) -> bool | None:
        """Return whether a host has a candidate, without or with splits.

        Args:
            pool: The providers of the host.
            evaluator: Provides the limit on work.

        Returns:
            None if the host takes more than its share of the work.

        Raises:
            BudgetSpentError: The limit on all work was reached.
        """
        plan = self._whole.plan
        if pool.anchor is None or plan.root_refusal(pool.anchor) is not None:
            return False
        options: list[Sequence[int]] = [()] * len(plan.slots)
        for requirement in plan.requirements:
            providers = requirement.providers(pool)
            evaluator.budget.spend(len(pool.members) * requirement.cost)
            for slot in requirement.slots:
                options[slot] = providers
        without_split = evaluator.serves(plan, self._whole.kinds, pool, options)
        if without_split:
            return True
        with_split = self._serves_in_parts(pool, evaluator)
        if without_split is None and not with_split:
            return None
        return with_split

    def _serves_in_parts(self, pool: Pool, evaluator: HostEvaluator) -> bool | None:
        if not self._split.splittable:
            return False
        evaluator.budget.spend(COST_PER_SPLIT_SEARCH)
        return evaluator.within_share(
            lambda budget: SplitSearches(self._split, budget).start(pool).outcome.served
        )

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return everything that the search reads from a pool, except for the masks."""
        plan = self._split
        parts = [tuple(_parts(plan, slot, pool)) for slot in plan.splittable]
        return (
            *parts,
            *signatures(self._whole, pool),
            CollectiveTraits.signature(plan, pool),
            SplitCapacity.signature(plan, pool),
        )


def _parts(plan: SearchPlan, slot: int, pool: Pool) -> Iterator[tuple[int, range]]:
    """Yield (position, possible sizes) of providers that can serve parts.

    Most capacity comes first.
    """
    ((name, amount),) = plan.slots[slot].resources
    members = pool.members
    providers = [position for position in range(pool.local) if name in members[position].stocks]
    for position in by_room(pool, name, providers):
        yield position, sizes(members[position].stocks[name], amount)


class SplitEvaluator(HostEvaluator):
    """Evaluates hosts for a request with `can_split`."""

    def __init__(self, explain_request: ExplainRequest, budget: Budget, max_steps: int) -> None:
        super().__init__(explain_request, budget, max_steps)
        # Plans the request without one of its terms, and caches the plans.
        self._variant_of = lru_cache(MAX_VARIANTS)(self._make)

    def variant(self, request: CandidateRequest) -> Variant:
        """Return the plans of the request or of a relaxation.

        Raises:
            BudgetSpentError: The limit on work was reached.
        """
        self.budget.spend(self.explain_request.parts)
        return self._variant_of(request)

    def _make(self, request: CandidateRequest) -> Variant:
        # A plan without splits, and a plan with splits.
        self.spend_on_plan()
        self.spend_on_plan()
        return Variant(request)

    def signatures(self, pool: Pool) -> tuple[Hashable, ...]:
        """Return everything that the evaluation reads from a pool, except for the masks."""
        return self.variant(self.explain_request.request).signatures(pool)

    def host_evaluation(self, pool: Pool, host_class: HostClass) -> HostEvaluation:
        """Return the evaluation of a host, to be started with `evaluate`."""
        return _SplitHostEvaluation(self, pool, host_class)


class _SplitHostEvaluation(HostEvaluation):
    def __init__(self, evaluator: SplitEvaluator, pool: Pool, host_class: HostClass) -> None:
        super().__init__(evaluator, pool, host_class)
        # The plans of the request with all its terms.
        self._variant = evaluator.variant

    def _serves(self, request: CandidateRequest) -> bool | None:
        self._evaluator.budget.spend(
            2 * COST_PER_JOINED_SLOT * len(self._explain_request.requirements)
        )
        return self._variant(request).serves(self._pool, self._evaluator)

    def _possible(self) -> bool | None:
        request = self._explain_request.request
        if self._root:
            # The root is rejected in any case. Evaluate the other conditions separately.
            request = replace(request, root=())
        return self._serves(request)

    def _reject_together(self) -> Rejection:
        """Return the rejection at the last condition whose removal makes the host serve."""
        # Remove rules in the reverse order of their codes until the host is served.
        request = self._explain_request.request
        apart = replace(request, same_subtree=())
        free = replace(apart, isolate=frozenset())
        served_free = self._serves(free)
        if served_free is False:
            code = self._code_of_parts(free)
            if code is Refusal.CAPACITY_SUM:
                return self._reject_sums()
            return Rejection(code, None)
        served_apart = self._serves(apart) if served_free else None
        if served_apart is None:
            return Rejection(Refusal.BUDGET, None)
        return Rejection(Refusal.SAME_SUBTREE if served_apart else Refusal.ISOLATE, None)

    def _reject_sums(self) -> Rejection:
        """Return the rejection by amounts that do not fit, even in parts."""
        plan = self._explain_request.joins.plan
        split = {name for group in plan.request.groups for name in group.can_split}
        names = split.union(plan.contended_classes)
        sums = [Amount(*sum_) for sum_ in plan.combined_amounts.items() if sum_[0] in names]
        slots = {slot for name in names for slot in plan.amounts_of(name)}
        servers = sorted({each for slot in slots for each in self._options[slot]})
        cause = RejectionCause(amounts=tuple(sums), case=SpecialCase.PARTS)
        return Rejection(Refusal.CAPACITY_SUM, None, cause, at_code=servers)

    def _code_of_parts(self, request: CandidateRequest) -> Refusal:
        """Return the code of the cause: collective traits, or the sums of the parts."""
        without = without_traits(request, UNSUFFIXED)
        if without != request and self._serves(without):
            return Refusal.COLLECTIVE_TRAITS
        return Refusal.CAPACITY_SUM

    def _gain(self, index: int, possible: bool | None) -> bool | None:
        relaxation = self._explain_request.relaxations[index]
        if not self._group_rejections.misses_only(relaxation.term):
            return False
        self._evaluator.budget.spend(COST_PER_TERM * self._explain_request.parts)
        return self._serves(relaxation.without())


class SplitReductions(Reductions):
    """Find the largest amounts if some of them may be served in parts."""

    def __init__(self, explain_request: ExplainRequest, evaluator: SplitEvaluator) -> None:
        super().__init__(explain_request, evaluator)
        # The plans of the request with all its terms.
        self._variant = evaluator.variant
        # The classes that several providers may serve in parts.
        self._split_classes = frozenset[str]().union(
            *(group.can_split for group in explain_request.request.groups)
        )

    def _amounts(self, pool: Pool, shortage: Shortage, least: int) -> Amounts:
        amounts = super()._amounts(pool, shortage, least)
        name, limit = shortage.resource_class, shortage.amount
        if name not in self._split_classes:
            return amounts
        # Parts of the unsuffixed group add up, so the largest amount may be any number.
        stocks = [pool.members[position].stocks[name] for position in shortage.providers]
        rooms = [max(0, min(stock.room, limit - 1)) for stock in stocks]
        suffix = self._explain_request.joins.plan.slots[shortage.slot].group.suffix
        most = sum(rooms) if suffix == UNSUFFIXED else max(rooms, default=0)
        numbers = range(min(most, limit - 1), max(least, 1) - 1, -1)
        if numbers and not self._may_help(pool, shortage.slot, name):
            return Amounts(())
        whole_from = 0
        if len(numbers) > MAX_AMOUNTS:
            numbers = numbers[:MAX_AMOUNTS]
            whole_from = numbers[-1]
        return Amounts(sorted({*amounts.values, *numbers}, reverse=True), whole_from)

    def _may_help(self, pool: Pool, slot: int, name: str) -> bool:
        """Return whether the host would be served if the group did not request the class.

        If not, a smaller amount does not help. The collective traits of the group are omitted as
        well, because the providers of the class may contribute some of them.
        """
        group = self._explain_request.joins.plan.slots[slot].group
        if len(group.resources) == 1:
            return True
        request = without_class(self._explain_request.request, group.suffix, name)
        return self._variant(request).serves(pool, self._evaluator) is not False

    def _serves(self, pool: Pool, evaluation: Evaluation, shortage: Shortage, amount: int) -> bool:
        key = shortage.slot, shortage.resource_index, amount
        serves = evaluation.answers.get(key)
        if serves is None:
            suffix = self._explain_request.joins.plan.slots[shortage.slot].group.suffix
            request = with_amount(
                self._explain_request.request, suffix, shortage.resource_class, amount
            )
            answer = self._variant(request).serves(pool, self._evaluator)
            self.undecided |= answer is None
            serves = evaluation.answers[key] = bool(answer)
        return serves


def make_evaluators(
    explain_request: ExplainRequest, budget: Budget, max_steps: int
) -> tuple[HostEvaluator, Reductions]:
    """Return the evaluator of hosts for a request, and the finder of smaller amounts."""
    if explain_request.split:
        split_evaluator = SplitEvaluator(explain_request, budget, max_steps)
        return split_evaluator, SplitReductions(explain_request, split_evaluator)
    evaluator = HostEvaluator(explain_request, budget, max_steps)
    return evaluator, Reductions(explain_request, evaluator)
