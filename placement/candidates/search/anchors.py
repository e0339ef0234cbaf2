"""The search of single anchors.

Hosts of one hardware model often have equal values for everything that a search reads. Only the
first of these hosts is searched. The other hosts reuse its assignments or its refusal.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from placement.candidates.constraints import kinds_of, shape
from placement.candidates.model import (
    SERVED,
    UNSERVED,
    WRONG_ROOT,
    Options,
    Outcome,
    Pool,
    Refusal,
    Trace,
)
from placement.candidates.plan import SearchPlan
from placement.candidates.requirements import Requirement
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.solver import Assignments, solutions
from placement.candidates.terms.amounts import AMOUNT_CODES
from placement.runtime.budget import COST_PER_PROVIDER, COST_PER_STEP, Budget

# Maximum total number of members and slots of the pools with cached results.
MAX_CACHED = 100_000

# Yields the candidates of a pool after the first one, each with a flag that is True if it is known
# to be the last.
OtherCandidates = Iterator[tuple[Candidate, bool]]


class Search:
    """The candidates of one pool. Except for the first one, they are searched on demand."""

    __slots__ = ("_others", "exhausted", "first", "outcome")

    def __init__(
        self,
        outcome: Outcome,
        first: Candidate | None = None,
        others: OtherCandidates | None = None,
    ) -> None:
        # The outcome for the statistics.
        self.outcome = outcome
        # The first candidate, or None if there is none.
        self.first = first
        # Whether it is known that `next` has no further candidates.
        self.exhausted = others is None
        self._others = others

    def next(self) -> Candidate | None:
        """Return the next candidate after the first one, or None.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if self._others is None or self.exhausted:
            return None
        candidate, self.exhausted = next(self._others, (None, True))
        return candidate


class FirstResult(NamedTuple):
    """The result of searching a pool for its first candidate. Equal pools share it."""

    # The outcome for the statistics.
    outcome: Outcome
    # The assignments, or None if there are none.
    assignments: Assignments | None = None
    # The failed condition, and the suffix of the group without a provider. The suffix is empty if
    # no single group fails.
    refusal: tuple[Refusal, str] = (Refusal.ELSEWHERE, "")


class AnchorSearches:
    """Starts the searches for one request, one anchor at a time."""

    def __init__(
        self, plan: SearchPlan, budget: Budget, trace: Trace, max_cached: int = MAX_CACHED
    ) -> None:
        # Number of pools searched.
        self.searched = 0
        # Number of pools with a candidate.
        self.served = 0
        self._plan = plan
        self._budget = budget
        self._trace = trace
        # The constraints that apply to the plan.
        self._kinds = kinds_of(plan)
        # Host key or shape of pools -> the result of the first of these pools. Pools have equal
        # shapes if they have the same assignments.
        self.known: dict[Hashable, FirstResult] = {}
        # Number of members and slots of the pools in `known`, and its maximum.
        self._size, self._max_size = 0, max_cached

    def start(self, pool: Pool) -> Search:
        """Search the pool for its first candidate.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        key = self._plan.host_key(pool)
        result = self.known.get(key)
        if result is None:
            result = self._keep(key, pool, self._first_result(pool))
        else:
            # The first assignment is a step, as in the first pool.
            charge = self._budget.spend if result.assignments is None else self._budget.step
            charge(cost=COST_PER_STEP + len(pool.members))
        return self._search(pool, result)

    def _keep(self, key: Hashable, pool: Pool, result: FirstResult) -> FirstResult:
        self._size += len(pool.members) + len(self._plan.slots)
        if self._size <= self._max_size:
            self.known[key] = result
        return result

    def _first_result(self, pool: Pool) -> FirstResult:
        if pool.anchor is not None:
            code = self._plan.root_refusal(pool.anchor)
            if code is not None:
                return FirstResult(WRONG_ROOT, refusal=(code, ""))

        # Find the providers that can each serve a slot alone.
        cost = COST_PER_STEP + COST_PER_PROVIDER * len(pool.members)
        options: list[Sequence[int]] = [()] * len(self._plan.slots)
        for requirement in self._plan.requirements:
            self._budget.spend(cost)
            providers = requirement.providers(pool)
            if not providers:
                return self._unmet(pool, requirement)
            for slot in requirement.slots:
                options[slot] = providers
        if pool.sharing and self._only_sharing_providers(pool, options):
            return FirstResult(UNSERVED)
        return self._solve_jointly(pool, options)

    def _unmet(self, pool: Pool, requirement: Requirement) -> FirstResult:
        code = requirement.refusal(pool)
        outcome = Outcome(unmet_slot=requirement.slots[0], with_capacity=code not in AMOUNT_CODES)
        return FirstResult(outcome, refusal=(code, requirement.group.suffix))

    def _only_sharing_providers(self, pool: Pool, options: Options) -> bool:
        """Return whether all options are sharing providers of other trees.

        Such candidates are found at the trees of the sharing providers, or once for all anchors.
        """
        if pool.anchor is None:
            return False
        local = len(pool.anchor.members)
        return min([providers[0] for providers in options]) >= local

    def _solve_jointly(self, pool: Pool, options: Options) -> FirstResult:
        """Search for the first assignment of all slots."""
        key = shape(self._kinds, self._plan, pool, options)
        known = self.known.get(key)
        if known is not None:
            self._budget.step()
            return known
        found = solutions(self._kinds, self._plan, pool, options, self._budget)
        assignments = Assignments(found, self._budget)
        if assignments.end == 0:
            outcome = Outcome(unmet_traits=self._plan.unmet_traits(pool), with_capacity=True)
            result = FirstResult(outcome, None, (assignments.refusal or Refusal.ELSEWHERE, ""))
        else:
            result = FirstResult(SERVED, assignments)
        return self._keep(key, pool, result)

    def _search(self, pool: Pool, result: FirstResult) -> Search:
        """Count the outcome of a pool and return its search."""
        outcome, assignments, refusal = result
        self.searched += not outcome.wrong_root
        if assignments is None:
            self._trace.codes[refusal] += 1
            if pool.anchor is not None:
                self._trace.refused[pool.anchor.id] = pool.anchor.revision
            return Search(outcome)
        self.served += 1
        first = Candidate(self._plan, pool, assignments.known[0])
        # PERF: most hosts have one candidate for a flavor.
        if assignments.end == 1:
            return Search(outcome, first)
        return Search(outcome, first, self._others(pool, assignments))

    def _others(self, pool: Pool, assignments: Assignments) -> OtherCandidates:
        """Yield the candidates of all assignments after the first one."""
        index = 1
        while (assignment := assignments.at(index)) is not None:
            index += 1
            yield Candidate(self._plan, pool, assignment), assignments.end == index
