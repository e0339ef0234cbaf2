"""The first of all candidates of one host, in an order that depends only on names.

Candidates are compared by their sorted provider UUIDs, and then by the sorted (provider, class,
amount) triples of their allocations. A host may have too many candidates to list all of them.
Therefore, the UUIDs are determined one after the other: the solver searches for a candidate that
begins with the known UUIDs and the next one.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Self

from placement.candidates.budget import COST_PER_STEP, Budget, Charge
from placement.candidates.constraints import (
    CONSTRAINTS,
    CollectiveTraits,
    Constraint,
    Undo,
    build_constraints,
)
from placement.candidates.model import Assignment, OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import SubtreeRule
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.solver import assignments
from placement.candidates.trace import Refusal

# The sort key of a candidate.
CandidateKey = tuple[Sequence[str], Sequence[tuple[str, str, int]]]


def candidate_key(candidate: Candidate) -> CandidateKey:
    """Return the sort key of a candidate among the candidates of its host."""
    amounts = [
        (uuid, name, amount)
        for uuid, by_class in candidate.allocations.items()
        for name, amount in by_class.items()
    ]
    return sorted(set(candidate.providers)), sorted(amounts)


class _Ascending(Constraint):
    """Interchangeable slots use providers in ascending order."""

    code = Refusal.ELSEWHERE

    def __init__(self, slots: Iterable[int], ranks: Mapping[int, int]) -> None:
        """ranks: position in the pool -> number in the order of UUIDs."""
        self.slots = frozenset(slots)
        self._ranks = ranks
        # Placed slot -> rank of its provider.
        self._placed: dict[int, int] = {}

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return whether slots are interchangeable."""
        return bool(_interchangeable(plan))

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Create one constraint for each set of interchangeable slots."""
        ranks = _ranks(pool)
        return [cls(slots, ranks) for slots in _interchangeable(plan)]

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider if it is in order with the providers of the other slots."""
        rank = self._ranks[provider]
        for other, other_rank in self._placed.items():
            if (other < slot and other_rank > rank) or (other > slot and other_rank < rank):
                return None
        self._placed[slot] = rank

        def undo() -> None:
            del self._placed[slot]

        return undo


class _UsesEach(CollectiveTraits):
    """For each of several sets of providers, at least one provider in the set serves a slot."""

    code = Refusal.ELSEWHERE
    decides_early = False

    def _within_reach(self) -> bool:
        used = 0
        for placed in self._placed_bits:
            used |= placed
        # A provider may count both for its own set and for the last set.
        missing = (self._needed & ~used).bit_count()
        return missing <= len(self._open) + 1 and super()._within_reach()


def _ranks(pool: Pool) -> Mapping[int, int]:
    """Return position -> number in the order of UUIDs."""
    positions = sorted(range(len(pool.members)), key=lambda each: pool.members[each].uuid)
    return {position: rank for rank, position in enumerate(positions)}


def _interchangeable(plan: SearchPlan) -> list[list[int]]:
    """Return the sets of slots that can be exchanged in every assignment."""
    alike: dict[Hashable, list[int]] = {}
    for number, requirement in enumerate(plan.requirements):
        for slot in requirement.slots:
            suffix = plan.slots[slot].group.suffix
            rules = [_role(rule, suffix) for rule in plan.request.same_subtree]
            key = number, slot in plan.isolated_slots, tuple(rules)
            alike.setdefault(key, []).append(slot)
    return [sorted(slots) for slots in alike.values() if len(slots) > 1]


def _role(rule: SubtreeRule, suffix: str) -> tuple[bool, bool]:
    return suffix in rule.inside, suffix in rule.outside


class LeastCandidate:
    """Finds the first candidate of one pool."""

    def __init__(self, plan: SearchPlan, pool: Pool, budget: Budget) -> None:
        self._plan = plan
        self._pool = pool
        self._budget = budget
        kinds: tuple[type[Constraint], ...] = (*CONSTRAINTS, _Ascending)
        # The constraints that apply to the plan.
        self._kinds = [kind for kind in kinds if kind.applies(plan)]
        budget.spend(COST_PER_STEP * len(pool.members))
        # Position in the pool -> number in the order of UUIDs.
        self._rank = _ranks(pool)
        # Slot -> positions of the providers that can serve it, in the order of UUIDs.
        self._options: list[list[int]] = [[] for _slot in plan.slots]
        for requirement in plan.requirements:
            budget.spend(COST_PER_STEP + len(pool.members) * requirement.cost)
            providers = sorted(requirement.providers(pool), key=self._rank.__getitem__)
            for slot in requirement.slots:
                self._options[slot] = providers

    def find(
        self, among: Collection[int] | None = None, one_of: Collection[int] | None = None
    ) -> Candidate | None:
        """Return the first candidate, or None if there is none.

        Args:
            among: positions of the providers that may serve, or None for all.
            one_of: positions of providers, at least one of which must serve. None allows any.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        options = self._options
        if among is not None:
            options = [[each for each in providers if each in among] for providers in options]
        best = next(self._solve(options, (), one_of), None)
        if best is None:
            return None
        providers = self._first_providers(options, best, one_of)
        only = [[each for each in slot if each in providers] for slot in options]
        candidates = [
            Candidate(self._plan, self._pool, assignment)
            for assignment in self._solve(only, providers, one_of)
        ]
        return min(candidates, key=candidate_key)

    def _first_providers(
        self, options: Sequence[Sequence[int]], best: Assignment, one_of: Collection[int] | None
    ) -> list[int]:
        """Return the providers of the first candidate, in the order of their UUIDs.

        Args:
            options: slot -> providers.
            best: any assignment.
            one_of: see `find`.
        """
        rank = self._rank.__getitem__
        in_order = sorted({each for providers in options for each in providers}, key=rank)
        chosen: list[int] = []
        while True:
            used = sorted(set(best), key=rank)
            if len(used) == len(chosen):
                return chosen
            if chosen:
                only = [[each for each in slot if each in chosen] for slot in options]
                if next(self._solve(only, chosen, one_of), None) is not None:
                    return chosen
            # Use the next provider of the best assignment, unless another assignment has an earlier
            # one.
            after = rank(chosen[-1]) if chosen else -1
            following = used[len(chosen)]
            for provider in in_order:
                if after < rank(provider) < rank(following):
                    found = self._continue(options, chosen, provider, one_of)
                    if found is not None:
                        best, following = found, provider
                        break
            chosen.append(following)

    def _continue(
        self,
        options: Sequence[Sequence[int]],
        chosen: Sequence[int],
        provider: int,
        one_of: Collection[int] | None,
    ) -> Assignment | None:
        """Return an assignment of the chosen providers, this provider and later ones, or None."""
        rank = self._rank.__getitem__
        allowed = [
            [each for each in slot if each in chosen or rank(each) >= rank(provider)]
            for slot in options
        ]
        return next(self._solve(allowed, [*chosen, provider], one_of), None)

    def _solve(
        self,
        options: Sequence[Sequence[int]],
        each_of: Sequence[int],
        one_of: Collection[int] | None,
    ) -> Iterator[Assignment]:
        """Yield the assignments that use each of some providers, and at least one of the others."""
        if not all(options):
            return
        self._budget.step(cost=sum(map(len, options)))
        constraints, narrowed = build_constraints(
            self._kinds, self._plan, self._pool, options, self._budget.spend
        )
        if each_of or one_of is not None:
            constraints.append(_uses(narrowed, each_of, one_of, self._budget.spend))
        solutions = assignments(narrowed, constraints, self._budget, lambda _code: None)
        for assignment, _last in solutions:
            yield assignment


def _uses(
    options: Sequence[Sequence[int]],
    each_of: Sequence[int],
    one_of: Collection[int] | None,
    spend: Charge,
) -> _UsesEach:
    bits = {provider: 1 << number for number, provider in enumerate(each_of)}
    needed = (1 << len(each_of)) - 1
    last = 0
    if one_of is not None:
        last = 1 << len(each_of)
    covers = {
        slot: {
            provider: bits.get(provider, 0) | (last if one_of and provider in one_of else 0)
            for provider in providers
        }
        for slot, providers in enumerate(options)
    }
    spend(sum(map(len, options)))
    return _UsesEach(covers, needed | last, spend)
