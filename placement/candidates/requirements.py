"""The requirements of a slot on a single provider.

Conditions on several slots are in `constraints`.

Conditions that join several slots are in `constraints`.
"""

from collections.abc import Iterable, Sequence
from itertools import starmap

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
from placement.inventory import Stock, fits, sizes


class Requirement:
    """The requirements of equal slots on one provider. They are prepared once for each request."""

    def __init__(self, slot: Slot, terms: Sequence[Term]) -> None:
        """terms: the terms that each provider must satisfy alone."""
        # Positions of the slots.
        self.slots: list[int] = []
        group = slot.group
        # Suffix of the group, or empty for the unsuffixed group.
        self.suffix = group.suffix
        # Class and units of each amount.
        self._resources = slot.resources
        # The checks of the terms, or None if there are no terms.
        self._checks = TermChecks(terms, spans=not group.suffixed) if terms else None
        codes = {term.code for term in terms}
        # Cost of checking one provider.
        self.cost = 2 * (1 + len(slot.resources) + len(codes)) + len(slot.resources)
        self.cost += sum(term.cost for term in group.terms)
        # Key of a set of sharing providers -> positions of the members that can serve the slots.
        self._sharing: dict[object, list[int]] = {}
        # Whether any term also requires something of the root.
        self._asks_root = not group.suffixed and any(
            term.root_role is RootRole.REQUIRED for term in terms
        )

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
        """Return the positions of sharing providers.

        Cached for pools with the same sharing providers.
        """
        key: object = (local, pool.reached)
        if self._asks_root and self._checks is not None and pool.anchor is not None:
            key = (key, self._checks.required_of_root(pool.anchor.root))
        positions = self._sharing.get(key)
        if positions is None:
            positions = self._sharing[key] = self._among(pool, pool.members[local:], local)
        return positions

    def _among(self, pool: Pool, members: Sequence[Member], first: int = 0) -> list[int]:
        """Return the positions of the members that can serve.

        Args:
            first: position of the first of the members in the pool.
        """
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
        if self._checks is None or not positions:
            return positions
        return self._checks.meeting(pool, positions)

    def part_sizes(self, pool: Pool, name: str, amount: int) -> dict[int, range]:
        """Return position -> possible sizes of a part, for the anchor's own members.

        These members satisfy all conditions, except that the whole amount may exceed their
        capacity.
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
        """Return the condition that rejects the last provider of the pool."""
        stocks = self._stocks(pool)
        if not stocks:
            return Refusal.NO_INVENTORY
        positions = [
            position for position, amounts in stocks.items() if all(starmap(fits, amounts))
        ]
        if not positions:
            return _shortage(stocks.values())
        # The first failed term of a provider rejects it. Return the last of these terms.
        checks = self._checks
        with_room = set(positions)
        masks = each_mask(checks.masks(pool)) if checks else []
        bits = [lowest(mask) for position, mask in masks if position in with_room]
        if checks is None or 0 in bits:
            raise ValueError("some provider of the pool can serve")
        return checks.term(max(bits)).code

    def _stocks(self, pool: Pool) -> dict[int, list[tuple[Stock, int]]]:
        """Return position -> (stock, requested units) pairs of members with every class."""
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
    """Return the condition on inventories that rejects the last provider.

    Args:
        stocks: (stock, requested units) pairs of each provider; no provider has room for all
            classes.
    """
    providers = list(stocks)
    for code, allows in STOCK_CONDITIONS:
        providers = [amounts for amounts in providers if all(starmap(allows, amounts))]
        if not providers:
            return code
    raise ValueError("some provider has room")


def requirements(slots: Sequence[Slot], *, alone: bool) -> list[Requirement]:
    """Return the distinct requirements, each with the positions of its slots.

    Args:
        alone: whether one provider serves the whole unsuffixed group.
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
    """Return the terms of a group that each of its providers must satisfy alone.

    Args:
        alone: whether one provider serves the whole unsuffixed group.
    """
    if group.suffixed or alone:
        return group.terms
    return tuple([term for term in group.terms if not term.is_collective])
