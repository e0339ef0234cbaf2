"""Collective traits: the providers of the unsuffixed group together have every required trait."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce
from operator import attrgetter, or_
from typing import Self

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import all_providers
from placement.candidates.model import Member, OptionList, Pool, Refusal, TraitSet
from placement.candidates.plan import SearchPlan
from placement.runtime.budget import COST_PER_PROVIDER, Charge


class CollectiveTraits(Constraint):
    """The providers of the slots together satisfy every trait set.

    Args:
        covers: slot -> provider -> bits of the trait sets that the provider satisfies.
        needed: bits of all sets.
    """

    code = Refusal.COLLECTIVE_TRAITS
    applies = attrgetter("collective_traits")
    decides_early = True

    def __init__(self, covers: Mapping[int, Mapping[int, int]], needed: int) -> None:
        self.slots = frozenset(covers)
        self._covers = covers
        self._needed = needed
        # Slot -> bits of all its possible providers together.
        self._possible = {slot: _union(bits.values()) for slot, bits in covers.items()}
        self._open = set(covers)
        # Placed slots, in order.
        self._placed: list[int] = []
        # The bits of the providers of these slots.
        self._placed_bits: list[int] = []

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return the traits of each member."""
        return tuple([member.traits for member in pool.members])

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make one constraint for the unsuffixed group."""
        trait_sets = plan.collective_traits
        slots = plan.unsuffixed_slots
        servers = all_providers([options[slot] for slot in slots])
        spend(COST_PER_PROVIDER * len(servers))
        bits = {position: bits_met(trait_sets, pool.members[position]) for position in servers}
        covers = {slot: {provider: bits[provider] for provider in options[slot]} for slot in slots}
        return (cls(covers, (1 << len(trait_sets)) - 1),)

    def narrow(self, options: Sequence[OptionList]) -> Sequence[OptionList]:
        """Restrict a slot if only one of its providers can satisfy a trait set."""
        narrowed = list(options)
        for number in range(self._needed.bit_length()):
            bit = 1 << number
            slots = [slot for slot, bits in self._possible.items() if bits & bit]
            if len(slots) != 1:
                continue
            (slot,) = slots
            bits = self._covers[slot]
            positions = [provider for provider in narrowed[slot] if bits[provider] & bit]
            narrowed[slot] = OptionList(positions)
            self._possible[slot] = _union(map(bits.__getitem__, positions))
        return narrowed

    def feasible(self) -> bool:
        """Return whether all slots together can satisfy every trait set."""
        return self._within_reach()

    def _within_reach(self) -> bool:
        possible = _union(map(self._possible.__getitem__, self._open))
        return self._needed & ~(possible | _union(self._placed_bits)) == 0

    def add(self, slot: int, provider: int) -> Undo | None:
        """Add the bits of the provider, if the open slots can contribute the remaining bits."""
        self._open.discard(slot)
        self._placed.append(slot)
        self._placed_bits.append(self._covers[slot][provider])
        if self._within_reach():
            return self._undo
        self._undo()
        return None

    def _undo(self) -> None:
        self._placed_bits.pop()
        self._open.add(self._placed.pop())


def bits_met(trait_sets: Sequence[TraitSet], member: Member) -> int:
    """Return a bit for each trait set that the member satisfies."""
    mask = 0
    for number, trait_set in enumerate(trait_sets):
        if not trait_set.isdisjoint(member.traits):
            mask |= 1 << number
    return mask


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)
