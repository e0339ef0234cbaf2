"""The requirements of a slot on a single provider.

Conditions that join several slots are in `constraints`.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, reduce
from itertools import starmap
from operator import and_, or_

from placement.candidates.model import Member, Pool, Refusal
from placement.candidates.request import Slot, StatedTerm, terms_from_amounts, terms_from_group
from placement.candidates.terms import (
    Masks,
    MemberOf,
    PlaceTerm,
    RootRole,
    Term,
    TermChecks,
    each_mask,
    lowest,
    meeting,
)
from placement.candidates.terms.amounts import AMOUNT_CODES, Amount, unfit_for_a_part, unfit_whole
from placement.inventory import fits
from placement.runtime.budget import Charge, uncharged


class Requirement:
    """The conditions of equal slots on one provider. They are prepared once for each request.

    Each condition has a bit, first the amounts and then the terms of the group, in the order in
    which they are checked. A search stops at the first condition that a provider fails. An
    explanation evaluates all conditions: the *mask* of a provider has the bits of those that it
    fails. The masks determine everything that an explanation states about single groups, so hosts
    with equal masks share the result, even if their inventories differ.
    """

    def __init__(
        self,
        slot: Slot,
        *,
        alone: bool,
        checks: TermChecks | None = None,
        spend: Charge = uncharged,
    ) -> None:
        """Assign bits to the conditions of a slot.

        Args:
            slot: the slot.
            alone: whether a single provider serves the whole group. If several providers serve it,
                they may satisfy its collective terms together.
            checks: the checks of another slot of the group, or None to create them.
            spend: charges the evaluation of terms.
        """
        group = slot.group
        # Positions of the slots.
        self.slots: list[int] = []
        # The group of the first slot.
        self.group = group
        # Class and units of each amount.
        self._resources = slot.resources
        # Class, units and bit of each amount.
        self._amounts = [
            (name, units, 1 << index) for index, (name, units) in enumerate(slot.resources)
        ]
        # The bits of the conditions that a provider fails if it lacks an inventory.
        self.missing = (1 << len(slot.resources)) - 1
        # Whether several providers may serve the amount in parts.
        self._may_split = slot.may_split
        # Number of the bit of the first term. The bits of amounts are lower.
        self._first = len(AMOUNT_CODES) * len(slot.resources)
        # The code of each condition, by the number of its bit.
        self._codes = [code for code in AMOUNT_CODES for _resource in slot.resources]
        self._codes += [term.code for term in group.terms]
        # The checks of the terms.
        self.checks = checks or TermChecks(
            group.terms, spans=not group.suffixed, first=self._first, spend=spend
        )
        # The bits of collective terms, if several providers can serve the group.
        self.soft = 0 if alone or not group.terms else self.collective
        # The bits of conditions that each single provider must satisfy.
        self.hard = ((1 << self._first + len(group.terms)) - 1) & ~self.soft
        # The terms that each single provider must satisfy.
        self.own_terms: Sequence[Term] = group.terms
        if self.soft:
            self.own_terms = [term for term in group.terms if not term.is_collective]
        # Key of a set of sharing providers -> positions of the members that can serve the slots.
        self._sharing: dict[object, list[int]] = {}
        required = [term for term in self.own_terms if term.root_role is RootRole.REQUIRED]
        # Whether any term also requires something of the root.
        self._asks_root = bool(required) and not group.suffixed

    # -- the first condition that fails --------------------------------------------------------

    def providers(self, pool: Pool) -> list[int]:
        """Return the positions of the members that can serve the slots."""
        if pool.sharing and pool.anchor is not None:
            own = pool.anchor.members
            return self._among(pool, own) + self._sharing_providers(pool, len(own))
        return self._among(pool, pool.members)

    def current_providers(self, pool: Pool) -> list[int]:
        """Like `providers`, but without a cache, for pools whose sharing providers change."""
        return self._among(pool, pool.members)

    def _sharing_providers(self, pool: Pool, local: int) -> list[int]:
        """Return the positions of sharing providers, which are cached for each set of them."""
        key: object = (local, pool.reached)
        if self._asks_root and pool.anchor is not None:
            key = (key, self.checks.required_of_root(pool.anchor.root))
        positions = self._sharing.get(key)
        if positions is None:
            positions = self._sharing[key] = self._among(pool, pool.members[local:], local)
        return positions

    def _among(self, pool: Pool, members: Sequence[Member], first: int = 0) -> list[int]:
        """Return the positions of the members that can serve. `first` is that of the first."""
        positions = []
        # PERF: these are loops, because a call for each member takes longer and most trees are
        # small.
        for position, member in enumerate(members, first):
            stocks = member.stocks
            for name, amount in self._resources:
                stock = stocks.get(name)
                if stock is None or not fits(stock, amount):
                    break
            else:
                positions.append(position)
        if not self.own_terms or not positions:
            return positions
        return self.checks.meeting(pool, positions, self.hard)

    def part_providers(self, pool: Pool) -> list[int]:
        """Like `current_providers`, but with members that can serve a part if that is allowed.

        Only the anchor's own members can serve a part.
        """
        if not self._may_split:
            return self._among(pool, pool.members)
        masks = self._amount_masks(pool, in_parts=True)
        positions = [position for position, mask in enumerate(masks) if not mask]
        return self.checks.meeting(pool, positions, self.hard) if self.own_terms else positions

    def refusal(self, pool: Pool) -> Refusal:
        """Return the condition that rejects the last provider of the pool.

        Raises:
            ValueError: some provider can serve.
        """
        masks = self._amount_masks(pool, in_parts=False)
        of_pool: Masks = (masks, ())
        if not all(masks) and self.own_terms:
            of_pool = _joined(masks, self.checks.masks(pool))
        last = self.last_failed(of_pool)
        if not last:
            raise ValueError("some provider of the pool can serve")
        return self.code(last)

    def code(self, bit: int) -> Refusal:
        """Return the code of the condition of a bit."""
        return self._codes[bit.bit_length() - 1]

    # -- all conditions that fail --------------------------------------------------------------

    def masks(self, pool: Pool, of_checks: Masks | None) -> Masks:
        """Return the mask of each member.

        Args:
            pool: the members.
            of_checks: the masks of `checks` for the pool, or None if there are no terms.
        """
        masks = self._amount_masks(pool, in_parts=self._may_split)
        # PERF: most requests have no terms.
        return (tuple(masks), ()) if of_checks is None else _joined(masks, of_checks)

    def _amount_masks(self, pool: Pool, *, in_parts: bool) -> list[int]:
        masks: list[int] = []
        local = pool.local if in_parts else 0
        classes = len(self._resources)
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
                mask |= unfit(stock, units, missing, classes)
            masks.append(mask)
        return masks

    def meeting(self, masks: Masks, dropped: int = 0) -> list[int]:
        """Return the positions of the members that can serve if some bits are ignored."""
        return meeting(masks, self.hard & ~dropped)

    def last_failed(self, masks: Masks) -> int:
        """Return the bit of the condition that rejects the last provider, or 0 if one can serve.

        A provider is rejected at the first condition that it fails.
        """
        first = [lowest(mask & self.hard) for _position, mask in each_mask(masks)]
        return max(first, default=1) if all(first) else 0

    def failed_by_all(self, masks: Masks, local: int | None = None) -> int:
        """Return the bits of the conditions that every provider of a host fails.

        Args:
            masks: the masks of the host.
            local: number of providers in the tree of the host. If given, sharing providers without
                any class of the slot do not count, because they cannot serve it.
        """
        counted = [*masks[0], *masks[1]]
        if local is not None:
            without_all = self.missing or -1  # if there are no classes, each provider counts
            counted = [
                mask
                for position, mask in each_mask(masks)
                if position < local or mask & without_all != without_all
            ]
        return reduce(and_, counted)

    # -- the conditions in explanations --------------------------------------------------------

    def of_group(self, suffix: str) -> "Requirement":
        """Return the requirement of another group with equal conditions."""
        if suffix == self.group.suffix:
            return self
        other = copy(self)
        other.group = replace(self.group, suffix=suffix)
        other.__dict__.pop("terms", None)
        return other

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """The requested amounts."""
        return tuple(starmap(Amount, self._resources))

    @cached_property
    def terms(self) -> Sequence[StatedTerm]:
        """The conditions as an explanation states them, in the order of their bits."""
        amounts = terms_from_amounts(self.group.suffix, self._resources)
        return amounts + terms_from_group(self.group)

    @cached_property
    def _by_code(self) -> dict[Refusal, int]:
        """Code -> the bits of the conditions that have this code."""
        by_code: dict[Refusal, int] = {}
        for number, code in enumerate(self._codes):
            by_code[code] = by_code.get(code, 0) | 1 << number
        return by_code

    def _bits_of(self, is_meant: Callable[[Term], bool]) -> int:
        bits = 0
        for number, term in enumerate(self.group.terms, self._first):
            bits |= is_meant(term) << number
        return bits

    @property
    def stock(self) -> int:
        """The bits of conditions on inventories and free capacity."""
        return (1 << self._first) - 1

    @cached_property
    def collective(self) -> int:
        """The bits of terms that several providers of the group may satisfy together."""
        return 0 if self.group.suffixed else self._bits_of(lambda term: term.is_collective)

    @property
    def traits(self) -> int:
        """The bits of terms that require traits."""
        return self._by_code.get(Refusal.TRAIT_MISSING, 0)

    @cached_property
    def places(self) -> int:
        """The bits of terms that name a tree or subtree."""
        return self._bits_of(lambda term: isinstance(term, PlaceTerm))

    @cached_property
    def scope(self) -> int:
        """The bits of terms that name a tree, subtree or aggregate of the providers."""
        return self._bits_of(lambda term: isinstance(term, PlaceTerm | MemberOf))

    @cached_property
    def excluding(self) -> int:
        """The bits of terms that exclude providers with a property."""
        return self._bits_of(lambda term: term.excludes)

    def at_code(self, bit: int, mask: int) -> int:
        """Return the bits of a mask whose conditions have the same code as the one of `bit`."""
        return mask & self._by_code[self.code(bit)]

    def terms_of(self, mask: int) -> tuple[StatedTerm, ...]:
        """Return the conditions of a mask.  PERF: called often if all hosts differ."""
        terms = []
        while mask:
            bit = mask & -mask
            terms.append(self.terms[bit.bit_length() - 1])
            mask ^= bit
        return tuple(terms)

    def term(self, bit: int) -> StatedTerm:
        """Return the condition of a bit."""
        return self.terms[bit.bit_length() - 1]

    def bit(self, term: StatedTerm) -> int:
        """Return the bit of a condition."""
        return 1 << self.terms.index(term)

    def units(self, index: int) -> int:
        """Return the bits of the conditions on an existing inventory of a class, given by index."""
        numbers = range(1, len(AMOUNT_CODES))
        return sum(1 << (number * len(self._resources) + index) for number in numbers)


def _joined(masks: Sequence[int], of_checks: Masks) -> Masks:
    """Return the masks of amounts and of terms together."""
    # PERF: the root rarely substitutes for a member.
    itself, as_root = of_checks
    return (
        tuple(map(or_, masks, itself)) if itself else tuple(masks),
        tuple(map(or_, masks, as_root)) if as_root else (),
    )
