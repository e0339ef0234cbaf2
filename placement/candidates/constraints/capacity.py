"""Capacity: the amounts of one class that several slots take from a provider must fit together."""

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Self

from placement.candidates.constraints.base import Constraint, Undo
from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList, Pool, Refusal
from placement.candidates.plan import SearchPlan
from placement.runtime.budget import Charge, uncharged

MAX_SIZES = 8  # distinct amounts of one class that the look-ahead considers


class Capacity(Constraint):
    """The amounts of one class that slots take from a provider must not exceed its free capacity.

    Args:
        options: slot -> providers that may serve it.
        amounts: slot -> units.
        room: provider -> free units.
        spend: function that receives the cost of expensive work.
    """

    code = Refusal.CAPACITY_SUM
    applies = attrgetter("contended_classes")
    reads_stocks = True

    def __init__(
        self,
        options: Mapping[int, OptionList],
        amounts: Mapping[int, int],
        room: Mapping[int, int],
        spend: Charge = uncharged,
    ) -> None:
        self.slots = frozenset(options)
        self._amounts = amounts
        # Provider -> units that remain after the placed slots.
        self._room = dict(room)
        # The number of seats assumes that all slots have the smallest amount, so it is never too
        # low.
        self._least = min(amounts.values())
        # A matching of the open slots to seats of providers, for the look-ahead.
        self._matching = Matching(
            options, {provider: units // self._least for provider, units in room.items()}, spend
        )
        # Provider and units of each placement, in order.
        self._placed: list[tuple[int, int]] = []

    @classmethod
    def signature(cls, plan: SearchPlan, pool: Pool) -> Hashable:
        """Return how much of each contended class each member can provide for any slots.

        Only sums of requested amounts matter. Two free capacities between the same two sums are
        equivalent, so hosts with different usages may have equal signatures.
        """
        classes = []
        for name in plan.contended_classes:
            sums = plan.sums[name]
            rooms = [stock and bisect_right(sums, stock.room) for stock in pool.stocks(name)]
            classes.append(tuple(rooms))
        return tuple(classes)

    @classmethod
    def build(
        cls, plan: SearchPlan, pool: Pool, options: Sequence[OptionList], spend: Charge
    ) -> Sequence[Self]:
        """Make constraints for each class that several slots request."""
        constraints: list[Self] = []
        for name in plan.contended_classes:
            # Slots that may be split have no options here. Their providers are chosen at the end.
            amounts = {slot: each for slot, each in plan.amounts_of(name).items() if options[slot]}
            for large in _by_least_amount(amounts):
                servers = {slot: options[slot] for slot in large}
                room = {
                    position: pool.members[position].stocks[name].room
                    for position in all_providers(servers.values())
                }
                constraints.append(cls(servers, large, room, spend))
        return constraints

    def feasible(self) -> bool:
        """Return whether each slot can have a seat."""
        return self._matching.complete()

    def add(self, slot: int, provider: int) -> Undo | None:
        """Subtract the slot's amount from the provider's free capacity."""
        amount = self._amounts[slot]
        left = self._room[provider] - amount
        if left < 0 or self._matching.place(slot, provider, left // self._least) is None:
            return None
        self._room[provider] = left
        self._placed.append((provider, amount))
        return self._undo

    def _undo(self) -> None:
        provider, amount = self._placed.pop()
        self._room[provider] += amount
        self._matching.undo()


def _by_least_amount(amounts: Mapping[int, int]) -> Iterator[Mapping[int, int]]:
    """Yield, for each distinct amount, the slots with at least this amount, and their amounts.

    The look-ahead treats all slots as if they had the smallest amount. Therefore, slots with large
    amounts get additional constraints that do not include smaller amounts.
    """
    for least in sorted(set(amounts.values()))[:MAX_SIZES]:
        large = {slot: amount for slot, amount in amounts.items() if amount >= least}
        if len(large) < 2:
            return
        yield large
