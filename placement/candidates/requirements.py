"""What a slot asks of a single provider, and which providers of a pool meet it alone.

What joins several slots is in `constraints`.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap

from falcon_placement_client.inventory import Stock, fits, sizes
from placement.candidates.model import Member, Pool
from placement.candidates.request import RequestGroup, Slot
from placement.candidates.terms import (
    STOCK_CONDITIONS,
    RootRole,
    Term,
    TermChecks,
    each_mask,
    lowest,
)
from placement.candidates.trace import Refusal


class Requirement:
    """What slots that ask the same ask of a provider, worked out once for a request.

    slots: their positions. looks: the work that one provider takes.
    """

    def __init__(self, slot: Slot, terms: Sequence[Term]) -> None:
        """terms: those that a provider must meet by itself."""
        self.slots: list[int] = []
        group = slot.group
        self.suffix = group.suffix
        self._resources = slot.resources
        self._checks = TermChecks(terms, spans=not group.suffixed) if terms else None
        # What one provider takes, in looks; most is seen at a glance.
        codes = {term.code for term in terms}
        self.looks = 2 * (1 + len(slot.resources) + len(codes)) + len(slot.resources)
        self.looks += sum(term.looks for term in group.terms)
        self._sharing: dict[object, list[int]] = {}
        self._asks_root = not group.suffixed and any(
            term.root_role is RootRole.REQUIRED for term in terms
        )

    def providers(self, pool: Pool) -> list[int]:
        """Return the positions of the members that could serve."""
        if pool.sharing and pool.anchor is not None:
            own = pool.anchor.members
            return self._among(pool, own) + self._sharing_providers(pool, len(own))
        return self._among(pool, pool.members)

    def _sharing_providers(self, pool: Pool, local: int) -> list[int]:
        """Return the positions of sharing providers, told once for pools that have the same."""
        key: object = (local, pool.reached)
        if self._asks_root and self._checks is not None and pool.anchor is not None:
            key = (key, self._checks.required_of_root(pool.anchor.root))
        positions = self._sharing.get(key)
        if positions is None:
            positions = self._sharing[key] = self._among(pool, pool.members[local:], local)
        return positions

    def _among(self, pool: Pool, members: Sequence[Member], first: int = 0) -> list[int]:
        """Return the positions of those members that could serve; they stand there from `first`."""
        positions = []
        # PERF: loops, for most trees have few members, and to call for each takes longer.
        for position, member in enumerate(members, first):
            stocks = member.stocks
            for name, amount in self._resources:
                stock = stocks.get(name)
                if stock is None or not fits(stock, amount):
                    break
            else:
                positions.append(position)
        if self._checks is None or not positions:
            return positions
        return self._checks.meeting(pool, positions)

    def part_sizes(self, pool: Pool, name: str, amount: int) -> dict[int, range]:
        """Return position -> units that a part of the amount may be, of the anchor's own members.

        They are those that meet all conditions but that of having room for all of it.
        """
        units = {
            position: sizes(stock, amount)
            for position, member in enumerate(pool.members[: pool.local])
            if (stock := member.stocks.get(name)) is not None
        }
        positions = [position for position, parts in units.items() if parts]
        if self._checks:
            positions = self._checks.meeting(pool, positions)
        return {position: units[position] for position in positions}

    def refusal(self, pool: Pool) -> Refusal:
        """Return the condition at which the last provider of the pool falls out."""
        stocks = self._stocks(pool)
        if not stocks:
            return Refusal.NO_INVENTORY
        positions = [
            position for position, amounts in stocks.items() if all(starmap(fits, amounts))
        ]
        if not positions:
            return _shortage(stocks.values())
        # The code that is looked at last, of those at which each of them falls out first.
        checks = self._checks
        with_room = set(positions)
        masks = each_mask(checks.masks(pool)) if checks else []
        bits = [lowest(mask) for position, mask in masks if position in with_room]
        if checks is None or 0 in bits:
            raise ValueError("some provider of the pool can serve")
        return checks.term(max(bits)).code

    def _stocks(self, pool: Pool) -> dict[int, list[tuple[Stock, int]]]:
        """Return what members with an inventory of every class have, beside what is asked."""
        stocks: dict[int, list[tuple[Stock, int]]] = {}
        for position, member in enumerate(pool.members):
            amounts = [
                (member.stocks[name], amount)
                for name, amount in self._resources
                if name in member.stocks
            ]
            if len(amounts) == len(self._resources):
                stocks[position] = amounts
        return stocks


def _shortage(stocks: Iterable[Sequence[tuple[Stock, int]]]) -> Refusal:
    """Return the condition at which the last provider falls out: what each has, and what is asked.

    They have inventory of every class, and none has room for all.
    """
    providers = list(stocks)
    for code, allows in STOCK_CONDITIONS:
        providers = [amounts for amounts in providers if all(starmap(allows, amounts))]
        if not providers:
            return code
    raise ValueError("some provider has room")


def requirements(slots: Sequence[Slot], *, alone: bool) -> list[Requirement]:
    """Return the different requirements, each with the slots (by position) that have it.

    alone: one provider serves the whole unsuffixed group.
    """
    by_key: dict[tuple[object, ...], Requirement] = {}
    for position, slot in enumerate(slots):
        terms = own_terms(slot.group, alone=alone)
        meanings = tuple([term.meaning for term in terms])
        key = slot.group.suffixed, slot.resources, meanings
        if key not in by_key:
            by_key[key] = Requirement(slot, terms)
        by_key[key].slots.append(position)
    return list(by_key.values())


def own_terms(group: RequestGroup, *, alone: bool) -> tuple[Term, ...]:
    """Return the terms of a group that each of its providers must meet by itself.

    alone: one provider serves the whole unsuffixed group.
    """
    if group.suffixed or alone:
        return group.terms
    return tuple([term for term in group.terms if not term.is_collective])
