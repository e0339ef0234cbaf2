"""The code at which each group loses its last provider on a host, and the responsible terms."""

from collections.abc import Collection, Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.explanation.evaluation import (
    ORDER,
    Rejection,
    RejectionCause,
    SlotRejection,
)
from placement.candidates.explanation.explain_request import ExplainRequest
from placement.candidates.explanation.local_causes import elsewhere, find_local_causes
from placement.candidates.explanation.manners import Manner
from placement.candidates.model import Pool
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, each_mask, lowest
from placement.candidates.trace import Refusal

# Pairs (position, mask). A provider that the root can replace has two pairs.
PositionMasks = Sequence[tuple[int, int]]


class GroupRejections:
    """Finds the rejections of one host from the masks of its providers."""

    def __init__(self, explain_request: ExplainRequest, pool: Pool, masks: Sequence[Masks]) -> None:
        # Terms, and the bits of the collective traits that no provider with enough capacity has.
        self._missing: tuple[Requirement, int] | None = None
        self._explain_request = explain_request
        self._pool = pool
        self._masks = masks

    def misses_only(self, term: StatedTerm) -> bool:
        """Return whether this collective trait is the only one that is missing."""
        if self._missing is None:
            return True
        requirement, bits = self._missing
        return {term}.issuperset(requirement.terms_of(bits))

    def find_for_group(self, suffix: str) -> Sequence[Rejection]:
        """Return the rejections of a group at its first code, or nothing if the group is served."""
        slots = self._explain_request.groups[suffix]
        found = [rejection for slot in slots if (rejection := self._find_for_slot(slot))]
        codes = [rejection.code for rejection in found]
        missing = self._find_missing_traits(slots)
        if missing:
            codes.append(Refusal.TRAIT_MISSING)
        if not codes:
            return ()
        # PERF: the causes at later codes take most of the time and are not reported.
        first = min(codes, key=ORDER.__getitem__)
        rejections: list[Rejection] = []
        for rejection in found:
            if rejection.code is first:
                rejections += self._explain_slot(rejection)
        if missing and first is Refusal.TRAIT_MISSING:
            rejections += self._explain_missing_traits(slots, missing)
        return rejections

    def find_for_own(self, rejection: Rejection) -> Sequence[Rejection]:
        """Return the rejection by terms that only sharing providers satisfy, or nothing.

        Args:
            rejection: The rejection of a slot by amounts that sharing providers lack as well.
        """
        slot, local = rejection.slot, self._pool.local
        requirement = self._explain_request.requirements[slot]
        own = reduce(and_, [mask for position, mask in self._masks_of(slot) if position < local])
        failed = own & ~(requirement.stock | requirement.excluding)
        if not failed:
            return ()
        failed_bits = requirement.at_code(lowest(failed), failed)
        pools = self._unfit_pools(slot, failed_bits)
        if not pools or self._has_other_pools(slot, failed_bits, dict(pools)):
            return ()
        terms = requirement.terms_of(failed_bits)
        cause = RejectionCause(terms, requirement.amounts, Manner.POOLS)
        return (Rejection(terms[0].code, terms[0].suffix, cause, slot, sharing=pools),)

    def _has_other_pools(self, slot: int, failed_bits: int, pools: Collection[int]) -> bool:
        """Return whether further sharing providers have such terms for another slot of a group."""
        group = self._explain_request.joins.plan.slots[slot].group
        return any(
            position >= self._pool.local
            and position not in pools
            and not mask & (failed_bits | self._explain_request.requirements[other].missing)
            for other in self._explain_request.groups[group.suffix]
            for position, mask in self._masks_of(other)
        )

    def _find_for_slot(self, slot: int) -> SlotRejection | None:
        """Return the last rejection of the slot's providers, or None if a provider serves it."""
        requirement = self._explain_request.requirements[slot]
        masks = self._masks_of(slot)
        first = [lowest(mask & requirement.hard) for _position, mask in masks]
        if not all(first):
            return None
        last = max(first)
        code = requirement.term(last).code
        at_code = [
            (position, mask, bit)
            for (position, mask), bit in zip(masks, first, strict=True)
            if requirement.term(bit).code is code
        ]
        failed_bits = self._failed_bits(
            slot, requirement, last, [mask for _position, mask, _bit in at_code]
        )
        return SlotRejection(code, slot, failed_bits, last, at_code) if failed_bits else None

    def _explain_slot(self, found: SlotRejection) -> Sequence[Rejection]:
        """Return why the last provider of a slot is rejected."""
        requirement = self._explain_request.requirements[found.slot]
        _code, slot, failed_bits, last, at_code = found
        rejection = Rejection(
            found.code,
            requirement.term(last).suffix,
            RejectionCause(),
            slot,
            tuple(dict.fromkeys(position for position, _mask, bit in at_code if bit == last)),
            tuple(dict.fromkeys(position for position, _mask, _bit in at_code)),
        )
        each = reduce(and_, [mask for _position, mask, _bit in at_code])
        if last & requirement.stock:
            return (self._reject_amounts(rejection, requirement, failed_bits, each),)
        causes, sharing = self._find_causes(slot, failed_bits, each & failed_bits)
        return [rejection._replace(cause=cause, sharing=sharing) for cause in causes]

    def _reject_amounts(
        self, rejection: Rejection, requirement: Requirement, failed_bits: int, each: int
    ) -> Rejection:
        """Return the rejection of a slot by amounts, with its cause.

        Args:
            rejection: The rejection without its cause.
            requirement: The terms of the slot.
            failed_bits: The bits of the amounts that cause the rejection.
            each: The bits that all providers at the code fail.
        """
        terms = requirement.terms_of(failed_bits)
        # APART: no single amount fails on all providers at the code.
        manner = None if failed_bits & each else Manner.APART
        if rejection.code is Refusal.NO_INVENTORY:
            return rejection._replace(cause=RejectionCause(terms, manner=manner))
        stocked = {
            position: mask & requirement.hard & ~requirement.stock
            for position, mask in self._masks_of(rejection.slot)
            if not mask & requirement.missing
        }
        own = [position for position in stocked if position < self._pool.local]
        # Sharing providers that could not serve the group with more room are left out.
        pools = [position for position in stocked if position >= self._pool.local]
        suitable = [position for position in pools if not stocked[position]]
        sharing = self._named(rejection.slot, suitable or pools)
        amounts = requirement.amounts
        if sharing:
            manner = Manner.WITH_POOLS if own else Manner.POOLS
        elif self._is_disproved(rejection, requirement, failed_bits):
            manner = Manner.ROOM
        else:
            amounts = ()
        cause = RejectionCause(terms, amounts, manner)
        # Without a special case, each inventory of the class counts, even if an earlier check
        # rejects its provider.
        measured = own if amounts else range(len(self._pool.members))
        return rejection._replace(cause=cause, at_code=measured, sharing=sharing)

    def _is_disproved(
        self, rejection: Rejection, requirement: Requirement, failed_bits: int
    ) -> bool:
        """Return whether a provider that an earlier check rejects may meet one of the amounts.

        In this case, no sentence may state that no provider meets it.
        """
        names = {term.resource_class for term in requirement.terms_of(failed_bits)}
        for position, mask in self._masks_of(rejection.slot):
            if position in rejection.at_code:
                continue
            stocked = names.intersection(self._pool.members[position].stocks)
            # The bit of free capacity is set if any check of the inventory fails.
            unknown = rejection.code is Refusal.CAPACITY or failed_bits & ~mask
            if stocked and unknown:
                return True
        return False

    def _named(
        self, slot: int, positions: Sequence[int]
    ) -> Sequence[tuple[int, StatedTerm | None]]:
        """Return sharing providers, each with the first term of a slot that it fails."""
        requirement = self._explain_request.requirements[slot]
        masks = self._masks[self._explain_request.distinct_index[slot]][0]
        return tuple(
            (position, requirement.term(lowest(masks[position] & requirement.hard)))
            for position in positions
        )

    def _masks_of(self, slot: int) -> PositionMasks:
        return each_mask(self._masks[self._explain_request.distinct_index[slot]])

    def _find_causes(
        self, slot: int, failed_bits: int, common: int
    ) -> tuple[Sequence[RejectionCause], Sequence[tuple[int, StatedTerm | None]]]:
        """Return the causes of a rejection by terms other than amounts, one for each manner.

        Args:
            slot: The slot.
            failed_bits: The bits of the terms that cause the rejection.
            common: The bits among them that all providers at the code fail.

        Returns:
            The causes, and the sharing providers that the text names.
        """
        requirement, masks = self._explain_request.requirements[slot], self._masks_of(slot)
        local = [mask for position, mask in masks if position < self._pool.local]
        with_room = [(position, mask) for position, mask in masks if not mask & requirement.stock]
        all_fail = all(mask & failed_bits for _position, mask in with_room)
        amounts = requirement.amounts
        # A host outside of the named tree is reported as such, even if it has enough capacity.
        is_outside = failed_bits & requirement.places and reduce(and_, local) & failed_bits
        pools = self._unfit_pools(slot, failed_bits)
        if pools:
            return [RejectionCause(requirement.terms_of(failed_bits), amounts, Manner.POOLS)], pools
        if all_fail and with_room[0][0] >= self._pool.local and not is_outside:
            sharing = tuple((position, None) for position in dict(with_room))
            return [
                RejectionCause(requirement.terms_of(failed_bits), amounts, Manner.SHARED)
            ], sharing
        if failed_bits & requirement.excluding:
            manner = None if all_fail else Manner.ELSEWHERE
            return [RejectionCause(requirement.terms_of(failed_bits), amounts, manner)], ()
        if common:
            return find_local_causes(requirement, local, failed_bits), ()
        meeting = [mask for mask in local if not mask & failed_bits]
        if meeting:
            return [elsewhere(requirement, meeting, failed_bits)], ()
        return [RejectionCause(requirement.terms_of(failed_bits), manner=Manner.APART)], ()

    def _unfit_pools(self, slot: int, failed_bits: int) -> Sequence[tuple[int, StatedTerm | None]]:
        """Return the sharing providers with the classes of a slot that alone satisfy some terms.

        Args:
            slot: The slot.
            failed_bits: The bits of the terms.

        Returns:
            Nothing if a provider of the host satisfies the terms.
        """
        requirement = self._explain_request.requirements[slot]
        masks = self._masks[self._explain_request.distinct_index[slot]][0]
        local = self._pool.local
        if failed_bits & requirement.excluding or not all(
            mask & failed_bits for mask in masks[:local]
        ):
            return ()
        excluded = failed_bits | requirement.missing
        pools = [
            position
            for position in range(local, len(masks))
            if not masks[position] & excluded and masks[position] & requirement.hard
        ]
        return self._named(slot, pools)

    def _failed_bits(
        self, slot: int, requirement: Requirement, last: int, masks: Sequence[int]
    ) -> int:
        """Return the bits of the terms that cause the rejection of a slot.

        Args:
            slot: The slot.
            requirement: Its terms.
            last: The bit of the last term at which a provider is rejected.
            masks: The masks of the providers that are rejected at the code of that term.

        Returns:
            0 if only several slots together are rejected.
        """
        if requirement.collective & last and requirement.term(last).code is Refusal.TRAIT_MISSING:
            # If, for each trait, a provider with capacity has it, only the combination is missing.
            return self._missing_bits([slot])
        # The terms that all providers fail. If there are none, the terms that any provider fails.
        return requirement.at_code(last, reduce(and_, masks)) or requirement.at_code(
            last, reduce(or_, masks)
        )

    def _find_missing_traits(self, slots: Sequence[int]) -> int:
        """Return the bits of collective traits that no provider with enough capacity has."""
        first = self._explain_request.requirements[slots[0]]
        missing = self._missing_bits(slots) if first.soft else 0
        if missing:
            self._missing = (first, missing)
        return missing

    def _explain_missing_traits(self, slots: Sequence[int], missing: int) -> Sequence[Rejection]:
        """Return the rejections by collective traits that no provider with enough capacity has."""
        # Slots differ in the amounts that are missing on a provider with the trait.
        local = {
            slot: self._masks[self._explain_request.distinct_index[slot]][0][: self._pool.local]
            for slot in slots
        }
        by_slot = [self._explain_request.requirements[slot] for slot in slots]
        suffix = by_slot[0].term(missing).suffix
        for slot, requirement in zip(slots, by_slot, strict=True):
            pools = self._unfit_pools(slot, missing)
            if pools:
                terms = requirement.terms_of(missing)
                cause = RejectionCause(terms, requirement.amounts, Manner.POOLS)
                return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, slot, sharing=pools)]
        causes: list[RejectionCause] = []
        for requirement, masks in zip(by_slot, local.values(), strict=True):
            # PERF: comparing a few causes is faster than hashing a cause with many terms.
            causes += [
                each
                for each in find_local_causes(requirement, masks, missing)
                if each not in causes
            ]
        return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, slots[0]) for cause in causes]

    def _missing_bits(self, slots: Sequence[int]) -> int:
        """Return the bits of collective terms that no provider with enough capacity satisfies."""
        missing = [
            mask & requirement.collective
            for requirement, index in [
                (
                    self._explain_request.requirements[slot],
                    self._explain_request.distinct_index[slot],
                )
                for slot in slots
            ]
            for mask in self._masks[index][0]
            if not mask & requirement.stock
        ]
        return reduce(and_, missing) if missing else 0
