"""Constraints for isolated groups, and for responses without trees."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Self

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, StatedTerm
from placement.runtime.budget import Charge, uncharged


class Isolation(Constraint):
    """Providers of isolated slots serve no other slot. The other slots may share providers.

    In the matching of the look-ahead, each provider has one seat. With shared slots, there is a
    matching for each distinct list of their options: every isolated slot has a different provider,
    and at least one more provider remains for the shared slots.

    Args:
        isolated: slot -> providers that may serve it. Equal lists are the same object.
        shared: the same for the other slots.
        spend: function that receives the cost of expensive work.
    """

    code = Refusal.ISOLATE
    applies = attrgetter("isolated_slots")

    def __init__(
        self,
        isolated: Mapping[int, OptionList],
        shared: Mapping[int, OptionList],
        spend: Charge = uncharged,
    ) -> None:
        self.slots = frozenset(isolated) | frozenset(shared)
        # The isolated slots.
        self._isolated = frozenset(isolated)
        # One slot represents all slots with the same list, because they may share a provider.
        representatives = {providers: slot for slot, providers in shared.items()}.values()
        # Representative -> providers that may serve it.
        self._shared = {slot: frozenset(shared[slot]) for slot in representatives}
        # Representative -> the matching of this slot and all isolated slots.
        self._matchings = {
            slot: _matching({**isolated, slot: shared[slot]}, spend) for slot in representatives
        }
        # The matching of the slots if all of them are isolated.
        self._alone = None if shared else _matching(isolated, spend)
        self._open = set(representatives)  # representatives without a placement
        self._reserved: set[int] = set()  # providers of isolated slots
        # Provider -> number of shared slots placed on it.
        self._times_shared: Counter[int] = Counter()

    @classmethod
    def stated(cls, request: CandidateRequest) -> Sequence[StatedTerm]:
        """Return `group_policy`, or the groups of `isolate`."""
        if request.isolate_all:
            return [StatedTerm(Refusal.ISOLATE, "group_policy", None, "isolate")]
        suffixes = sorted(request.isolate)
        return [StatedTerm(Refusal.ISOLATE, "isolate", None, suffix) for suffix in suffixes]

    @classmethod
    def without(cls, request: CandidateRequest, rule: StatedTerm) -> CandidateRequest:
        """Return the request with fewer isolated groups."""
        isolated = request.isolate - {str(rule.value)}
        return replace(request, isolate=frozenset() if request.isolate_all else isolated)

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make one constraint for all suffixed groups."""
        isolated = {slot: options[slot] for slot in plan.isolated_slots}
        shared = {slot: options[slot] for slot in plan.shared_slots}
        return (cls(isolated, shared, spend),)

    def feasible(self) -> bool:
        """Return whether each isolated slot can have a provider that serves no other slot."""
        if self._alone is not None:
            return self._alone.complete()
        return all(matching.complete() for matching in self._matchings.values())

    def add(self, slot: int, provider: int) -> Undo | None:
        """Reserve the provider for the slot, or use it for slots that may share it."""
        if self._alone is not None:  # PERF: usually, all groups are isolated
            return self._alone.place(slot, provider, 0) if self._alone.seats(provider) else None
        isolated = slot in self._isolated
        if provider in self._reserved or (isolated and self._times_shared[provider]):
            return None
        steps: list[Undo] = []
        for representative, matching in self._matchings.items():
            if isolated:
                step = matching.place(slot, provider, 0)
            elif representative in self._open and provider in self._shared[representative]:
                step = matching.place(representative, provider, 0)
                if step is not None:
                    self._open.discard(representative)
                    steps.append(partial(self._open.add, representative))
            else:
                step = matching.shrink(provider, 0)
            if step is None:
                _take_back(steps)
                return None
            steps.append(step)
        if isolated:
            self._reserved.add(provider)
            steps.append(partial(self._reserved.discard, provider))
        else:
            self._times_shared[provider] += 1
            steps.append(partial(self._times_shared.subtract, (provider,)))
        return partial(_take_back, steps)


def _matching(options: Mapping[int, OptionList], spend: Charge) -> Matching:
    return Matching(options, dict.fromkeys(all_providers(options.values()), 1), spend)


def _take_back(steps: list[Undo]) -> None:
    for step in reversed(steps):
        step()


class OnePerTree(Constraint):
    """Each tree provides at most one provider, in responses without nested providers.

    Args:
        slots: all slots.
        tree_of: provider -> id of its tree.
    """

    code = Refusal.ONE_PER_TREE
    applies = attrgetter("one_per_tree")

    def __init__(self, slots: Iterable[int], tree_of: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._tree_of = tree_of
        self._placed: dict[int, list[int]] = {}  # tree -> its provider, once for each slot
        # The value of `_placed` that each placement extended, in order.
        self._order: list[list[int]] = []

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make one constraint for all slots."""
        trees = [pool.tree(position).id for position in range(len(pool.members))]
        return (cls(range(len(plan.slots)), trees),)

    def add(self, slot: int, provider: int) -> Undo | None:
        """Use the provider for its tree, unless the tree uses another provider."""
        placed = self._placed.setdefault(self._tree_of[provider], [])
        if placed and placed[-1] != provider:
            return None
        placed.append(provider)
        self._order.append(placed)
        return self._undo

    def _undo(self) -> None:
        self._order.pop().pop()
