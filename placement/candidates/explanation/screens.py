"""The terms that the providers of a pool fail: a mask for each provider and slot.

What an explanation states of single groups follows from the masks. Hosts with equal masks share it,
independent of their amounts.
"""

from itertools import starmap
from operator import or_

from placement.candidates.budget import Spend, free
from placement.candidates.explanation.terms import StatedTerm, of_amounts, of_group
from placement.candidates.model import Pool
from placement.candidates.request import Slot
from placement.candidates.terms import Masks, PlaceTerm, TermChecks, meeting
from placement.candidates.terms.amounts import AMOUNT_CODES, Amount, unfit_for_a_part, unfit_whole
from placement.candidates.trace import Refusal


class Screen:
    """The terms of a slot, each with a bit: conditions with lower bits are checked first."""

    def __init__(
        self,
        slot: Slot,
        *,
        alone: bool,
        in_parts: bool = False,
        checks: TermChecks | None = None,
        spend: Spend = free,
    ) -> None:
        """alone: one provider serves the whole group.

        in_parts: members of the anchor's tree may serve a part of the amount. checks: those of
        another slot of the group. spend: told of conditions that are looked at.
        """
        group = slot.group
        self._in_parts = in_parts
        self._classes = len(slot.resources)
        # What the slot asks of inventories.
        self.amounts = tuple(starmap(Amount, slot.resources))
        self._amounts = [
            (name, units, 1 << place) for place, (name, units) in enumerate(slot.resources)
        ]
        # All terms, in the order of their bits.
        self.terms = of_amounts(group.suffix, slot.resources)
        first = len(self.terms)
        # The bits of inventories and room.
        self.stock = (1 << first) - 1
        # What the group asks besides.
        self.checks = checks or TermChecks(
            group.terms, spans=not group.suffixed, first=first, spend=spend
        )
        self.terms += of_group(group)
        self._by_code: dict[Refusal, int] = {}
        for number, stated in enumerate(self.terms):
            self._by_code[stated.code] = self._by_code.get(stated.code, 0) | 1 << number
        # The bits of terms that the group may leave to several providers.
        self.collective = 0
        if not group.suffixed:
            for number, term in enumerate(group.terms, first):
                self.collective |= term.is_collective << number
        # The bits of terms that name a tree, and of those that name what a provider must not have.
        self.places = self.excluding = 0
        for number, term in enumerate(group.terms, first):
            self.places |= isinstance(term, PlaceTerm) << number
            self.excluding |= term.excludes << number
        # The bits of terms that several providers may meet together, as there are several slots.
        self.soft = 0 if alone else self.collective
        # The bits of what every provider has to meet.
        self.hard = ((1 << len(self.terms)) - 1) & ~self.soft
        # The work that one provider takes.
        self.looks = 4 + 2 * len(self._amounts)

    def at_code(self, bit: int, mask: int) -> int:
        """Return the bits of a mask whose terms have the code of a bit."""
        return mask & self._by_code[self.term(bit).code]

    def terms_of(self, mask: int) -> tuple[StatedTerm, ...]:
        """Return the terms of a mask.  PERF: unlike hosts have unlike masks of many terms."""
        terms = []
        while mask:
            bit = mask & -mask
            terms.append(self.terms[bit.bit_length() - 1])
            mask ^= bit
        return tuple(terms)

    @property
    def missing(self) -> int:
        """The bits of the classes that a provider has no inventory of."""
        return (1 << self._classes) - 1

    def term(self, bit: int) -> StatedTerm:
        """Return the term that has the bit."""
        return self.terms[bit.bit_length() - 1]

    def bit(self, term: StatedTerm) -> int:
        """Return the bit of a term."""
        return 1 << self.terms.index(term)

    def units(self, place: int) -> int:
        """Return the bits of what an inventory of a class, by its place, has to allow."""
        numbers = range(1, len(AMOUNT_CODES))
        return sum(1 << (number * self._classes + place) for number in numbers)

    def providers(self, masks: Masks, dropped: int = 0) -> list[int]:
        """Return the positions of the members that fail nothing, but for what is dropped."""
        return meeting(masks, self.hard & ~dropped)

    def masks(self, pool: Pool, of_checks: Masks) -> Masks:
        """Return the bits of the terms that each member fails; of_checks: those of the checks."""
        masks: list[int] = []
        local = pool.local if self._in_parts else 0
        for position, member in enumerate(pool.members):
            mask = 0
            stocks = member.stocks
            for name, units, missing in self._amounts:
                stock = stocks.get(name)
                if stock is None:
                    mask |= missing
                    continue
                # PERF: `fits`, of which the call takes as long as it does.
                capacity, used, least, most, step = stock
                if used + units <= capacity and least <= units <= most and not units % step:
                    continue
                unfit = unfit_for_a_part if position < local else unfit_whole
                mask |= unfit(stock, units, missing, self._classes)
            masks.append(mask)
        # PERF: most requests have no terms, and most terms no alternative.
        itself, as_root = of_checks
        return (
            tuple(map(or_, masks, itself)) if itself else tuple(masks),
            tuple(map(or_, masks, as_root)) if as_root else (),
        )
