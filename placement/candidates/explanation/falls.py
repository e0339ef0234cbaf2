"""Where the groups of a request fall out on a host, each by itself, and what is to blame."""

from collections.abc import Sequence
from functools import reduce
from operator import and_, or_

from placement.candidates.explanation.profiles import Fall, FallCause, first_fall
from placement.candidates.explanation.question import Question
from placement.candidates.explanation.screens import Screen
from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.model import Pool
from placement.candidates.terms import Masks, bits, each_mask, lowest
from placement.candidates.trace import Refusal


class GroupFalls:
    """The falls of one host, by the masks of its providers.

    missing: traits that several providers may bring, and that none with room has.
    """

    def __init__(self, question: Question, pool: Pool, masks: Sequence[Masks]) -> None:
        self.missing: set[StatedTerm] = set()
        self._question = question
        self._pool = pool
        self._masks = masks

    def of_group(self, suffix: str) -> Sequence[Fall]:
        """Return where the slots of a group fall out, of those that do at the first code."""
        slots = self._question.groups[suffix]
        falls = [*map(self._of_slot, slots), self._of_missing_traits(slots)]
        first = first_fall(falls)
        return [fall for fall in falls if fall and first and fall.code is first.code]

    def _of_slot(self, slot: int) -> Fall | None:
        """Return the term at which the last provider falls out; None where one serves."""
        screen = self._question.screens[slot]
        masks = each_mask(self._masks[self._question.place[slot]])
        first = [lowest(mask & screen.hard) for _position, mask in masks]
        if not all(first):
            return None
        last = max(first)
        term = screen.term(last)
        at_code = [
            (position, mask, bit)
            for (position, mask), bit in zip(masks, first, strict=True)
            if screen.term(bit).code is term.code
        ]
        terms = self._blamed(slot, screen, last, [mask for _position, mask, _bit in at_code])
        if not terms:
            return None
        sharing: tuple[int, ...] = ()
        classes: tuple[str, ...] = ()
        if not last & screen.stock:
            sharing, classes = self._only_sharing(screen, masks, first)
        return Fall(
            term.code,
            term.suffix,
            FallCause(terms, classes, bool(sharing)),
            slot,
            tuple(dict.fromkeys(position for position, _mask, bit in at_code if bit == last)),
            tuple(dict.fromkeys(position for position, _mask, _bit in at_code)),
            sharing,
        )

    def _only_sharing(
        self, screen: Screen, masks: Sequence[tuple[int, int]], failed: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the providers with room, and of what, where all are sharing ones; else nothing.

        failed: the first term that each provider fails, by its bit.
        """
        with_room: dict[int, None] = {}
        for (position, _mask), bit in zip(masks, failed, strict=True):
            if not bit & screen.stock:
                with_room[position] = None
        if self._pool.anchor is None or min(with_room) < self._pool.local:
            return (), ()
        return tuple(with_room), tuple([name for name, _units in screen.resources])

    def _blamed(
        self, slot: int, screen: Screen, last: int, masks: Sequence[int]
    ) -> tuple[StatedTerm, ...]:
        """Return the terms to blame at the code of the last one; none where several share it.

        masks: what providers fail that fall out there.
        """
        if screen.collective & last and screen.term(last).code is Refusal.TRAIT_MISSING:
            # Where each trait has a provider with room, that none has all of them joins these.
            return tuple(map(screen.term, bits(self._missing_of([slot]))))
        # What all of them fail is to blame by itself; else what they fail between them.
        return screen.terms_at(last, reduce(and_, masks)) or screen.terms_at(
            last, reduce(or_, masks)
        )

    def _of_missing_traits(self, slots: Sequence[int]) -> Fall | None:
        """Return the traits of the unsuffixed group that no provider with room has."""
        first = self._question.screens[slots[0]]
        missing = self._missing_of(slots) if first.soft else 0
        if not missing:
            return None
        terms = tuple(map(first.term, bits(missing)))
        self.missing = set(terms)
        return Fall(Refusal.TRAIT_MISSING, terms[0].suffix, FallCause(terms), slots[0])

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
