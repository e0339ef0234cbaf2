"""Why no provider of a host can serve a group, and the conditions that are responsible."""

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.model import Pool, Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.search import Requirement
from placement.candidates.terms import AMOUNT_CODES, Amount, Masks, each_mask, lowest
from placement.foresight.explanation.causes import ORDER, Rejection, RejectionCause, SpecialCase
from placement.foresight.explanation.explained_plan import ExplainedPlan

# The codes of conditions on the units of an inventory.
UNIT_CODES = AMOUNT_CODES[1:-1]


class SlotCauses:
    """Finds the rejections of one slot on one host from the masks of its providers."""

    def __init__(self, requirement: Requirement, masks: Masks, pool: Pool) -> None:
        # The requirement of the slot, with the terms of its group.
        self.requirement = requirement
        self._pool = pool
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
            tuple(dict.fromkeys(each[0] for each in self._at_code if each[2] == self._last)),
            tuple(dict.fromkeys(each[0] for each in self._at_code)),
        )
        # The conditions that all providers at the code fail.
        common = self._failed & reduce(and_, [mask for _position, mask, _bit in self._at_code])
        if self._last & requirement.stock:
            return (self._by_amounts(rejection, common),)
        return [rejection._replace(cause=cause) for cause in self._by_terms(common)]

    def _by_amounts(self, rejection: Rejection, common: int) -> Rejection:
        """Return the rejection with its cause. Each inventory of the class counts."""
        requirement = self.requirement
        # APART: no single amount fails on all providers at the code.
        case = None if common else SpecialCase.APART
        amounts: Sequence[Amount] = ()
        if rejection.code is not Refusal.NO_INVENTORY and self._is_disproved(rejection):
            amounts, case = requirement.amounts, SpecialCase.ROOM
        cause = RejectionCause(requirement.terms_of(self._failed), tuple(amounts), case)
        return rejection._replace(cause=cause, at_code=range(len(self._pool.members)))

    def without_room(self) -> Iterator[StatedTerm]:
        """Yield the amounts for which no provider has room, with the code of the reason."""
        for index in range(len(self.requirement.amounts)):
            missing, units = 1 << index, self.requirement.units(index)
            if all(mask & (missing | units) for mask in self.masks):
                # The first check that each inventory of the class fails, if there is any.
                failed = reduce(and_, [mask for mask in self.masks if not mask & missing], units)
                yield self.requirement.term(lowest(failed) or missing)

    def _is_disproved(self, rejection: Rejection) -> bool:
        """Return whether a provider that an earlier check rejects may meet one of the amounts.

        In this case, no sentence may state that no provider meets it.
        """
        names = {term.resource_class for term in self.requirement.terms_of(self._failed)}
        # The bit of free capacity is set if any check of the inventory fails.
        is_unknown = rejection.code is Refusal.CAPACITY
        return any(
            (is_unknown or self._failed & ~mask)
            and names & self._pool.members[position].stocks.keys()
            for position, mask in self._pairs
            if position not in rejection.at_code
        )

    def _by_terms(self, common: int) -> Sequence[RejectionCause]:
        """Return the causes, one for each special case."""
        requirement, failed = self.requirement, self._failed
        terms, masks = requirement.terms_of(failed), [mask for _position, mask in self._pairs]
        if failed & requirement.excluding:
            all_fail = all(mask & failed for mask in masks if not mask & requirement.stock)
            case = None if all_fail else SpecialCase.ELSEWHERE
            return [RejectionCause(terms, requirement.amounts, case)]
        if common:
            return term_causes(requirement, masks, failed)
        meeting = [mask for mask in masks if not mask & failed]
        return [
            elsewhere(requirement, meeting, failed)
            if meeting
            else RejectionCause(terms, case=SpecialCase.APART)
        ]


class GroupCauses:
    """Finds the rejections of the groups of one host from the masks of its providers."""

    def __init__(self, plan: ExplainedPlan, pool: Pool, masks: Sequence[Masks]) -> None:
        """Find nothing yet; `masks` has the masks of each distinct requirement."""
        # Suffix -> the slots of the group.
        self._groups = plan.groups
        # Slot -> its causes.
        self._slots = [
            SlotCauses(requirement, masks[index], pool)
            for requirement, index in zip(plan.stated_requirements, plan.index_of, strict=True)
        ]
        # Terms of collective traits that no provider with enough capacity has.
        self.missing: Collection[StatedTerm] = ()

    def find(self, suffix: str) -> Sequence[Rejection]:
        """Return the rejections of a group at its first code, or nothing if the group is served."""
        slots = [self._slots[slot] for slot in self._groups[suffix]]
        requirement = slots[0].requirement
        codes = [slot.code for slot in slots if slot.code is not None]
        missing = missing_bits(slots) if requirement.soft else 0
        if missing:
            self.missing = requirement.terms_of(missing)
            codes.append(Refusal.TRAIT_MISSING)
        if not codes:
            return ()
        # PERF: the causes at later codes take most of the time and are not reported.
        first = min(codes, key=ORDER.__getitem__)
        rejections: list[Rejection] = []
        for slot in slots:
            if slot.code is first:
                rejections += slot.rejections()
        if first in UNIT_CODES:
            stated = {term.resource_class for each in rejections for term in each.cause.terms}
            names = stated.union(*([name for name, _ in each.cause.amounts] for each in rejections))
            lacking = [term for slot in slots for term in slot.without_room()]
            others = tuple([term for term in lacking if term.resource_class not in names])
            rejections = [each._replace(others=others) for each in rejections]
        if missing and first is Refusal.TRAIT_MISSING:
            causes: list[RejectionCause] = []
            for slot in slots:
                # PERF: comparing a few causes is faster than hashing a cause with many terms.
                found = term_causes(slot.requirement, slot.masks, missing)
                causes += [each for each in found if each not in causes]
            rejections += [Rejection(Refusal.TRAIT_MISSING, suffix, cause) for cause in causes]
        return rejections


def missing_bits(slots: Sequence[SlotCauses]) -> int:
    """Return the bits of collective terms that no provider with enough capacity satisfies."""
    missing: list[int] = []
    for slot in slots:
        requirement = slot.requirement
        with_room = [mask for mask in slot.masks if not mask & requirement.stock]
        missing += [mask & requirement.collective for mask in with_room]
    return reduce(and_, missing) if missing else 0


def term_causes(
    requirement: Requirement, masks: Sequence[int], failed: int
) -> list[RejectionCause]:
    """Return a cause for the failed terms that no provider meets, and one for the others."""
    nowhere = failed & reduce(and_, masks)
    causes = [RejectionCause(requirement.terms_of(nowhere))] if nowhere else []
    somewhere = failed & ~nowhere
    if somewhere:
        meeting = [mask for mask in masks if somewhere & ~mask]
        causes.append(elsewhere(requirement, meeting, somewhere))
    return causes


def elsewhere(requirement: Requirement, meeting: Sequence[int], failed: int) -> RejectionCause:
    """Return the cause for terms that only unsuitable providers meet, given by their masks."""
    amounts: tuple[Amount, ...] = ()
    others: tuple[StatedTerm, ...] = ()
    with_room = [mask & requirement.hard for mask in meeting if not mask & requirement.stock]
    if len(with_room) < len(meeting):
        amounts = requirement.amounts
        common = reduce(and_, meeting) & requirement.stock
        if common & requirement.missing == requirement.missing:
            amounts = tuple(amount._replace(units=0) for amount in amounts)
        elif common and requirement.code(lowest(common)) in UNIT_CODES:
            amounts, others = (), requirement.terms_of(lowest(common))
    if with_room:
        others += requirement.terms_of(reduce(or_, map(lowest, with_room)))
    terms = requirement.terms_of(failed)
    return RejectionCause(terms, amounts, SpecialCase.ELSEWHERE, others=others)
