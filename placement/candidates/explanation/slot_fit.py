"""Which conditions the providers of one host fail, for one slot."""

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import and_, or_

from placement.candidates.explanation.evaluation import SlotRejection
from placement.candidates.model import Pool
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, each_mask, lowest
from placement.candidates.trace import Refusal

# Positions of sharing providers that the text names. Each has the first condition that it fails, or
# None if the terms of the cause are the reason.
NamedProviders = Sequence[tuple[int, StatedTerm | None]]


class SlotFit:
    """The masks of a slot on one host, and what follows from them."""

    def __init__(self, slot: int, requirement: Requirement, masks: Masks, pool: Pool) -> None:
        # Index of the slot.
        self.slot = slot
        # The requirement of the slot, with the terms of its group.
        self.requirement = requirement
        self.pool = pool
        # The mask of each provider.
        self.masks = masks[0]
        # Pairs (position, mask). A provider that the root can replace has two pairs.
        self.pairs = each_mask(masks)

    @cached_property
    def own(self) -> Sequence[int]:
        """The masks of the providers in the host's own tree, and of the root in their place."""
        local = self.pool.local
        return [mask for position, mask in self.pairs if position < local]

    def rejection(self) -> SlotRejection | None:
        """Return the last rejection of the slot's providers, or None if a provider serves it."""
        requirement = self.requirement
        first = [lowest(mask & requirement.hard) for _position, mask in self.pairs]
        if not all(first):
            return None
        last = max(first)
        code = requirement.term(last).code
        at_code = [
            (position, mask, bit)
            for (position, mask), bit in zip(self.pairs, first, strict=True)
            if requirement.term(bit).code is code
        ]
        failed_bits = self._failed_bits(last, [mask for _position, mask, _bit in at_code])
        return SlotRejection(code, self.slot, failed_bits, last, at_code) if failed_bits else None

    def _failed_bits(self, last: int, masks: Sequence[int]) -> int:
        """Return the bits of the conditions that cause the rejection.

        Args:
            last: The bit of the last condition at which a provider is rejected.
            masks: The masks of the providers that are rejected at the code of that condition.

        Returns:
            0 if only several slots together are rejected.
        """
        requirement = self.requirement
        if requirement.collective & last and requirement.term(last).code is Refusal.TRAIT_MISSING:
            # If, for each trait, a provider with capacity has it, only the combination is missing.
            return missing_bits([self])
        # The conditions that all providers fail. If there are none, those that any provider fails.
        return requirement.at_code(last, reduce(and_, masks)) or requirement.at_code(
            last, reduce(or_, masks)
        )

    def named(self, positions: Sequence[int]) -> NamedProviders:
        """Return sharing providers, each with the first condition that it fails."""
        requirement, masks = self.requirement, self.masks
        return tuple(
            (position, requirement.term(lowest(masks[position] & requirement.hard)))
            for position in positions
        )

    def unfit_pools(self, failed_bits: int) -> NamedProviders:
        """Return the sharing providers with all classes of the slot that alone satisfy some terms.

        Args:
            failed_bits: The bits of the terms.

        Returns:
            Nothing if a provider of the host satisfies the terms.
        """
        requirement, masks, local = self.requirement, self.masks, self.pool.local
        own_fail = all(mask & failed_bits for mask in masks[:local])
        if failed_bits & requirement.excluding or not own_fail:
            return ()
        return self.named(
            [position for position in self.pools_meeting(failed_bits) if self._is_unfit(position)]
        )

    def pools_meeting(self, bits: int) -> Sequence[int]:
        """Return the sharing providers with all classes of the slot that satisfy some terms."""
        excluded = bits | self.requirement.missing
        positions = range(self.pool.local, len(self.masks))
        return [position for position in positions if not self.masks[position] & excluded]

    def _is_unfit(self, position: int) -> bool:
        return self.masks[position] & self.requirement.hard != 0


def missing_bits(fits: Sequence[SlotFit]) -> int:
    """Return the bits of collective terms that no provider with enough capacity satisfies."""
    missing: list[int] = []
    for fit in fits:
        requirement = fit.requirement
        with_room = [mask for mask in fit.masks if not mask & requirement.stock]
        missing += [mask & requirement.collective for mask in with_room]
    return reduce(and_, missing) if missing else 0
