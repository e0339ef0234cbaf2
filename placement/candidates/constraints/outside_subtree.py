"""Negated groups of `same_subtree`: their providers are outside the subtree of the others.

The *top* is the provider above all that serve the groups inside. Which one that is, is known for
certain when all of these are placed. Until then a placement is refused only when no provider that
can still be the top leaves the negated groups a place outside.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Self

from placement.candidates.budget import Spend, free
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.forest import Forest, pool_parents
from placement.candidates.constraints.same_subtree import LOOKS_PER_RULE
from placement.candidates.model import OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal

# What it takes to see whether a provider can be the top, besides what is placed.
LOOKS_PER_TOP = 6


class OutsideSubtree(Constraint):
    """No provider of a slot outside is in the subtree of the top of those inside.

    inside, outside: slot -> providers that may serve it; equal ones are best one object.
    """

    code = Refusal.SAME_SUBTREE

    def __init__(
        self,
        inside: Mapping[int, OptionList],
        outside: Mapping[int, OptionList],
        forest: Forest,
        spend: Spend = free,
    ) -> None:
        # `SameSubtree` has the slots inside searched early, so that the top is known soon.
        self.slots = frozenset(inside) | frozenset(outside)
        self._forest = forest
        self._spend = spend
        self._options = inside
        # Options of slots inside -> how many of these are not placed, and the same as a set.
        self._open = Counter(inside.values())
        self._servers = {providers: frozenset(providers) for providers in self._open}
        self._tops = self._find_tops(inside, outside)
        self._inside: list[int] = []  # providers placed
        self._outside: list[int] = []

    def _find_tops(
        self, inside: Mapping[int, OptionList], outside: Mapping[int, OptionList]
    ) -> set[int]:
        """Return the providers above options of all slots inside, with options of all outside."""
        nearest = self._forest.hosts(list(inside.values()), isolated=False).nearest
        lists = set(outside.values())
        self._spend(len(nearest) * (1 + LOOKS_PER_TOP * len(lists)))
        tops = {provider for provider, host in enumerate(nearest) if provider == host}
        for providers in lists:
            counts = self._forest.counts(providers)
            tops = {top for top in tops if counts[top] < len(providers)}
        return tops

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether the request keeps groups out of a subtree."""
        return any(rule.outside for rule in plan.request.same_subtree)

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return the parent of each member."""
        return tuple([member.parent for member in pool.members])

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for each rule with negated groups, on one forest."""
        forest = Forest(pool_parents(pool), spend)
        constraints = []
        for rule in plan.request.same_subtree:
            if rule.outside:
                spend(LOOKS_PER_RULE + 4 * (len(rule.inside) + len(rule.outside)))
                inside = {slot: options[slot] for slot in sorted(map(plan.slot_of, rule.inside))}
                outside = {slot: options[slot] for slot in sorted(map(plan.slot_of, rule.outside))}
                constraints.append(cls(inside, outside, forest, spend))
        return constraints

    def feasible(self) -> bool:
        """Whether some provider could be the top."""
        return bool(self._tops)

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider, as long as some provider can be the top."""
        undo = self._place(slot, provider)
        if any(map(self._can_be_top, self._possible_tops())):
            return undo
        undo()
        return None

    def _place(self, slot: int, provider: int) -> Undo:
        options = self._options.get(slot)
        placed = self._outside if options is None else self._inside
        placed.append(provider)
        if options is not None:
            self._open[options] -= 1

        def undo() -> None:
            placed.pop()
            if options is not None:
                self._open[options] += 1

        return undo

    def _possible_tops(self) -> Iterable[int]:
        """Yield the tops at or above a provider placed inside; all while none is placed."""
        if not self._inside:
            yield from self._tops
            return
        provider = self._inside[0]
        while provider >= 0:
            if provider in self._tops:
                yield provider
            provider = self._forest.parents[provider]

    def _can_be_top(self, top: int) -> bool:
        self._spend(LOOKS_PER_TOP + 3 * (len(self._inside) + len(self._outside)))
        covers = self._forest.covers
        return (
            all(covers(top, provider) for provider in self._inside)
            and not any(covers(top, provider) for provider in self._outside)
            and (top in self._inside or self._may_serve(top))
        )

    def _may_serve(self, top: int) -> bool:
        """Whether an open slot inside may be served by the top."""
        return any(number and top in self._servers[each] for each, number in self._open.items())
