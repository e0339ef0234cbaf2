"""What the providers of a pool fail: a mask of terms for each provider and slot.

From the masks follows all that an explanation says of single groups. Hosts with equal masks are
alike, whatever numbers stand behind them.
"""

from collections.abc import Callable
from operator import or_

from falcon_placement_client.inventory import fits
from placement.candidates.budget import Spend, free
from placement.candidates.explanation.terms import StatedTerm, of_amounts, of_group
from placement.candidates.model import Pool
from placement.candidates.request import Slot
from placement.candidates.terms import Masks, TermChecks, bits, meeting
from placement.candidates.terms.amounts import AMOUNT_CODES, unfit_for_a_part, unfit_whole
from placement.candidates.terms.checks import MAX_REMEMBERED
from falcon_placement_client.inventory import Stock, fits


class _Failed(dict[Stock, int]):
    """Stock -> the bits of the reasons why it cannot serve an amount.

    PERF: hosts of one model that are used alike have equal stocks.
    """

    def __init__(
        self, unfit: Callable[[Stock, int, int, int], int], units: int, missing: int, step: int
    ) -> None:
        super().__init__()
        self.amount = units, missing, step
        self._unfit = unfit

    def __missing__(self, stock: Stock) -> int:
        units, missing, step = self.amount
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        mask = self[stock] = 0 if fits(stock, units) else self._unfit(stock, units, missing, step)
        return mask


class Screen:
    """The terms of a slot, each with a bit: those with lower bits are looked at first.

    terms: by bit. hard: the bits of what every provider has to meet. collective: those of terms
    that the group may leave to several providers. soft: those of them that several may meet
    together, as there are several slots. stock: those of inventories and room. checks: what the
    group asks besides. looks: the work that one provider takes.
    """

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
        self.resources = slot.resources
        self._amounts: list[tuple[str, int, _Failed, _Failed]] = []
        for place, (name, units) in enumerate(slot.resources):
            whole = _Failed(unfit_whole, units, 1 << place, self._classes)
            local = _Failed(unfit_for_a_part, *whole.amount) if in_parts else whole
            self._amounts.append((name, 1 << place, local, whole))
        self.terms = of_amounts(group.suffix, slot.resources)
        first = len(self.terms)
        self.stock = (1 << first) - 1
        self.checks = checks or TermChecks(
            group.terms, spans=not group.suffixed, first=first, spend=spend
        )
        self.terms += of_group(group)
        self.collective = 0
        if not group.suffixed:
            for number, term in enumerate(group.terms, first):
                self.collective |= term.is_collective << number
        self.soft = 0 if alone else self.collective
        self.hard = ((1 << len(self.terms)) - 1) & ~self.soft
        self.looks = 4 + 2 * len(self._amounts)

    def terms_at(self, bit: int, mask: int) -> tuple[StatedTerm, ...]:
        """Return the terms of a mask that have the code of a bit."""
        code = self.term(bit).code
        return tuple([term for term in map(self.term, bits(mask)) if term.code is code])

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
            for name, missing, of_local, of_sharing in self._amounts:
                stock = member.stocks.get(name)
                if stock is None:
                    mask |= missing
                else:
                    mask |= (of_local if position < local else of_sharing)[stock]
            masks.append(mask)
        # PERF: most requests have no terms, and most terms no alternative.
        itself, as_root = of_checks
        return (
            tuple(map(or_, masks, itself)) if itself else tuple(masks),
            tuple(map(or_, masks, as_root)) if as_root else (),
        )
