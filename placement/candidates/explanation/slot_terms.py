"""The terms that the providers of a pool fail, as a mask for each provider and slot.

The masks determine everything that an explanation states about single groups. Hosts with equal
masks therefore share the result, even if their inventories differ.
"""

from functools import reduce
from itertools import starmap
from operator import and_, or_

from placement.candidates.budget import Charge, uncharged
from placement.candidates.explanation.terms import StatedTerm, terms_from_amounts, terms_from_group
from placement.candidates.model import Pool
from placement.candidates.request import Slot
from placement.candidates.terms import (
    Masks,
    MemberOf,
    PlaceTerm,
    TermChecks,
    each_mask,
    meeting,
)
from placement.candidates.terms.amounts import AMOUNT_CODES, Amount, unfit_for_a_part, unfit_whole
from placement.candidates.trace import Refusal


class SlotTerms:
    """The terms of a slot. Each term has a bit. Terms with lower bits are checked first."""

    def __init__(
        self,
        slot: Slot,
        *,
        alone: bool,
        in_parts: bool = False,
        checks: TermChecks | None = None,
        spend: Charge = uncharged,
    ) -> None:
        """Assign bits to the terms of a slot.

        Args:
            slot: The slot.
            alone: Whether a single provider serves the whole group.
            in_parts: Whether providers of the host's own tree may serve a part of the amount.
            checks: The checks of another slot of the group, or None to create them.
            spend: Charges the work of new checks.
        """
        group = slot.group
        self._in_parts = in_parts
        # Number of classes that the slot requests.
        self._classes = len(slot.resources)
        # The amounts that the slot requests.
        self.amounts = tuple(starmap(Amount, slot.resources))
        # Class, units and bit of each amount.
        self._amounts = [
            (name, units, 1 << index) for index, (name, units) in enumerate(slot.resources)
        ]
        # All terms, in the order of their bits.
        self.terms = terms_from_amounts(group.suffix, slot.resources)
        first = len(self.terms)
        # The bits of the terms about inventories and free capacity.
        self.stock = (1 << first) - 1
        # The checks of all other terms of the group.
        self.checks = checks or TermChecks(
            group.terms, spans=not group.suffixed, first=first, spend=spend
        )
        self.terms += terms_from_group(group)
        # Code -> the bits of the terms that have this code.
        self._by_code: dict[Refusal, int] = {}
        for number, stated in enumerate(self.terms):
            self._by_code[stated.code] = self._by_code.get(stated.code, 0) | 1 << number
        # The bits of terms that the providers of the group may satisfy together.
        self.collective = 0
        if not group.suffixed:
            for number, term in enumerate(group.terms, first):
                self.collective |= term.is_collective << number
        # The bits of terms that require traits.
        self.traits = self._by_code.get(Refusal.TRAIT_MISSING, 0)
        # The bits of terms that name a tree or subtree.
        self.places = 0
        # The bits of terms that name a tree, subtree or aggregate to which providers must belong.
        self.scope = 0
        # The bits of terms that exclude providers with a property.
        self.excluding = 0
        for number, term in enumerate(group.terms, first):
            self.places |= isinstance(term, PlaceTerm) << number
            self.scope |= isinstance(term, (PlaceTerm, MemberOf)) << number
            self.excluding |= term.excludes << number
        # The bits of collective terms, if several providers can serve the group.
        self.soft = 0 if alone else self.collective
        # The bits of terms that each single provider must satisfy.
        self.hard = ((1 << len(self.terms)) - 1) & ~self.soft
        # Work for each provider.
        self.cost = 4 + 2 * len(self._amounts)

    def at_code(self, bit: int, mask: int) -> int:
        """Return the bits of a mask whose terms have the same code as the term of `bit`."""
        return mask & self._by_code[self.term(bit).code]

    def terms_of(self, mask: int) -> tuple[StatedTerm, ...]:
        """Return the terms of a mask.  PERF: called often, with many terms, if all hosts differ."""
        terms = []
        while mask:
            bit = mask & -mask
            terms.append(self.terms[bit.bit_length() - 1])
            mask ^= bit
        return tuple(terms)

    @property
    def missing(self) -> int:
        """The bits of the terms that a provider fails if it lacks an inventory."""
        return (1 << self._classes) - 1

    def term(self, bit: int) -> StatedTerm:
        """Return the term of a bit."""
        return self.terms[bit.bit_length() - 1]

    def bit(self, term: StatedTerm) -> int:
        """Return the bit of a term."""
        return 1 << self.terms.index(term)

    def units(self, index: int) -> int:
        """Return the bits of the conditions on an existing inventory of a class, given by index."""
        numbers = range(1, len(AMOUNT_CODES))
        return sum(1 << (number * self._classes + index) for number in numbers)

    def providers(self, masks: Masks, dropped: int = 0) -> list[int]:
        """Return the positions of the members that fail no term. Dropped bits are ignored."""
        return meeting(masks, self.hard & ~dropped)

    def unserved(self, masks: Masks, local: int) -> int:
        """Return the bits of the terms that every provider of a host fails.

        Sharing providers without any class of the slot do not count, because they cannot serve it.

        Args:
            masks: The masks of the providers.
            local: Number of providers in the tree of the host. They come first.
        """
        without_all = self.missing or -1  # if there are no classes, each provider counts
        counted = [
            mask
            for position, mask in each_mask(masks)
            if position < local or mask & without_all != without_all
        ]
        return reduce(and_, counted)

    def masks(self, pool: Pool, of_checks: Masks) -> Masks:
        """Return the bits of the terms that each member fails.

        Args:
            pool: The providers of a host.
            of_checks: The masks of `checks` for this pool.
        """
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
                # PERF: this is `fits`, inlined because the call takes as long as the function body.
                capacity, used, least, most, step = stock
                if used + units <= capacity and least <= units <= most and not units % step:
                    continue
                unfit = unfit_for_a_part if position < local else unfit_whole
                mask |= unfit(stock, units, missing, self._classes)
            masks.append(mask)
        # PERF: most requests have no terms, and the root rarely substitutes for a member.
        itself, as_root = of_checks
        return (
            tuple(map(or_, masks, itself)) if itself else tuple(masks),
            tuple(map(or_, masks, as_root)) if as_root else (),
        )


def lacking(masks: Masks) -> int:
    """Return the bits of the terms that every provider of a host fails."""
    return reduce(and_, [mask for _position, mask in each_mask(masks)])
