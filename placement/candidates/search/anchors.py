"""The search of single anchors.

Hosts of one hardware model often have equal values for everything that a search reads. Only the
first of these hosts is searched. The other hosts reuse its assignments or its refusal.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
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
    Tree,
)
from placement.candidates.plan import SearchPlan
from placement.candidates.requirements import Requirement
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.solver import Assignments, solutions
from placement.candidates.terms.amounts import AMOUNT_CODES, Shortages
from placement.candidates.trees.sharing import AnchorPools
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
        # Stocks of a member -> the amounts that they do not allow. PERF: no other properties of
        # stocks matter. None if a constraint reads them, or if names of hosts matter.
        self._shortages: Shortages | None = None
        reads_more = any(kind.reads_stocks for kind in self._kinds)
        if not (reads_more or plan.names_providers or plan.request.full_hosts):
            self._shortages = Shortages(chain(*[slot.resources for slot in plan.slots]))
        # Host key or shape of pools -> the result of the first of these pools. Pools have equal
        # shapes if they have the same assignments.
        self.known: dict[Hashable, FirstResult] = {}
        # Number of members and slots of the pools in `known`, and its maximum.
        self._size, self._max_size = 0, max_cached

    def start_each(
        self, trees: Iterable[Tree], pools: AnchorPools, outcomes: dict[int, Outcome]
    ) -> Iterator[Search]:
        """Yield the search of each tree, except for trees that are refused like an earlier one.

        Args:
            trees: the trees.
            pools: the pools of the trees.
            outcomes: root id -> outcome, to which the trees are added.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        key_of = self._key if self._shortages is not None and not pools.sharing else None
        for tree in trees:
            key = None if key_of is None else key_of(tree)
            result = self.known.get(key)
            # PERF: no pool is created for most of the refused trees.
            if result is None or result.assignments is not None:
                search = self.start(pools.pool(tree), key)
                outcomes[tree.id] = search.outcome
                yield search
            else:
                self._budget.spend(COST_PER_STEP + len(tree.members))
                outcomes[tree.id] = result.outcome
                self._refuse(tree, result)

    def _key(self, tree: Tree, reached: Hashable = frozenset()) -> Hashable:
        """Return a key of trees that reach these sharing providers and have equal results."""
        shortages, members = self._shortages, tree.members
        assert shortages is not None
        if len(members) == 1:  # PERF: most trees are small
            _uuid, _parent, stocks, traits, aggregates, _id = members[0]
            return traits, aggregates, shortages[stocks], reached
        own = [
            (each.parent, each.traits, each.aggregates, shortages[each.stocks]) for each in members
        ]
        return *own, reached

    def start(self, pool: Pool, key: Hashable = None) -> Search:
        """Search the pool for its first candidate. `key` is that of `_key`, if it is known.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if key is None and self._shortages is not None and pool.anchor is not None:
            key = self._key(pool.anchor, pool.reached)
        key = key or self._plan.host_key(pool)
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
        if result.assignments is None:
            self._refuse(pool.anchor, result)
            return Search(result.outcome)
        self.searched += 1
        self.served += 1
        first = Candidate(self._plan, pool, result.assignments.known[0])
        # PERF: most hosts have one candidate for a flavor.
        if result.assignments.end == 1:
            return Search(result.outcome, first)
        return Search(result.outcome, first, self._others(pool, result.assignments))

    def _refuse(self, anchor: Tree | None, result: FirstResult) -> None:
        """Count the refusal of a pool."""
        self.searched += not result.outcome.wrong_root
        self._trace.codes[result.refusal] += 1
        if anchor is not None:
            self._trace.refused[anchor.id] = anchor.revision

    def _others(self, pool: Pool, assignments: Assignments) -> OtherCandidates:
        """Yield the candidates of all assignments after the first one."""
        index = 1
        while (assignment := assignments.at(index)) is not None:
            index += 1
            yield Candidate(self._plan, pool, assignment), assignments.end == index
