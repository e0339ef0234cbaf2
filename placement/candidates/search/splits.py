"""The search for candidates in which several providers serve an amount of the unsuffixed group.

A response contains all candidates without a split before the first candidate with a split.
Therefore, this search runs after the search without splits, visits all anchors again, and yields
only candidates with a split.

The solver assigns providers to all slots that may not be split. The providers of the other slots
follow from each of these assignments: a single provider, if any has enough, or else one split.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import product
from math import prod
from operator import or_

from placement.candidates.constraints import Cards, CollectiveTraits, Exclusive, Kinds
from placement.candidates.constraints.collective_traits import bits_met
from placement.candidates.model import (
    SERVED,
    UNSERVED,
    WRONG_ROOT,
    Assignment,
    Options,
    Outcome,
    Pool,
    Trace,
)
from placement.candidates.plan import SearchPlan
from placement.candidates.request import Slot
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate, SplitLayout
from placement.candidates.search.solver import solutions
from placement.inventory import Stock, fits, largest
from placement.runtime.budget import COST_PER_RESULT, COST_PER_STEP, Budget

# (position, units) of each provider of an amount: of one provider, or of several with their parts.
Serving = tuple[tuple[int, int], ...]

# An assignment of the other slots, the servings of the splittable slots, and whether it is known to
# be the last one.
SplitSolution = tuple[Assignment, Sequence[Serving], bool]

# Returns whether providers, as (slot, provider), may serve all slots together.
Check = Callable[[Iterable[tuple[int, int]]], bool]


def split_amount(amount: int, stocks: Iterable[tuple[int, Stock]]) -> Serving | None:
    """Return the split of an amount, or None if the parts do not reach it.

    Args:
        amount: units.
        stocks: (position, stock) of the providers in their order. Each of them serves the largest
            part that its units and the missing units allow.
    """
    parts: list[tuple[int, int]] = []
    for position, stock in stocks:
        part = largest(stock, amount)
        if part:
            parts.append((position, part))
            amount -= part
        if not amount:
            return tuple(parts)
    return None


class _Servings:
    """The servings of the splittable slots of a pool."""

    def __init__(self, plan: SearchPlan, pool: Pool, options: Options) -> None:
        # The plan of the request.
        self._plan = plan
        # The providers.
        self._pool = pool
        # Slot -> providers that can serve it or, of a splittable slot, a part of it.
        self._options = options
        # Splittable slot -> its servings, or None if other slots request its class as well.
        self._known: dict[int, Sequence[Serving] | None] = {}
        for slot in plan.splittable:
            is_alone = len(plan.amounts_of(plan.class_of(slot))) == 1
            self._known[slot] = self._find(slot, ()) if is_alone else None

    def may_exist(self, *, split: bool) -> bool:
        """Return whether all slots may be served, and any of them split if `split` is true."""
        for slot, servings in self._known.items():
            if servings is None:
                name = self._plan.class_of(slot)
                rooms = [max(0, stock.room) for stock in self._pool.stocks(name) if stock]
                if sum(rooms) < self._plan.combined_amounts[name]:
                    return False
            elif not servings:
                return False
        known = self._known.values()
        return not split or any(servings is None or _has_split(servings) for servings in known)

    def after(self, assignment: Assignment) -> list[Sequence[Serving]]:
        """Return the servings of each slot, for an assignment of the other slots."""
        return [
            self._find(slot, assignment) if servings is None else servings
            for slot, servings in self._known.items()
        ]

    def _find(self, slot: int, assignment: Assignment) -> Sequence[Serving]:
        """Return the servings of a slot by single providers or, without any, its only split."""
        ((name, amount),) = self._plan.slots[slot].resources
        taken: Counter[int] = Counter()
        for other, units in self._plan.amounts_of(name).items():
            if other != slot:
                taken[assignment[other]] += units
        members = self._pool.members
        stocks: list[tuple[int, Stock]] = []
        for position in self._options[slot]:
            stock = members[position].stocks[name]
            if units := taken[position]:
                stock = stock._replace(used=stock.used + units, max_unit=stock.max_unit - units)
            stocks.append((position, stock))
        whole = [((position, amount),) for position, stock in stocks if fits(stock, amount)]
        if whole:
            return whole
        own = [each for each in stocks if each[0] < self._pool.local]
        own.sort(key=lambda each: (each[1].used - each[1].capacity, members[each[0]].uuid))
        split = split_amount(amount, own)
        return [split] if split else []


def _has_split(servings: Sequence[Serving]) -> bool:
    return len(servings[0]) > 1


def _serving(
    plan: SearchPlan, assignment: Assignment, chosen: Sequence[Serving]
) -> Iterator[tuple[int, int]]:
    """Yield (slot, provider) for each provider that serves a slot, or a part of it."""
    for slot, provider in enumerate(assignment):
        if slot not in plan.splittable:
            yield slot, provider
    for slot, parts in zip(plan.splittable, chosen, strict=True):
        for provider, _units in parts:
            yield slot, provider


def _check_of_traits(plan: SearchPlan, pool: Pool) -> Check:
    """Return the check of the collective traits."""
    trait_sets = plan.collective_traits
    unsuffixed = frozenset(plan.unsuffixed_slots)
    # PERF: providers occur in many solutions, so each one is compared with the trait sets once.
    bits = cache(lambda position: bits_met(trait_sets, pool.members[position]))

    def check(serving: Iterable[tuple[int, int]]) -> bool:
        met = reduce(or_, [bits(each) for slot, each in serving if slot in unsuffixed], 0)
        return met.bit_count() == len(trait_sets)

    return check


def split_solutions(
    kinds: Kinds,
    plan: SearchPlan,
    pool: Pool,
    options: Options,
    budget: Budget,
    *,
    also_whole: bool = False,
) -> Iterator[SplitSolution]:
    """Yield the solutions in which at least one class is split.

    Args:
        kinds: the classes of the constraints. Those that depend on the providers of all parts are
            checked at the end, because they do not influence which provider serves a part.
        plan: plan of the request.
        pool: the anchor and the sharing providers that it reaches.
        options: slot -> providers that can serve it or, of a splittable slot, a part of it.
        budget: limit on the work.
        also_whole: whether to yield solutions without a split as well.

    Raises:
        BudgetSpentError: the search reached a limit.
    """
    cost = 2 * COST_PER_STEP * sum(len(options[slot]) for slot in plan.splittable)
    budget.spend(COST_PER_RESULT + cost)
    checks: list[Check] = []
    if CollectiveTraits in kinds:
        checks.append(_check_of_traits(plan, pool))
    if Exclusive in kinds and (cards := Cards(plan, pool)):
        checks.append(cards.allow_serving)
        options = cards.usable(options)
        if not all(options):
            return
    servings = _Servings(plan, pool, options)
    if not servings.may_exist(split=not also_whole):
        return
    others = [() if slot in plan.splittable else each for slot, each in enumerate(options)]
    before = [kind for kind in kinds if kind is not CollectiveTraits]
    for assignment, last in solutions(before, plan, pool, others, budget):
        budget.spend(cost)
        choices = servings.after(assignment)
        if not all(choices) or not (also_whole or any(map(_has_split, choices))):
            continue
        total = prod(map(len, choices))
        for number, chosen in enumerate(product(*choices), 1):
            budget.step(cost=COST_PER_RESULT + COST_PER_STEP * sum(map(len, chosen)))
            if all(check(_serving(plan, assignment, chosen)) for check in checks):
                yield assignment, chosen, last and number == total


def is_served(kinds: Kinds, plan: SearchPlan, pool: Pool, options: Options, budget: Budget) -> bool:
    """Return whether the slots can be served, with or without a split.

    The arguments are those of `split_solutions`.

    Raises:
        BudgetSpentError: the search reached a limit.
    """
    all_solutions: Iterator[object] = (
        split_solutions(kinds, plan, pool, options, budget, also_whole=True)
        if plan.splittable
        else solutions(kinds, plan, pool, options, budget)
    )
    return any(True for _ in all_solutions)


def split_signature(plan: SearchPlan, pool: Pool) -> Hashable:
    """Return everything that splits read from an anchor's own members, except for traits."""
    names = [plan.class_of(slot) for slot in plan.splittable]
    if not names:
        return None
    own = enumerate(pool.members[: pool.local])
    able = [each for each in own if not each[1].stocks.keys().isdisjoint(names)]
    able.sort(key=lambda each: each[1].uuid)
    return tuple([(position, *map(member.stocks.get, names)) for position, member in able])


class SplitSearches(AnchorSearches):
    """Starts the searches for candidates of one request that have at least one split."""

    def __init__(self, plan: SearchPlan, budget: Budget) -> None:
        super().__init__(plan, budget, Trace())
        self._shortages = None  # a split depends on the free capacity
        # Units of the parts -> layout of the candidates with these parts.
        self._layouts: dict[Sequence[Sequence[int]], SplitLayout] = {}

    def start(self, pool: Pool, key: Hashable = None) -> Search:
        """Search the pool for its first candidate.

        Raises:
            BudgetSpentError: the search reached a limit.
        """
        if pool.anchor is None or self._plan.root_refusal(pool.anchor) is not None:
            return Search(WRONG_ROOT)
        self.searched += 1
        options = self._plan.options(pool, self._budget.spend, in_parts=True)
        if not all(options):
            unmet = next(slot for slot, providers in enumerate(options) if not providers)
            return Search(Outcome(unmet_slot=unmet))
        candidates = (
            (self._candidate(pool, assignment, chosen), last)
            for assignment, chosen, last in split_solutions(
                self._kinds, self._plan, pool, options, self._budget
            )
        )
        first, last = next(candidates, (None, True))
        self.served += first is not None
        return Search(SERVED if first else UNSERVED, first, None if last else candidates)

    def _candidate(
        self, pool: Pool, assignment: Assignment, chosen: Sequence[Serving]
    ) -> Candidate:
        """Return a candidate, with a separate slot for each part."""
        parts = dict(zip(self._plan.splittable, chosen, strict=True))
        slots: list[Slot] = []
        positions: list[int] = []
        for number, slot in enumerate(self._plan.slots):
            name = slot.resources[0][0] if number in parts else ""
            for position, units in parts.get(number, ((assignment[number], 0),)):
                slots.append(Slot(slot.group, ((name, units),)) if units else slot)
                positions.append(position)
        key = tuple([tuple([units for _position, units in serving]) for serving in chosen])
        layout = self._layouts.setdefault(key, SplitLayout(slots))
        return Candidate(layout, pool, tuple(positions))
