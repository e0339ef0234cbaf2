"""The search of single anchors.

Hosts of one hardware model often have equal values for everything that a search reads. Only the
first of these hosts is searched. The other hosts reuse its assignments or its refusal.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from placement.candidates.budget import COST_PER_PROVIDER, COST_PER_STEP, Budget
from placement.candidates.constraints import Constraint, Kinds, build_constraints, kinds_of
from placement.candidates.model import Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.requirements import Requirement
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.solver import Assignments, Solutions, assignments
from placement.candidates.stats import SERVED, UNSERVED, WRONG_ROOT, Outcome
from placement.candidates.terms.amounts import AMOUNT_CODES
from placement.candidates.trace import Refusal, Trace

# Maximum total number of members and slots of the pools with cached results, and maximum number of
# members of one such pool.
MAX_CACHED = 100_000
MAX_CACHED_MEMBERS = 1000

# Stop deduplicating once unique pools exceed 64 + 3 × duplicates.
MAX_UNIQUE_POOLS = 64
MIN_DUPLICATE_RATIO = 3

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

    def __init__(self, plan: SearchPlan, budget: Budget, trace: Trace) -> None:
        # Number of pools searched.
        self.searched = 0
        # Number of pools with a candidate.
        self.served = 0
        # Number of pools that equal an earlier pool, except for names.
        self.duplicates = 0
        self._plan = plan
        self._budget = budget
        self._trace = trace
        # The constraints that apply to the plan.
        self._kinds = kinds_of(plan)
        # Key of pools that are equal except for names -> the result of the first of these pools.
        self._by_dedup_key: dict[Hashable, FirstResult] = {}
        # Duplicates have different names. If the request names providers, they cannot share
        # results.
        self._deduplicates = not plan.names_providers
        # UUIDs of the roots of hosts from which no candidate may use providers.
        self._full_hosts = plan.request.full_hosts
        self._unique_pools = 0  # pools without a duplicate
        # Shape of pools with equal assignments -> the result of the first one.
        self._by_shape: dict[Hashable, FirstResult] = {}
        self._remembered = 0  # members and slots of the cached pools

    def start(self, pool: Pool) -> Search:
        """Search the pool for its first candidate.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if not self._deduplicates or len(pool.members) > MAX_CACHED_MEMBERS:
            return self._search(pool, self._first_result(pool))
        key = dedup_key(pool)
        if self._full_hosts:
            key = key, pool.root in self._full_hosts
        result = self._by_dedup_key.get(key)
        if result is not None:
            # Reuse the result of the equal pool. Charge its first assignment as a step, as for the
            # first assignment of a pool with a cached shape.
            self.duplicates += 1
            cost = COST_PER_STEP + len(pool.members)
            if result.assignments is None:
                self._budget.spend(cost)
            else:
                self._budget.step(cost=cost)
            return self._search(pool, result)
        result = self._first_result(pool)
        self._unique_pools += 1
        self._deduplicates = (
            self._unique_pools <= MAX_UNIQUE_POOLS + MIN_DUPLICATE_RATIO * self.duplicates
        )
        if self._has_room(pool):
            self._by_dedup_key[key] = result
        return self._search(pool, result)

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
        shape: Hashable = None
        if len(pool.members) <= MAX_CACHED_MEMBERS:
            shape = shape_of(self._kinds, self._plan, pool, options)
        alike = self._by_shape.get(shape)
        if alike is not None:
            # Reuse the result of an earlier pool of this shape.
            self._budget.step()
            return alike
        refuse = self._trace.refuse_placement
        found = solutions(self._kinds, self._plan, pool, options, self._budget, refuse)
        assignments = Assignments(found, self._budget)
        if assignments.end == 0:
            outcome = Outcome(unmet_traits=self._plan.unmet_traits(pool))
            result = FirstResult(outcome, None, (assignments.refusal or Refusal.ELSEWHERE, ""))
        else:
            result = FirstResult(SERVED, assignments)
        if shape is not None and self._has_room(pool):
            self._by_shape[shape] = result
        return result

    def _unmet(self, pool: Pool, requirement: Requirement) -> FirstResult:
        code = requirement.refusal(pool)
        outcome = Outcome(unmet_slot=requirement.slots[0], with_capacity=code not in AMOUNT_CODES)
        return FirstResult(outcome, refusal=(code, requirement.group.suffix))

    def _search(self, pool: Pool, result: FirstResult) -> Search:
        """Count the outcome of a pool and return its search."""
        outcome, assignments, refusal = result
        self.searched += not outcome.wrong_root
        if assignments is None:
            self._trace.refuse_tree(*refusal)
            if pool.anchor is not None:
                self._trace.refused[pool.anchor.id] = pool.anchor.revision
            return Search(outcome)
        self.served += 1
        first = Candidate(self._plan, pool, assignments.first)
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

    def _has_room(self, pool: Pool) -> bool:
        """Add the size of a pool to the total, and return whether the result may be cached."""
        self._remembered += len(pool.members) + len(self._plan.slots)
        return self._remembered <= MAX_CACHED

    @property
    def shapes(self) -> int:
        """Number of cached shapes."""
        return len(self._by_shape)


def dedup_key(pool: Pool) -> Hashable:
    """Return a key of all data of a pool, except for the names of its own members."""
    return None if pool.anchor is None else pool.anchor.profile, pool.reached


def shape_of(kinds: Kinds, plan: SearchPlan, pool: Pool, options: Options) -> Hashable:
    """Return a key that is equal for pools with the same assignments.

    The key consists of all data that the constraints read from a pool: their signatures of its own
    members, and the identity of its sharing providers.
    """
    by_requirement = [tuple(options[each.slots[0]]) for each in plan.requirements]
    signatures = [kind.signature(plan, pool) for kind in kinds]
    return tuple(by_requirement), *signatures, (pool.local, pool.reached) if pool.reached else None


def solutions(
    kinds: Kinds,
    plan: SearchPlan,
    pool: Pool,
    options: Options,
    budget: Budget,
    refuse: Callable[[Refusal], None],
) -> Solutions:
    """Build the constraints of these kinds, and yield the assignments that satisfy them."""
    constraints: Sequence[Constraint] = ()
    if kinds:
        constraints, options = build_constraints(kinds, plan, pool, options, budget.spend)
    return (yield from assignments(options, constraints, budget, refuse))
