"""Constraints for isolated groups, and for responses without trees."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Self

from placement.candidates.budget import Charge, uncharged
from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList, Pool
from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.trace import Refusal


class Isolation(Constraint):
    """No provider serves two of the slots. Each provider has one seat, which a placement takes."""

    code = Refusal.ISOLATE

    def __init__(self, options: Mapping[int, OptionList], spend: Charge = uncharged) -> None:
        self.slots = frozenset(options)
        # A matching of the open slots to the providers, for the look-ahead.
        self._matching = Matching(options, dict.fromkeys(all_providers(options.values()), 1), spend)

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return whether all suffixed groups must have different providers."""
        return len(plan.isolated_slots) > 1 and not plan.shared_slots

    @classmethod
    def role(cls, plan: SearchPlan, slot: int) -> Hashable:
        """Return whether the slot has a provider of its own."""
        return slot in plan.isolated_slots

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
        return (cls({slot: options[slot] for slot in plan.isolated_slots}, spend),)

    def feasible(self) -> bool:
        """Return whether each slot can have a different provider."""
        return self._matching.complete()

    def add(self, slot: int, provider: int) -> Undo | None:
        """Reserve the provider for the slot."""
        if self._matching.seats(provider) == 0:
            return None
        return self._matching.place(slot, provider, 0)


class PartialIsolation(Constraint):
    """Providers of isolated slots serve no other slot. The other slots may share providers.

    The look-ahead has a matching for each distinct list of options of shared slots. In each
    matching, every isolated slot has a different provider, and at least one more provider remains
    for the shared slots.

    Args:
        isolated: slot -> providers that may serve it. Equal lists are the same object.
        shared: the same for the other slots.
        spend: function that receives the cost of expensive work.
    """

    code = Refusal.ISOLATE

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
        representatives = {providers: slot for slot, providers in shared.items()}
        # Representative -> the matching of this slot and all isolated slots.
        self._matchings: dict[int, Matching] = {}
        for slot in representatives.values():
            options = {**isolated, slot: shared[slot]}
            seats = dict.fromkeys(all_providers(options.values()), 1)
            self._matchings[slot] = Matching(options, seats, spend)
        # Representative -> providers that may serve it.
        self._shared = {slot: frozenset(shared[slot]) for slot in representatives.values()}
        self._open = set(self._matchings)  # representatives without a placement
        self._reserved: set[int] = set()  # providers of isolated slots
        # Provider -> number of shared slots placed on it.
        self._times_shared: Counter[int] = Counter()

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return whether some suffixed groups are isolated and others are not."""
        return bool(plan.isolated_slots and plan.shared_slots)

    @classmethod
    def role(cls, plan: SearchPlan, slot: int) -> Hashable:
        """Return whether the slot has a provider of its own, or may share one, or neither."""
        return slot in plan.isolated_slots, slot in plan.shared_slots

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
        return all(matching.complete() for matching in self._matchings.values())

    def add(self, slot: int, provider: int) -> Undo | None:
        """Reserve the provider for the slot, or use it for slots that may share it."""
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

    def __init__(self, slots: Iterable[int], tree_of: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._tree_of = tree_of
        self._placed: dict[int, list[int]] = {}  # tree -> its provider, once for each slot
        # The value of `_placed` that each placement extended, in order.
        self._order: list[list[int]] = []

    @classmethod
    def applies(cls, plan: SearchPlan) -> bool:
        """Return whether the version has no nested providers and the request has several slots."""
        return not plan.request.nested and len(plan.slots) > 1

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
