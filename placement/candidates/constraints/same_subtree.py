"""`same_subtree`: one of the providers of these groups is ancestor-or-self of all of them.

The condition is not monotonic: two siblings fail until their parent joins. So a placement is
refused only when no placed and no possible provider can be above all.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Self

from placement.candidates.budget import Spend, free
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.forest import Forest, pool_parents
from placement.candidates.model import OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.trace import Refusal

# What it takes to make a condition of a rule.
LOOKS_PER_RULE = 64


class SameSubtree(Constraint):
    """Some provider that serves a slot has the providers of all slots in its subtree.

    A *host* is a provider that could be that one. options: slot -> providers that may serve it;
    equal ones are best one object. isolated: the slots use different providers.
    """

    code = Refusal.SAME_SUBTREE
    decides_early = True

    def __init__(
        self,
        options: Mapping[int, OptionList],
        forest: Forest,
        *,
        isolated: bool = False,
        spend: Spend = free,
    ) -> None:
        self.slots = frozenset(options)
        self._forest = forest
        self._spend = spend
        self._hosts = forest.hosts(list(options.values()), isolated=isolated)
        self._options = options
        # Slots with the same options are counted together: how many of them are open, and for each
        # host whether it or one above it may serve them.
        self._open = Counter(options.values())
        self._serving = {providers: self._hosts.serving(providers) for providers in self._open}
        self._times_placed: Counter[int] = Counter()
        self._placed: list[tuple[int, int]] = []
        self._tops: list[int] = []  # with each placement: the lowest host above all placed

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Whether the request joins groups so."""
        return bool(plan.request.same_subtree)

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return the parent of each member."""
        return tuple([member.parent for member in pool.members])

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Spend
    ) -> Sequence[Self]:
        """Make one condition for each set of groups, on one forest."""
        forest = Forest(pool_parents(pool), spend)
        constraints = []
        for rule in plan.request.same_subtree:
            spend(LOOKS_PER_RULE + 4 * len(rule.inside))
            joined = {slot: options[slot] for slot in sorted(map(plan.slot_of, rule.inside))}
            # All are served by different providers where at most one of them may share its own.
            isolated = len(joined.keys() - set(plan.isolated_slots)) <= 1
            constraints.append(cls(joined, forest, isolated=isolated, spend=spend))
        return constraints

    def feasible(self) -> bool:
        """Whether some provider could be above all."""
        return self._hosts.exist

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider, as long as some host can be above all."""
        top = self._lowest_host_above(provider)
        if top < 0:
            return None
        options = self._options[slot]
        self._open[options] -= 1
        # Whether the host serves already, or itself or one above it may serve an open slot.
        if top != provider and not self._times_placed[top] and not self._may_serve(top):
            self._open[options] += 1
            return None
        self._times_placed[provider] += 1
        self._placed.append((slot, provider))
        self._tops.append(top)
        return self._undo

    def _lowest_host_above(self, provider: int) -> int:
        """Return the lowest host above all placed and the provider, or a number below 0."""
        if not self._tops:
            return self._hosts.nearest[provider]
        top, climbed = self._tops[-1], 0
        while top >= 0 and not self._forest.covers(top, provider):
            top = self._hosts.above(top)
            climbed += 1
        self._spend(climbed)
        return top

    def _may_serve(self, top: int) -> bool:
        """Whether an open slot may be served by a host at or above `top`."""
        self._spend(len(self._serving))
        return any(number and self._serving[options][top] for options, number in self._open.items())

    def _undo(self) -> None:
        slot, provider = self._placed.pop()
        self._tops.pop()
        self._times_placed[provider] -= 1
        self._open[self._options[slot]] += 1
