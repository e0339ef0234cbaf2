"""The search of one anchor after the other.

Hosts of one model are alike in all that a search looks at. Of those, one is searched, and the
others have its assignments, or its refusal.
"""

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from typing import NamedTuple

from placement.candidates.budget import LOOKS_PER_STEP, Budget
from placement.candidates.constraints import CONSTRAINTS, Constraint, build_constraints
from placement.candidates.model import Assignment, Options, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.requirements import Requirement
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.solver import Assignments, Solutions, assignments
from placement.candidates.stats import SERVED, UNSERVED, WRONG_ROOT, Outcome
from placement.candidates.trace import WITHOUT_CAPACITY, Refusal, Trace

# Bounds on what is remembered of shapes: members and slots of all, members of one.
MOST_REMEMBERED = 100_000
MOST_SHAPES_MEMBERS = 1000

# Where hosts are used in so many ways, or one in so few has a twin, twins are not looked for.
MOST_SINGLES = 64
TWINS_PAY = 3

# Spells out what an assignment says.
Spell = Callable[[SearchPlan, Pool, Assignment], Candidate]


class Search:
    """The candidates of one pool: the first is known, the others are searched when asked for.

    outcome: what came of the pool. exhausted: it is known that no further candidate comes.
    """

    __slots__ = ("_assignments", "_place", "_plan", "_pool", "_spell", "exhausted", "outcome")

    def __init__(
        self,
        outcome: Outcome,
        plan: SearchPlan,
        pool: Pool,
        assignments: Assignments | None = None,
        spell: Spell = Candidate,
    ) -> None:
        """assignments: of pools like this one, with at least one; None: there is none."""
        self.outcome = outcome
        self.exhausted = assignments is None
        self._plan = plan
        self._pool = pool
        self._assignments = assignments
        self._place = 0  # of the next one
        self._spell = spell

    def next(self) -> Candidate | None:
        """Return the next candidate, or None.  Raises BudgetSpentError."""
        if self._assignments is None or self.exhausted:
            return None
        assignment = self._assignments.after(self._place)
        self._place += 1
        self.exhausted = assignment is None or self._assignments.end == self._place
        return None if assignment is None else self._spell(self._plan, self._pool, assignment)


class Beginning(NamedTuple):
    """What came of a pool: the assignments of all that are like it, or why there are none.

    refusal: the condition, and the suffix of the group that no provider serves, if it is one.
    """

    outcome: Outcome
    assignments: Assignments | None = None
    refusal: tuple[Refusal, str] = (Refusal.ELSEWHERE, "")


class AnchorSearches:
    """Begins the searches of one request, one anchor at a time.

    searched and served count the pools looked at, and those that have a candidate. twins: those of
    which another one was known that is the same but for its names.
    """

    def __init__(self, plan: SearchPlan, budget: Budget, trace: Trace) -> None:
        self.searched = 0
        self.served = 0
        self.twins = 0
        self._plan = plan
        self._budget = budget
        self._trace = trace
        self._kinds = [kind for kind in CONSTRAINTS if kind.applies(plan)]
        self._by_features: dict[Hashable, Beginning] = {}
        # Some requests know providers by name, and in some clouds no two hosts are used alike.
        self._seeks_twins = not plan.names_providers
        self._singles = 0  # pools that had no twin
        self._by_shape: dict[Hashable, Beginning] = {}
        self._remembered = 0  # members and slots of the twins and shapes remembered

    def begin(self, pool: Pool) -> Search:
        """Search the pool as far as its first candidate.  Raises BudgetSpentError."""
        if not self._seeks_twins or len(pool.members) > MOST_SHAPES_MEMBERS:
            return self._search(pool, self._beginning(pool))
        features = _features(pool)
        beginning = self._by_features.get(features)
        if beginning is not None:
            # What is known of one is known of the other. Its first assignment is a step, as it is
            # where a pool of that shape is known.
            self.twins += 1
            looks = LOOKS_PER_STEP + len(pool.members)
            if beginning.assignments is None:
                self._budget.spend(looks)
            else:
                self._budget.step(looks=looks)
            return self._search(pool, beginning)
        beginning = self._beginning(pool)
        self._singles += 1
        self._seeks_twins = self._singles <= MOST_SINGLES + TWINS_PAY * self.twins
        if self._has_room(pool):
            self._by_features[features] = beginning
        return self._search(pool, beginning)

    def _beginning(self, pool: Pool) -> Beginning:
        if pool.anchor is not None:
            code = self._plan.root_refusal(pool.anchor)
            if code is not None:
                return Beginning(WRONG_ROOT, refusal=(code, ""))

        # Who could serve each slot alone.
        size = len(pool.members)
        self._budget.spend(2 * LOOKS_PER_STEP + size * len(self._plan.contended_classes))
        options: list[Sequence[int]] = [()] * len(self._plan.slots)
        for requirement in self._plan.requirements:
            self._budget.spend(LOOKS_PER_STEP + size * requirement.looks)
            providers = requirement.providers(pool)
            if not providers:
                return self._unmet(pool, requirement)
            for slot in requirement.slots:
                options[slot] = providers
        if pool.sharing and self._all_from_elsewhere(pool, options):
            return Beginning(UNSERVED)
        return self._together(
            pool, self._shape(pool, options), partial(self._solutions, pool, options)
        )

    def _all_from_elsewhere(self, pool: Pool, options: Options) -> bool:
        """Whether sharing providers would serve by themselves.

        Such candidates are found at the sharing providers' own trees, or once for all anchors.
        """
        if pool.anchor is None:
            return False
        local = len(pool.anchor.members)
        return min([providers[0] for providers in options]) >= local

    def _together(
        self, pool: Pool, shape: Hashable | None, solutions: Callable[[], Solutions]
    ) -> Beginning:
        """Search for who can serve the slots together; `solutions` begins that."""
        alike = self._by_shape.get(shape)
        if alike is not None:
            # A pool of this shape was searched: what is known of it is known of this one.
            self._budget.step()
            return alike
        assignments = Assignments(solutions(), self._budget)
        if assignments.end == 0:
            outcome = Outcome(unmet_traits=self._plan.unmet_traits(pool))
            beginning = Beginning(outcome, None, (assignments.refusal or Refusal.ELSEWHERE, ""))
        else:
            beginning = Beginning(SERVED, assignments)
        if shape is not None and self._has_room(pool):
            self._by_shape[shape] = beginning
        return beginning

    def _unmet(self, pool: Pool, requirement: Requirement) -> Beginning:
        code = requirement.refusal(pool)
        outcome = Outcome(
            unmet_slot=requirement.slots[0], with_capacity=code not in WITHOUT_CAPACITY
        )
        return Beginning(outcome, refusal=(code, requirement.suffix))

    def _search(self, pool: Pool, beginning: Beginning, spell: Spell = Candidate) -> Search:
        """Count what came of a pool, and return its search."""
        outcome, assignments, refusal = beginning
        self.searched += not outcome.wrong_root
        if assignments is None:
            self._trace.refuse_tree(pool.root, *refusal)
        else:
            self.served += 1
        return Search(outcome, self._plan, pool, assignments, spell)

    def _shape(self, pool: Pool, options: Options) -> Hashable | None:
        """Return what is equal for pools with the same assignments; None where it cannot be told.

        That is all that the constraints read of a pool: of its own members they say what it is,
        and sharing providers are equal where they are the same.
        """
        if len(pool.members) > MOST_SHAPES_MEMBERS:
            return None
        shape = (
            tuple(
                [tuple(options[requirement.slots[0]]) for requirement in self._plan.requirements]
            ),
            *[kind.signature(self._plan, pool) for kind in self._kinds],
        )
        return (pool.local, pool.reached, shape) if pool.reached else shape

    def _has_room(self, pool: Pool) -> bool:
        """Whether there is room to remember something of the size of a pool; count it."""
        self._remembered += len(pool.members) + len(self._plan.slots)
        return self._remembered <= MOST_REMEMBERED

    @property
    def shapes(self) -> int:
        """How many shapes are remembered."""
        return len(self._by_shape)

    def _solutions(self, pool: Pool, options: Options) -> Solutions:
        """Yield the assignments of the pool, whose refused placements go to the trace."""

        def refuse(code: Refusal) -> None:
            self._trace.refuse_placement(pool.root, code)

        return solutions(self._kinds, self._plan, pool, options, self._budget, refuse)


def _features(pool: Pool) -> Hashable:
    """Return all of a pool but its names; `reached` says which sharing providers there are."""
    own = () if pool.anchor is None else pool.anchor.members
    members = [
        (parent, stocks, traits, aggregates)
        for _uuid, parent, stocks, traits, aggregates, _id in own
    ]
    return (*members, pool.reached) if pool.reached else tuple(members)


def solutions(
    kinds: Collection[type[Constraint]],
    plan: SearchPlan,
    pool: Pool,
    options: Options,
    budget: Budget,
    refuse: Callable[[Refusal], None],
) -> Solutions:
    """Yield the assignments, as `assignments` does, under constraints of these kinds."""
    constraints: Sequence[Constraint] = ()
    if kinds:
        constraints, options = build_constraints(kinds, plan, pool, options, budget.spend)
    return (yield from assignments(options, constraints, budget, refuse))
