"""What the providers of a pool fail: a mask of terms for each provider and slot.

From the masks follows all that an explanation says of single groups. Hosts with equal masks are
alike, whatever numbers stand behind them.
"""

from collections.abc import Hashable, Iterator, Sequence
from operator import or_

from placement.candidates.budget import Spend, free
from placement.candidates.explanation.terms import STOCK_CODES, Term, group_terms, root_terms
from placement.candidates.model import Member, Pool, Slot
from placement.candidates.request import RequestGroup, RootTerms
from placement.candidates.requirements import STOCK_CONDITIONS, Condition
from placement.candidates.trace import Refusal
from placement.client.inventory import Stock, fits, sizes

Masks = tuple[int, ...]

MOST_MASKS = 10_000  # of sets of traits or aggregates that are kept, for each screen

UNKNOWN = -1  # no mask

# Of one condition of a group, put to one provider.
LOOKS_PER_CONDITION = 4


class _Conditions:
    """Conditions that read one thing of a provider, and what came of what they have read."""

    def __init__(self, spend: Spend) -> None:
        self.count = 0
        self._spend = spend
        self._conditions: list[tuple[int, Condition]] = []
        self._mask_of: dict[Hashable, int] = {}

    def add(self, bit: int, condition: Condition) -> None:
        """Add a condition, whose bit says that it fails."""
        self.count += 1
        self._conditions.append((bit, condition))

    def failed(self, pool: Pool, position: int) -> int:
        """Return the bits of those that a member fails.  Raises BudgetSpentError."""
        self._spend(LOOKS_PER_CONDITION * self.count)
        mask = 0
        for bit, holds in self._conditions:
            if not holds(pool, position):
                mask |= bit
        return mask

    def masks(self, pool: Pool, reads: Sequence[Hashable]) -> list[int]:
        """Return what each member fails, worked out once for all in which the same is read."""
        mask_of = self._mask_of
        masks = [mask_of.get(read, UNKNOWN) for read in reads]
        if UNKNOWN in masks:
            if len(mask_of) + len(masks) > MOST_MASKS:
                mask_of.clear()
            for position, read in enumerate(reads):
                masks[position] = mask_of[read] = self.failed(pool, position)
        return masks


class Filters:
    """What a group asks of a provider besides resources; the slots of a group share it.

    terms: by bit, from `first` on.
    """

    def __init__(
        self, group: RequestGroup, stated: RequestGroup, first: int, spend: Spend = free
    ) -> None:
        self.terms: list[Term] = []
        # The aggregates of the root count for the unsuffixed group in all of its tree.
        self._spans = not group.suffixed
        self._traits, self._aggregates = _Conditions(spend), _Conditions(spend)
        self._membership, self._trees = _Conditions(spend), _Conditions(spend)
        kinds = {
            Refusal.NOT_IN_AGGREGATE: self._membership,
            Refusal.IN_FORBIDDEN_AGGREGATE: self._aggregates,
            Refusal.IN_TREE: self._trees,
            Refusal.SUBTREE: self._trees,
        }
        for term, condition in group_terms(group, stated):
            kinds.get(term.code, self._traits).add(1 << (first + len(self.terms)), condition)
            self.terms.append(term)

    def masks(self, pool: Pool) -> Sequence[int]:
        """Return the bits of the terms that each member fails; nothing where there are no terms.

        Where a member or else the root must be in several aggregates, the members come a second
        time, with what the root fails: it is one or the other who must be in all of them.
        """
        if not self.terms:
            return ()
        members = pool.members
        masks = [0] * len(members)
        if self._traits.count:
            masks = self._traits.masks(pool, [member.traits for member in members])
        if self._aggregates.count:
            reads: list[Hashable] = [member.aggregates for member in members]
            if self._spans and pool.anchor is not None:
                reads = [(aggregates, pool.anchor.root.aggregates) for aggregates in reads]
            masks = list(map(or_, masks, self._aggregates.masks(pool, reads)))
        if self._trees.count:
            of_place = [self._trees.failed(pool, position) for position in range(len(members))]
            masks = list(map(or_, masks, of_place))
        return self._with_membership(pool, masks) if self._membership.count else masks

    def _with_membership(self, pool: Pool, masks: list[int]) -> Sequence[int]:
        of_members = self._membership.masks(pool, [member.aggregates for member in pool.members])
        if not self._spans or pool.anchor is None:
            return list(map(or_, masks, of_members))
        of_root, local = of_members[0], pool.local
        if self._membership.count > 1:
            as_root = [of_root] * local + of_members[local:]
            return [*map(or_, masks, of_members), *map(or_, masks, as_root)]
        spanned = [mask & of_root for mask in of_members[:local]] + of_members[local:]
        return list(map(or_, masks, spanned))


class Screen:
    """The terms of a slot, each with a bit: those with lower bits are looked at first.

    terms: by bit. hard: the bits of what every provider has to meet. soft: those of traits that
    several providers may bring together. stock: those of inventories and room. filters: what the
    group asks besides. looks: the work that one provider takes.
    """

    def __init__(
        self,
        slot: Slot,
        stated: RequestGroup,
        *,
        alone: bool,
        in_parts: bool = False,
        filters: Filters | None = None,
        spend: Spend = free,
    ) -> None:
        """stated: the group with names as the client wrote them.  alone: as of `Requirement`.

        in_parts: members of the anchor's tree may serve a part of the amount. filters: those of
        another slot of the group. spend: told of conditions that are looked at.
        """
        self._in_parts = in_parts
        self._classes = len(slot.resources)
        self._resources = [
            (name, amount, 1 << place) for place, (name, amount) in enumerate(slot.resources)
        ]
        self.terms = [
            Term(code, "resources", stated.suffix, resource)
            for code in STOCK_CODES
            for resource in slot.resources
        ]
        first = len(self.terms)
        self.stock = (1 << first) - 1
        self.filters = filters or Filters(slot.group, stated, first, spend)
        self.terms += self.filters.terms
        self.soft = 0
        if not alone:
            for place, term in enumerate(self.terms):
                self.soft |= (term.code is Refusal.TRAIT_MISSING) << place
        self.hard = ((1 << len(self.terms)) - 1) & ~self.soft
        self.looks = 4 + 2 * len(self._resources)

    def term(self, bit: int) -> Term:
        """Return the term that has the bit."""
        return self.terms[bit.bit_length() - 1]

    def bit(self, term: Term) -> int:
        """Return the bit of a term."""
        return 1 << self.terms.index(term)

    def units(self, place: int) -> int:
        """Return the bits of what an inventory of a class, by its place, has to allow."""
        numbers = range(1, len(STOCK_CODES))
        return sum(1 << (number * self._classes + place) for number in numbers)

    def providers(self, masks: Masks, members: int, dropped: int = 0) -> list[int]:
        """Return the positions of the members that fail nothing, but for what is dropped."""
        needed = self.hard & ~dropped
        positions = [place for place, mask in enumerate(masks) if not mask & needed]
        if len(masks) == members:
            return positions
        return sorted({position % members for position in positions})

    def masks(self, pool: Pool, filtered: Sequence[int]) -> Masks:
        """Return the bits of the terms that each member fails; filtered: those of the filters."""
        masks: list[int] = []
        for position, member in enumerate(pool.members):
            mask = 0
            for name, amount, missing in self._resources:
                stock = member.stocks.get(name)
                if stock is None:
                    mask |= missing
                elif not fits(stock, amount):
                    part = self._in_parts and position < pool.local
                    unfit = self._unfit_for_a_part if part else self._unfit
                    mask |= unfit(stock, amount, missing)
            masks.append(mask)
        if not filtered:
            return tuple(masks)
        if len(filtered) > len(masks):
            masks += masks
        return tuple(map(or_, masks, filtered))

    def _unfit(self, stock: Stock, amount: int, missing: int) -> int:
        """Return the bits of what the stock does not allow; `missing` is that of its class."""
        mask, bit = 0, missing
        for _code, allows in STOCK_CONDITIONS:
            bit <<= self._classes
            if not allows(stock, amount):
                mask |= bit
        return mask

    def _unfit_for_a_part(self, stock: Stock, amount: int, missing: int) -> int:
        """Return the bit of the first thing that does not allow even the smallest part."""
        parts = sizes(stock, amount)
        if parts:
            return 0
        code = Refusal.CAPACITY
        if parts.start > amount:
            code = Refusal.MIN_UNIT
        elif parts.start > stock.max_unit:
            code = Refusal.MAX_UNIT
        return missing << (self._classes * STOCK_CODES.index(code))


class RootScreen:
    """What is asked of the root of an anchor, each term with a bit."""

    def __init__(self, root: RootTerms, stated: RootTerms) -> None:
        pairs = list(root_terms(root, stated))
        self.terms = [term for term, _condition in pairs]
        self._conditions = [
            (1 << place, condition) for place, (_term, condition) in enumerate(pairs)
        ]
        self._mask_of: dict[tuple[frozenset[str], frozenset[str]], int] = {}

    def mask(self, root: Member) -> int:
        """Return the bits of the terms that a root fails."""
        if not self._conditions:
            return 0
        read = root.traits, root.aggregates
        mask = self._mask_of.get(read)
        if mask is None:
            if len(self._mask_of) >= MOST_MASKS:
                self._mask_of.clear()
            mask = self._mask_of[read] = sum(
                bit for bit, holds in self._conditions if not holds(root)
            )
        return mask


def lowest(mask: int) -> int:
    """Return the lowest bit of a mask; 0 where there is none."""
    return mask & -mask


def bits(mask: int) -> Iterator[int]:
    """Yield the bits of a mask, the lowest first."""
    while mask:
        bit = lowest(mask)
        yield bit
        mask ^= bit
