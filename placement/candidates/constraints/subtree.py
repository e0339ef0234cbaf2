"""The condition `same_subtree`: the subtree of one provider contains the providers of all groups.

The condition is not monotonic, because two siblings violate it until their parent is placed.
Therefore, a placement is refused only if neither a placed provider nor a possible one can be the
ancestor of all providers.

The *top* is the provider whose subtree contains the providers of all groups that are not negated.
Providers of negated groups must be outside of this subtree. The top is unknown until all groups
inside are placed. Until then, a placement is refused only if every possible top leaves no options
for the negated groups.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.forest import Forest, pool_parents
from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, StatedTerm
from placement.runtime.budget import COST_PER_STEP, Charge, uncharged


class SameSubtree(Constraint):
    """The subtree of one of the providers contains the providers of all slots.

    A *host* is a provider that could be this ancestor.

    Args:
        options: slot -> providers that may serve it; equal ones should be the same object.
        forest: forest of the pool.
        isolated: whether the slots use different providers.
        spend: function that receives the cost of expensive work.
    """

    code = Refusal.SAME_SUBTREE
    applies = attrgetter("request.subtree_rules")
    decides_early = True

    def __init__(
        self,
        options: Mapping[int, OptionList],
        forest: Forest,
        *,
        isolated: bool = False,
        spend: Charge = uncharged,
    ) -> None:
        self.slots = frozenset(options)
        self._forest = forest
        self._spend = spend
        # The hosts before the first placement.
        self._hosts = forest.hosts(list(options.values()), isolated=isolated)
        self._options = options
        # Options -> number of open slots with these options.
        self._open = Counter(options.values())
        # Options -> for each host, whether the host or one of its ancestor hosts is an option.
        self._serving = {providers: self._hosts.serving(providers) for providers in self._open}
        # Provider -> number of slots placed on it.
        self._times_placed: Counter[int] = Counter()
        # Slot and provider of each placement, in order.
        self._placed: list[tuple[int, int]] = []
        self._tops: list[int] = []  # after each placement: lowest host above all placed

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return the parent of each member."""
        return tuple([member.parent for member in pool.members])

    @classmethod
    def stated(cls, request: CandidateRequest) -> Sequence[StatedTerm]:
        """Return the rules about subtrees."""
        rules = request.subtree_rules
        return [StatedTerm(Refusal.SAME_SUBTREE, "same_subtree", None, rule) for rule in rules]

    @classmethod
    def without(cls, request: CandidateRequest, rule: StatedTerm) -> CandidateRequest:
        """Return the request without a rule."""
        rules = tuple(each for each in request.subtree_rules if each != rule.value)
        return replace(request, subtree_rules=rules)

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Constraint]:
        """Make one constraint for each set of groups, inside and outside, with a common forest."""
        forest = Forest(pool_parents(pool), spend)
        constraints: list[Constraint] = []
        for rule in plan.request.subtree_rules:
            inside = {slot: options[slot] for slot in sorted(map(plan.slot_of, rule.inside))}
            # If at most one of the slots may share its provider, all slots use different providers.
            isolated = len(inside.keys() - set(plan.isolated_slots)) <= 1
            constraints.append(cls(inside, forest, isolated=isolated, spend=spend))
            if rule.outside:
                outside = {slot: options[slot] for slot in sorted(map(plan.slot_of, rule.outside))}
                constraints.append(OutsideSubtree(inside, outside, forest, spend))
        return constraints

    def feasible(self) -> bool:
        """Return whether some provider can be the common ancestor."""
        return self._hosts.exist

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider if a host can still be the common ancestor."""
        top = self._lowest_host_above(provider)
        if top < 0:
            return None
        options = self._options[slot]
        self._open[options] -= 1
        # The host must already serve a slot, or it or an ancestor host must be an option of an open
        # slot.
        if top != provider and not self._times_placed[top] and not self._may_serve(top):
            self._open[options] += 1
            return None
        self._times_placed[provider] += 1
        self._placed.append((slot, provider))
        self._tops.append(top)
        return self._undo

    def _lowest_host_above(self, provider: int) -> int:
        """Return the lowest host above this and all placed providers. Negative if there is none."""
        if not self._tops:
            return self._hosts.nearest[provider]
        top, climbed = self._tops[-1], 0
        while top >= 0 and not self._forest.covers(top, provider):
            top = self._hosts.above(top)
            climbed += 1
        self._spend(climbed)
        return top

    def _may_serve(self, top: int) -> bool:
        """Return whether `top` or a host above it may serve an open slot."""
        return any(number and self._serving[options][top] for options, number in self._open.items())

    def _undo(self) -> None:
        slot, provider = self._placed.pop()
        self._tops.pop()
        self._times_placed[provider] -= 1
        self._open[self._options[slot]] += 1


class OutsideSubtree(Constraint):
    """The subtree of the top of the slots inside contains no provider of a slot outside.

    `SameSubtree.build` makes one for each rule with negated groups.

    Args:
        inside: slot -> providers that may serve it; equal ones should be the same object.
        outside: the same for the negated groups.
        forest: forest of the pool.
        spend: function that receives the cost of expensive work.
    """

    code = Refusal.SAME_SUBTREE

    def __init__(
        self,
        inside: Mapping[int, OptionList],
        outside: Mapping[int, OptionList],
        forest: Forest,
        spend: Charge = uncharged,
    ) -> None:
        # `SameSubtree` makes the search begin with the slots inside, so the top is known early.
        self.slots = frozenset(inside) | frozenset(outside)
        self._forest = forest
        self._spend = spend
        self._options = inside
        # Options of slots inside -> number of open slots that have them.
        self._open = Counter(inside.values())
        # The same options -> a set of their providers.
        self._servers = {providers: frozenset(providers) for providers in self._open}
        # Providers that can be the top before the first placement.
        self._tops = self._find_tops(inside, outside)
        self._inside: list[int] = []  # providers placed
        # Providers placed on slots outside, in order.
        self._outside: list[int] = []

    def _find_tops(
        self, inside: Mapping[int, OptionList], outside: Mapping[int, OptionList]
    ) -> set[int]:
        """Return providers whose subtree allows options for all slots, inside and outside."""
        nearest = self._forest.hosts(list(inside.values()), isolated=False).nearest
        tops = {provider for provider, host in enumerate(nearest) if provider == host}
        for providers in set(outside.values()):
            counts = self._forest.counts(providers)
            tops = {top for top in tops if counts[top] < len(providers)}
        return tops

    def feasible(self) -> bool:
        """Return whether some provider can be the top."""
        return bool(self._tops)

    def add(self, slot: int, provider: int) -> Undo | None:
        """Place the provider if a provider can still be the top."""
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
        """Yield the tops at or above a provider placed inside.

        Without such a provider, yield all tops.
        """
        if not self._inside:
            yield from self._tops
            return
        provider = self._inside[0]
        while provider >= 0:
            if provider in self._tops:
                yield provider
            provider = self._forest.parents[provider]

    def _can_be_top(self, top: int) -> bool:
        self._spend(COST_PER_STEP + 2 * (len(self._inside) + len(self._outside)))
        covers = self._forest.covers
        return (
            all(covers(top, provider) for provider in self._inside)
            and not any(covers(top, provider) for provider in self._outside)
            and (top in self._inside or self._may_serve(top))
        )

    def _may_serve(self, top: int) -> bool:
        """Return whether the top may serve an open slot inside."""
        return any(number and top in self._servers[each] for each, number in self._open.items())
