"""All ways to serve the slots of a request from one pool of providers.

A backtracking search: it assigns providers to slots one after the other and steps back as soon as
a constraint refuses. Nothing is built as a product and filtered, so the first candidate of a pool
costs a few steps for each slot, and so does each one after it.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_

from placement.candidates.budget import Budget
from placement.candidates.constraints import Constraint, Undo
from placement.candidates.model import Assignment, Options
from placement.candidates.trace import Refusal

# Assignments, and whether each is known to be the last; returns why there are no more.
Solutions = Generator[tuple[Assignment, bool], None, Refusal | None]

# The splits, by their numbers, that bring certain bits. What these mean is the constraints' matter.
Offer = Callable[[int], Iterator[int]]


def assignments(
    options: Options,
    constraints: Sequence[Constraint],
    budget: Budget,
    refuse: Callable[[Refusal], None],
    offers: Mapping[int, Offer] | None = None,
) -> Solutions:
    """Yield every assignment that all constraints accept, and whether it is the last one.

    "Last" is said when no option is left to try; a search that does not say so may still end
    without another assignment. refuse: is told the code of each placement that is refused.
    offers: slot -> splits that may serve it, besides its options. They are numbers below 0.
    Returns the code of the latest of these. Raises BudgetSpentError.
    """
    for constraint in constraints:
        if not constraint.feasible():
            refuse(constraint.code)
            return constraint.code
    choices = _choices(options, constraints, offers or {})
    providers = [-1] * len(choices)  # by slot
    deepest = len(choices) - 1
    refusal: Refusal | None = None
    depth = 0
    while depth >= 0:
        choice = choices[depth]
        if not choice.advance(budget, refuse):
            # No provider is left for this slot beside those placed before it: change them.
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


def _choices(
    options: Options, constraints: Sequence[Constraint], offers: Mapping[int, Offer]
) -> "list[_Choice]":
    """Return the choice of each slot, in the order of search, with the constraints that see it."""
    by_slot: list[list[Constraint]] = [[] for _slot in options]
    for constraint in constraints:
        for slot in constraint.slots:
            by_slot[slot].append(constraint)
    order = _search_order(options, constraints)
    # A split is a choice of many providers: the others choose beside it, and look ahead.
    splittable = [slot for slot in order if slot in offers]
    choices: list[_Choice] = [
        _SplitChoice(slot, options[slot], by_slot[slot], offers[slot]) for slot in splittable
    ]
    choices += [_Choice(slot, options[slot], by_slot[slot]) for slot in order if slot not in offers]
    return choices


class _Choice:
    """One slot's place in the search: the providers that may serve it, tried in turn."""

    __slots__ = ("_constraints", "_options", "_tried", "_undo", "provider", "refusal", "slot")

    def __init__(
        self, slot: int, options: Sequence[int], constraints: Sequence[Constraint]
    ) -> None:
        self.slot = slot
        self.provider = -1
        self.refusal: Refusal | None = None  # the latest one
        self._options = options
        self._constraints = constraints
        self._tried = 0  # how many of the options
        self._undo: list[Undo] = []  # what takes the present placement back

    @property
    def at_end(self) -> bool:
        """Whether the present placement is the last one to try."""
        return self._tried == len(self._options)

    def advance(self, budget: Budget, refuse: Callable[[Refusal], None]) -> bool:
        """Place the next provider that the constraints accept, instead of the present one.

        False when there is none; then the slot is open, and begins anew.
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
            refuse(code)
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


class _SplitChoice(_Choice):
    """The place of a slot that one provider may serve, or several in parts."""

    __slots__ = ("_offer", "_splits")

    def __init__(
        self,
        slot: int,
        options: Sequence[int],
        constraints: Sequence[Constraint],
        offer: Offer,
    ) -> None:
        super().__init__(slot, options, constraints)
        self._offer = offer
        self._splits: Iterator[int] | None = None

    @property
    def at_end(self) -> bool:
        """Whether the present placement is the last one to try: nobody knows."""
        return False

    def advance(self, budget: Budget, refuse: Callable[[Refusal], None]) -> bool:
        """Place the next provider, and after all of these the next split."""
        if self._splits is None:
            if super().advance(budget, refuse):
                return True
            needs = [constraint.needs(self.slot) for constraint in self._constraints]
            self._splits = self._offer(reduce(or_, needs, 0))
        self._take_back()
        for split in self._splits:
            budget.step(len(self._constraints))
            code = self._place(split)
            if code is None:
                self.provider = split
                return True
            self.refusal = code
            refuse(code)
        self._splits = None
        return False


def _search_order(options: Options, constraints: Sequence[Constraint]) -> list[int]:
    """Return the slots in the order of search: the likeliest dead ends first.

    Slots without a choice come first. Then those of constraints that look at the providers'
    places, and among them those with the fewest options. A slot that nothing joins to others can
    never be a dead end, so it comes last.
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
    """The assignments of all pools of one shape, searched as far as some pool asks for them.

    They are kept: a candidate is a place in the list, and what one pool has found is no work for
    another. end: how many there are, None while nobody knows. refusal: why there are no more.
    """

    def __init__(self, solutions: Solutions, budget: Budget) -> None:
        """Search for the first one.  Raises BudgetSpentError."""
        self.end: int | None = None
        self.refusal: Refusal | None = None
        self._known: list[Assignment] = []
        self._solutions = solutions
        self._budget = budget
        self._search()

    def after(self, place: int) -> Assignment | None:
        """Return the one after so many others, or None where there is none.

        place: how many the pool has been told, none of them left out. Raises BudgetSpentError.
        """
        if 0 < place < len(self._known):
            # To tell what is known is a step. A pool has paid for the first when it was begun.
            self._budget.step()
        elif place == len(self._known) and self.end is None:
            self._search()
        return self._known[place] if place < len(self._known) else None

    def _search(self) -> None:
        try:
            assignment, last = next(self._solutions)
        except StopIteration as end:
            self.refusal, last = end.value, True
        else:
            self._known.append(assignment)
        if last:
            self.end = len(self._known)
            self._solutions.close()  # with all that it has built
