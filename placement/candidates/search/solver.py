"""The backtracking search for assignments of a pool's providers to the slots of a request.

The search assigns a provider to one slot after the other, and backtracks as soon as a constraint
refuses. Each candidate costs only a few steps for each slot, because the search does not build a
product and filter it.
"""

from collections.abc import Generator, Sequence

from placement.candidates.constraints import Constraint, Kinds, Undo, build_constraints
from placement.candidates.model import Assignment, Options, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.runtime.budget import Budget

# Yields assignments, each with a flag that is True if no other assignment follows. Returns the last
# refusal.
Solutions = Generator[tuple[Assignment, bool], None, Refusal | None]


def solutions(
    kinds: Kinds, plan: SearchPlan, pool: Pool, options: Options, budget: Budget
) -> Solutions:
    """Build the constraints of these kinds, and yield the assignments that satisfy them."""
    constraints: Sequence[Constraint] = ()
    if kinds:
        constraints, options = build_constraints(kinds, plan, pool, options, budget.spend)
    return (yield from assignments(options, constraints, budget))


def assignments(options: Options, constraints: Sequence[Constraint], budget: Budget) -> Solutions:
    """Yield each assignment that all constraints accept, and whether it is known to be the last.

    Slots without options are left out. Their providers are -1 in each assignment.

    An assignment is known to be the last one if no option is left to try. Otherwise, the search may
    still end without another assignment.

    Returns:
        The code of the latest refusal, or None.

    Raises:
        BudgetSpentError: the search reached a limit.
    """
    for constraint in constraints:
        if not constraint.feasible():
            return constraint.code
    choices = _choices(options, constraints)
    providers = [-1] * len(options)  # by slot
    if not choices:
        yield tuple(providers), True
        return None
    deepest = len(choices) - 1
    refusal: Refusal | None = None
    depth = 0
    while depth >= 0:
        choice = choices[depth]
        if not choice.advance(budget):
            # No provider is left for this slot. Change the placement of an earlier slot.
            refusal = choice.refusal or refusal
            depth -= 1
            continue
        providers[choice.slot] = choice.provider
        if depth < deepest:
            depth += 1
            continue
        last = all(choice.at_end for choice in choices)
        yield tuple(providers), last
        if last:
            break
    return refusal


def _choices(options: Options, constraints: Sequence[Constraint]) -> "list[_Choice]":
    """Return the choices of all slots, with their constraints, in the order of the search."""
    by_slot: list[list[Constraint]] = [[] for _slot in options]
    for constraint in constraints:
        for slot in constraint.slots:
            by_slot[slot].append(constraint)
    order = _search_order(options, constraints)
    return [_Choice(slot, options[slot], by_slot[slot]) for slot in order if options[slot]]


class _Choice:
    """One slot of the search, with the providers that the search tries in turn."""

    __slots__ = ("_constraints", "_options", "_tried", "_undo", "provider", "refusal", "slot")

    def __init__(
        self, slot: int, options: Sequence[int], constraints: Sequence[Constraint]
    ) -> None:
        # Number of the slot.
        self.slot = slot
        # The provider that serves the slot, or -1 if no provider has been placed yet.
        self.provider = -1
        self.refusal: Refusal | None = None  # the latest refusal
        self._options = options
        self._constraints = constraints
        self._tried = 0  # number of options tried
        self._undo: list[Undo] = []  # callbacks that undo the current placement

    @property
    def at_end(self) -> bool:
        """Whether no placement follows the current placement."""
        return self._tried == len(self._options)

    def advance(self, budget: Budget) -> bool:
        """Replace the current placement with the next placement that the constraints accept.

        Returns:
            Whether there is such a placement. If not, the slot starts again from its first option.
        """
        self._take_back()
        while self._tried < len(self._options):
            provider = self._options[self._tried]
            self._tried += 1
            budget.step(len(self._constraints))
            code = self._place(provider)
            if code is None:
                self.provider = provider
                return True
            self.refusal = code
        self._tried = 0
        return False

    def _place(self, provider: int) -> Refusal | None:
        """Place the provider, or return the code of the constraint that refuses it."""
        for constraint in self._constraints:
            undo = constraint.add(self.slot, provider)
            if undo is None:
                self._take_back()
                return constraint.code
            self._undo.append(undo)
        return None

    def _take_back(self) -> None:
        while self._undo:
            self._undo.pop()()


def _search_order(options: Options, constraints: Sequence[Constraint]) -> list[int]:
    """Return the slots in the order of the search. The most likely dead ends come first.

    Slots with a single option come first, followed by slots of constraints that decide early.
    Within each of these sets, slots with fewer options come first.
    """
    early: set[int] = set()
    for constraint in constraints:
        if constraint.decides_early:
            early |= constraint.slots
    return sorted(
        range(len(options)),
        key=lambda slot: (len(options[slot]) > 1, slot not in early, len(options[slot])),
    )


class Assignments:
    """The assignments of all pools with the same shape, which are searched on demand and cached.

    A pool refers to an assignment by its index, and reuses the assignments that other pools have
    found.
    """

    def __init__(self, solutions: Solutions, budget: Budget) -> None:
        """Search for the first assignment.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        # Number of assignments, or None if it is not known yet.
        self.end: int | None = None
        # The latest refusal of the complete search.
        self.refusal: Refusal | None = None
        # The assignments found so far.
        self.known: list[Assignment] = []
        self._solutions = solutions
        self._budget = budget
        self._search()

    def at(self, index: int) -> Assignment | None:
        """Return the assignment with an index above 0, or None if there are fewer.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if index < len(self.known):
            # Charge a cached assignment as one step.
            self._budget.step()
        elif index == len(self.known) and self.end is None:
            self._search()
        return self.known[index] if index < len(self.known) else None

    def _search(self) -> None:
        try:
            assignment, last = next(self._solutions)
        except StopIteration as end:
            self.refusal, last = end.value, True
        else:
            self.known.append(assignment)
        if last:
            self.end = len(self.known)
            self._solutions.close()  # release the state of the search
