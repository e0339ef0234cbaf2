"""Why no provider of a host can serve a group, and the conditions that are responsible."""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property, reduce
from operator import and_, or_

from placement.candidates.model import Pool
from placement.candidates.requirements import Requirement
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import Masks, each_mask, lowest
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.causes import (
    ORDER,
    Rejection,
    RejectionCause,
    SharingFaults,
    SpecialCase,
)
from placement.foresight.explanation.explained_plan import ExplainedPlan


class SlotCauses:
    """Finds the rejections of one slot on one host from the masks of its providers."""

    def __init__(self, slot: int, requirement: Requirement, masks: Masks, pool: Pool) -> None:
        # Index of the slot.
        self.slot = slot
        # The requirement of the slot, with the terms of its group.
        self.requirement = requirement
        self.pool = pool
        # The mask of each provider.
        self.masks = masks[0]
        # Pairs (position, mask). A provider that the root can replace has two pairs.
        self._pairs = each_mask(masks)
        # The bit of the condition that rejects the last provider, or 0 if one can serve.
        self._last = requirement.last_failed(masks)
        # The code of this condition, or None if the slot alone does not reject the host.
        self.code = requirement.code(self._last) if self._last else None
        # Triples (position, mask, bit of the first failed condition) of the providers that are
        # rejected at the code, and the bits of the conditions that cause the rejection.
        self._at_code, self._failed = self._find_failed() if self._last else ([], 0)
        if not self._failed:
            self.code = None

    @cached_property
    def own(self) -> Sequence[int]:
        """The masks of the providers in the host's own tree, and of the root in their place."""
        local = self.pool.local
        return [mask for position, mask in self._pairs if position < local]

    def _find_failed(self) -> tuple[list[tuple[int, int, int]], int]:
        requirement, last = self.requirement, self._last
        first = [(*pair, lowest(pair[1] & requirement.hard)) for pair in self._pairs]
        at_code = [each for each in first if requirement.code(each[2]) is self.code]
        if requirement.collective & last and self.code is Refusal.TRAIT_MISSING:
            # If, for each trait, a provider with capacity has it, only the combination is missing.
            return at_code, missing_bits([self])
        masks = [mask for _position, mask, _bit in at_code]
        # The conditions that all providers fail. If there are none, those that any provider fails.
        common = requirement.at_code(last, reduce(and_, masks))
        return at_code, common or requirement.at_code(last, reduce(or_, masks))

    def rejections(self) -> Sequence[Rejection]:
        """Return the rejections at the code, one for each cause."""
        requirement = self.requirement
        rejection = Rejection(
            requirement.code(self._last),
            requirement.group.suffix,
            RejectionCause(),
            self.slot,
            tuple(dict.fromkeys(each[0] for each in self._at_code if each[2] == self._last)),
            tuple(dict.fromkeys(each[0] for each in self._at_code)),
        )
        # The conditions that all providers at the code fail.
        common = self._failed & reduce(and_, [mask for _position, mask, _bit in self._at_code])
        if self._last & requirement.stock:
            return (self._by_amounts(rejection, common),)
        causes, sharing = self._by_terms(common)
        return [rejection._replace(cause=cause, sharing=sharing) for cause in causes]

    # -- amounts -------------------------------------------------------------------------------

    def _by_amounts(self, rejection: Rejection, common: int) -> Rejection:
        requirement, local = self.requirement, self.pool.local
        terms = requirement.terms_of(self._failed)
        # APART: no single amount fails on all providers at the code.
        case = None if common else SpecialCase.APART
        if rejection.code is Refusal.NO_INVENTORY:
            return rejection._replace(cause=RejectionCause(terms, case=case))
        stocked = dict(pair for pair in self._pairs if not pair[1] & requirement.missing)
        own = [position for position in stocked if position < local]
        # Sharing providers that could not serve the group with more room are left out.
        pools = [position for position in stocked if position >= local]
        other_terms = requirement.hard & ~requirement.stock
        suitable = [position for position in pools if not stocked[position] & other_terms]
        sharing = self._faults(suitable or pools)
        amounts = requirement.amounts
        if sharing:
            case = SpecialCase.WITH_POOLS if own else SpecialCase.POOLS
        elif self._is_disproved(rejection):
            case = SpecialCase.ROOM
        else:
            amounts = ()
        cause = RejectionCause(terms, amounts, case)
        # Without a special case, each inventory of the class counts, even if an earlier check
        # rejects its provider.
        measured = own if amounts else range(len(self.pool.members))
        unsuitable = {
            position: requirement.term(lowest(mask & other_terms))
            for position, mask in stocked.items()
            if case is SpecialCase.ROOM and mask & other_terms
        }
        return rejection._replace(
            cause=cause, at_code=measured, sharing=sharing, unsuitable=unsuitable
        )

    def _is_disproved(self, rejection: Rejection) -> bool:
        """Return whether a provider that an earlier check rejects may meet one of the amounts.

        In this case, no sentence may state that no provider meets it.
        """
        names = {term.resource_class for term in self.requirement.terms_of(self._failed)}
        # The bit of free capacity is set if any check of the inventory fails.
        is_unknown = rejection.code is Refusal.CAPACITY
        return any(
            (is_unknown or self._failed & ~mask)
            and names & self.pool.members[position].stocks.keys()
            for position, mask in self._pairs
            if position not in rejection.at_code
        )

    # -- other terms ---------------------------------------------------------------------------

    def _by_terms(self, common: int) -> tuple[Sequence[RejectionCause], SharingFaults]:
        """Return the causes, one for each special case, and the sharing providers of the text."""
        requirement, failed = self.requirement, self._failed
        cause = RejectionCause(requirement.terms_of(failed), requirement.amounts)
        with_room = [pair for pair in self._pairs if not pair[1] & requirement.stock]
        all_fail = all(mask & failed for _position, mask in with_room)
        pools = self.unfit_pools(failed)
        if pools:
            return [cause._replace(case=SpecialCase.POOLS)], pools
        # A host outside of the named tree is reported as such, even if it has enough capacity.
        is_outside = failed & requirement.places and reduce(and_, self.own) & failed
        if all_fail and with_room[0][0] >= self.pool.local and not is_outside:
            sharing = tuple((position, ()) for position in dict(with_room))
            return [cause._replace(case=SpecialCase.SHARED)], sharing
        if failed & requirement.excluding:
            return [cause._replace(case=None if all_fail else SpecialCase.ELSEWHERE)], ()
        if common:
            return local_causes(requirement, self.own, failed), ()
        meeting = [mask for mask in self.own if not mask & failed]
        if meeting:
            return [_elsewhere(requirement, meeting, failed)], ()
        return [RejectionCause(cause.terms, case=SpecialCase.APART)], ()

    # -- sharing providers ---------------------------------------------------------------------

    def _faults(self, positions: Iterable[int]) -> SharingFaults:
        """Return sharing providers, each with the first amount and the first term that it fails."""
        requirement = self.requirement
        amounts, others = requirement.stock, requirement.hard & ~requirement.stock
        failed = [(position, self.masks[position]) for position in positions]
        return tuple(
            (position, requirement.terms_of(lowest(mask & amounts) | lowest(mask & others)))
            for position, mask in failed
        )

    def unfit_pools(self, failed: int) -> SharingFaults:
        """Return the unfit sharing providers that meet some terms, if none of the host does."""
        requirement, masks = self.requirement, self.masks
        own_fail = all(mask & failed for mask in masks[: self.pool.local])
        if failed & requirement.excluding or not own_fail:
            return ()
        meeting = self.pools_meeting(failed)
        return self._faults([each for each in meeting if masks[each] & requirement.hard])

    def pools_meeting(self, bits: int) -> Sequence[int]:
        """Return the sharing providers with all classes of the slot that meet some terms."""
        excluded = bits | self.requirement.missing
        positions = range(self.pool.local, len(self.masks))
        return [position for position in positions if not self.masks[position] & excluded]


class GroupCauses:
    """Finds the rejections of the groups of one host from the masks of its providers."""

    def __init__(self, plan: ExplainedPlan, pool: Pool, masks: Sequence[Masks]) -> None:
        """Find nothing yet; `masks` has the masks of each distinct requirement."""
        # Suffix -> the slots of the group.
        self._groups = plan.groups
        # Slot -> its causes.
        self._slots = [
            SlotCauses(slot, requirement, masks[index], pool)
            for slot, (requirement, index) in enumerate(
                zip(plan.stated_requirements, plan.index_of, strict=True)
            )
        ]
        # Terms of collective traits that no provider with enough capacity has.
        self.missing: Collection[StatedTerm] = ()

    def find(self, suffix: str) -> Sequence[Rejection]:
        """Return the rejections of a group at its first code, or nothing if the group is served."""
        slots = [self._slots[slot] for slot in self._groups[suffix]]
        codes = [slot.code for slot in slots if slot.code is not None]
        missing = missing_bits(slots) if slots[0].requirement.soft else 0
        if missing:
            self.missing = slots[0].requirement.terms_of(missing)
            codes.append(Refusal.TRAIT_MISSING)
        if not codes:
            return ()
        # PERF: the causes at later codes take most of the time and are not reported.
        first = min(codes, key=ORDER.__getitem__)
        rejections: list[Rejection] = []
        for slot in slots:
            if slot.code is first:
                rejections += slot.rejections()
        if missing and first is Refusal.TRAIT_MISSING:
            rejections += _missing_traits(slots, missing)
        return rejections

    def find_for_own(self, rejection: Rejection) -> Sequence[Rejection]:
        """Return the rejection by terms that only sharing providers meet, or nothing.

        Args:
            rejection: The rejection of a slot by amounts that sharing providers lack as well.
        """
        slot = self._slots[rejection.slot]
        requirement = slot.requirement
        failed = reduce(and_, slot.own) & ~(requirement.stock | requirement.excluding)
        if not failed:
            return ()
        failed = requirement.at_code(lowest(failed), failed)
        pools = slot.unfit_pools(failed)
        slots = self._groups[requirement.group.suffix]
        others = [self._slots[each].pools_meeting(failed) for each in slots]
        # Further sharing providers may have such terms for another slot of the group.
        if not pools or not set().union(*others) <= dict(pools).keys():
            return ()
        terms = requirement.terms_of(failed)
        cause = RejectionCause(terms, requirement.amounts, SpecialCase.POOLS)
        return (Rejection(terms[0].code, terms[0].suffix, cause, slot.slot, sharing=pools),)


def missing_bits(slots: Sequence[SlotCauses]) -> int:
    """Return the bits of collective terms that no provider with enough capacity satisfies."""
    missing: list[int] = []
    for slot in slots:
        requirement = slot.requirement
        with_room = [mask for mask in slot.masks if not mask & requirement.stock]
        missing += [mask & requirement.collective for mask in with_room]
    return reduce(and_, missing) if missing else 0


def _missing_traits(slots: Sequence[SlotCauses], missing: int) -> Sequence[Rejection]:
    """Return the rejections by collective traits that no provider with enough capacity has.

    The slots of the group differ in the amounts that are missing on a provider with the trait.
    """
    terms = slots[0].requirement.terms_of(missing)
    suffix = terms[0].suffix
    causes: list[RejectionCause] = []
    for slot in slots:
        pools = slot.unfit_pools(missing)
        if pools:
            cause = RejectionCause(terms, slot.requirement.amounts, SpecialCase.POOLS)
            return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, slot.slot, sharing=pools)]
    for slot in slots:
        found = local_causes(slot.requirement, slot.masks[: slot.pool.local], missing)
        # PERF: comparing a few causes is faster than hashing a cause with many terms.
        causes += [each for each in found if each not in causes]
    return [Rejection(Refusal.TRAIT_MISSING, suffix, cause, slots[0].slot) for cause in causes]


def local_causes(
    requirement: Requirement, local: Sequence[int], failed: int
) -> list[RejectionCause]:
    """Return a cause for the failed terms that no provider of a host meets, and one for others."""
    nowhere = failed & reduce(and_, local)
    causes = [RejectionCause(requirement.terms_of(nowhere))] if nowhere else []
    somewhere = failed & ~nowhere
    if somewhere:
        meeting = [mask for mask in local if somewhere & ~mask]
        cause = _elsewhere(requirement, meeting, somewhere)
        # The root comes first.
        is_on_root = len(meeting) == 1 and not local[0] & somewhere
        if is_on_root and not somewhere & ~requirement.traits and _is_bare(cause):
            cause = cause._replace(case=SpecialCase.ON_ROOT)
        causes.append(cause)
    return causes


def _is_bare(cause: RejectionCause) -> bool:
    """Return whether the providers that satisfy the terms have none of the classes."""
    return bool(cause.amounts) and not any(each.units for each in cause.amounts)


def _elsewhere(requirement: Requirement, meeting: Sequence[int], failed: int) -> RejectionCause:
    """Return the cause for terms that only unsuitable providers meet, given by their masks."""
    amounts: tuple[Amount, ...] = ()
    others: tuple[StatedTerm, ...] = ()
    with_room = [mask & requirement.hard for mask in meeting if not mask & requirement.stock]
    if len(with_room) < len(meeting):
        amounts = requirement.amounts
        missing = reduce(and_, meeting) & requirement.missing
        if missing == requirement.missing:
            amounts = tuple(amount._replace(units=0) for amount in amounts)
    if with_room:
        others = requirement.terms_of(reduce(or_, map(lowest, with_room)))
    terms = requirement.terms_of(failed)
    return RejectionCause(terms, amounts, SpecialCase.ELSEWHERE, others=others)
