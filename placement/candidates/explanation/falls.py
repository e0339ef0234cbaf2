"""Where each group of a request loses its last provider on a host, and which terms are to blame."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.profiles import Fall, FallCause, first_fall
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.screens import Screen
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.model import Pool
from placement.candidates.terms import Masks, each_mask, lowest
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

# (position, mask) of each way in which a provider may serve a slot.
PositionMasks = Sequence[tuple[int, int]]


class GroupFalls:
    """The falls of one host, by the masks of its providers."""

    def __init__(self, question: Question, pool: Pool, masks: Sequence[Masks]) -> None:
        # Traits that several providers may have together, and that none with room has.
        self.missing: set[StatedTerm] = set()
        self._question = question
        self._pool = pool
        self._masks = masks

    def of_group(self, suffix: str) -> Sequence[Fall]:
        """Return where the slots of a group fall out, of those that do at the first code."""
        slots = self._question.groups[suffix]
        falls = [fall for slot in slots for fall in self._of_slot(slot)]
        falls += self._of_missing_traits(slots)
        first = first_fall(falls)
        return [fall for fall in falls if first and fall.code is first.code]

    def _of_slot(self, slot: int) -> Sequence[Fall]:
        """Return why the last provider of a slot falls out; empty if a provider serves it."""
        screen = self._question.screens[slot]
        masks = each_mask(self._masks[self._question.place[slot]])
        first = [lowest(mask & screen.hard) for _position, mask in masks]
        if not all(first):
            return ()
        last = max(first)
        term = screen.term(last)
        at_code = [
            (position, mask, bit)
            for (position, mask), bit in zip(masks, first, strict=True)
            if screen.term(bit).code is term.code
        ]
        blamed = self._blamed(slot, screen, last, [mask for _position, mask, _bit in at_code])
        if not blamed:
            return ()
        fall = Fall(
            term.code,
            term.suffix,
            FallCause(),
            slot,
            tuple(dict.fromkeys(position for position, _mask, bit in at_code if bit == last)),
            tuple(dict.fromkeys(position for position, _mask, _bit in at_code)),
        )
        if last & screen.stock:
            # All providers at the code lack each of the classes, or each of them lacks some.
            each = reduce(and_, [mask for _position, mask, _bit in at_code])
            manner = None if blamed & each else Manner.APART
            return (fall._replace(cause=FallCause(screen.terms_of(blamed), manner=manner)),)
        common = reduce(and_, [mask for _position, mask, _bit in at_code]) & blamed
        causes, sharing = self._of_checks(screen, masks, blamed, common)
        return [fall._replace(cause=cause, sharing=sharing) for cause in causes]

    def _of_checks(
        self, screen: Screen, masks: PositionMasks, blamed: int, common: int
    ) -> tuple[Sequence[FallCause], Sequence[int]]:
        """Return a cause for each manner in which terms other than amounts are not met.

        With the positions of sharing providers that alone have room. blamed: the bits of the terms;
        common: of those that all providers at the code fail.
        """
        local = [mask for position, mask in masks if position < self._pool.local]
        with_room = [(position, mask) for position, mask in masks if not mask & screen.stock]
        all_fail = all(mask & blamed for _position, mask in with_room)
        amounts = screen.amounts
        # A host outside the tree that the group names is just that, wherever its room is.
        is_outside = blamed & screen.places and reduce(and_, local) & blamed
        if all_fail and with_room[0][0] >= self._pool.local and not is_outside:
            sharing = tuple(dict.fromkeys(position for position, _mask in with_room))
            return [FallCause(screen.terms_of(blamed), amounts, Manner.SHARED)], sharing
        if blamed & screen.excluding:
            manner = None if all_fail else Manner.ELSEWHERE
            return [FallCause(screen.terms_of(blamed), amounts, manner)], ()
        if common:
            return _causes(screen, local, blamed), ()
        meeting = [mask for mask in local if not mask & blamed]
        if meeting:
            return [_elsewhere(screen, meeting, blamed)], ()
        return [FallCause(screen.terms_of(blamed), manner=Manner.APART)], ()

    def _blamed(self, slot: int, screen: Screen, last: int, masks: Sequence[int]) -> int:
        """Return the bits of the terms to blame at the code of the last one.

        0 if several slots share the blame. masks: of the providers that fall out there.
        """
        if screen.collective & last and screen.term(last).code is Refusal.TRAIT_MISSING:
            # If each trait has a provider with room, the group lacks them only together.
            return self._missing_of([slot])
        # Terms that all of the providers fail come first; else the terms that some fail.
        return screen.at_code(last, reduce(and_, masks)) or screen.at_code(last, reduce(or_, masks))

    def _of_missing_traits(self, slots: Sequence[int]) -> Sequence[Fall]:
        """Return the traits of the unsuffixed group that no provider with room has."""
        first = self._question.screens[slots[0]]
        missing = self._missing_of(slots) if first.soft else 0
        if not missing:
            return ()
        terms = first.terms_of(missing)
        self.missing = set(terms)
        # A provider may serve any of the slots, and lacks the room for all of them.
        local = {
            slot: self._masks[self._question.place[slot]][0][: self._pool.local] for slot in slots
        }
        screens = [self._question.screens[slot] for slot in slots]
        by_term: dict[FallCause, None] = {}
        for screen, masks in zip(screens, local.values(), strict=True):
            by_term |= dict.fromkeys(_causes(screen, masks, missing))
        return [Fall(Refusal.TRAIT_MISSING, terms[0].suffix, cause, slots[0]) for cause in by_term]

    def _missing_of(self, slots: Sequence[int]) -> int:
        """Return the bits of collective terms that no provider with room for a slot meets."""
        missing = [
            mask & screen.collective
            for screen, place in [
                (self._question.screens[slot], self._question.place[slot]) for slot in slots
            ]
            for mask in self._masks[place][0]
            if not mask & screen.stock
        ]
        return reduce(and_, missing) if missing else 0


def _causes(screen: Screen, local: Sequence[int], blamed: int) -> list[FallCause]:
    """Return a cause for terms that no provider of a host meets, and one for the others.

    local: the masks of the host's own providers. blamed: the bits of the terms.
    """
    nowhere = blamed & reduce(and_, local)
    causes = [FallCause(screen.terms_of(nowhere))] if nowhere else []
    somewhere = blamed & ~nowhere
    if somewhere:
        meeting = [mask for mask in local if somewhere & ~mask]
        causes.append(_elsewhere(screen, meeting, somewhere))
    return causes


def _elsewhere(screen: Screen, meeting: Sequence[int], blamed: int) -> FallCause:
    """Return the cause for terms that only unsuitable providers of a host meet.

    meeting: the masks of these providers. blamed: the bits of the terms.
    """
    amounts: tuple[Amount, ...] = ()
    if all(mask & screen.stock for mask in meeting):
        missing = reduce(and_, meeting) & screen.missing
        is_bare = missing == screen.missing
        amounts = screen.amounts
        if is_bare:
            amounts = tuple(amount._replace(units=0) for amount in amounts)
    return FallCause(screen.terms_of(blamed), amounts, Manner.ELSEWHERE)
