"""The look-ahead of isolation and capacity, which reserves a provider for each open slot."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from placement.candidates.constraints.base import Undo
from placement.candidates.model import OptionList
from placement.runtime.budget import COST_PER_STEP, Charge, uncharged


class Matching:
    """A bipartite matching of open slots to seats of providers.

    A provider has one seat for each open slot that it can still serve. A complete matching gives a
    seat to each open slot. If a placement makes a complete matching impossible, it is refused
    immediately, before the search continues from it.

    Args:
        options: slot -> providers that may serve it.
        seats: provider -> initial number of seats.
        spend: function that receives the cost of expensive work.
    """

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        seats: Mapping[int, int],
        spend: Charge = uncharged,
    ) -> None:
        self._options = options
        # Provider -> seats that remain after the placed slots.
        self._seats = dict(seats)
        self._spend = spend
        self._matches: dict[int, int] = {}  # open slot -> provider
        self._matched_slots: dict[int, set[int]] = {}  # provider -> slots
        self._placed: list[tuple[int, int, int]] = []  # slot, provider, its previous seats

    def seats(self, provider: int) -> int:
        """Return how many open slots the provider can still serve."""
        return self._seats[provider]

    def complete(self) -> bool:
        """Match each slot. Return False if a slot cannot be matched."""
        return all(slot in self._matches or self._augment(slot) for slot in self._options)

    def place(self, slot: int, provider: int, seats: int) -> Undo | None:
        """Place the slot on the provider, which then has `seats` left for other slots.

        Returns None, without a change, if the other open slots cannot all be matched.
        """
        seats_before = self._seats[provider]
        match = self._matches.pop(slot)
        self._matched_slots[match].discard(slot)
        self._seats[provider] = seats
        matched_slots = self._matched_slots.setdefault(provider, set())
        while len(matched_slots) > seats:
            displaced = matched_slots.pop()
            del self._matches[displaced]
            if self._augment(displaced):
                continue
            # Restore the state. If another slot has taken the previous match of this slot, this
            # provider has a free seat instead, because each chain of moves begins at this provider.
            self._seats[provider] = seats_before
            self._seat(displaced, provider)
            match_is_free = len(self._matched_slots[match]) < self._seats[match]
            self._seat(slot, match if match_is_free else provider)
            return None
        self._placed.append((slot, provider, seats_before))
        return self.undo

    def shrink(self, provider: int, seats: int) -> Undo | None:
        """Reduce the seats of the provider to `seats`.

        Returns None, without a change, if the open slots cannot all be matched.
        """
        seats_before = self._seats.get(provider, 0)
        self._seats[provider] = seats
        matched_slots = self._matched_slots.setdefault(provider, set())
        while len(matched_slots) > seats:
            displaced = matched_slots.pop()
            del self._matches[displaced]
            if not self._augment(displaced):
                # The moved slots have left seats of this provider, so this slot can return to it.
                self._seats[provider] = seats_before
                self._seat(displaced, provider)
                return None
        return partial(self._seats.__setitem__, provider, seats_before)

    def undo(self) -> None:
        """Undo the last placement, and restore the seats of its provider."""
        slot, provider, seats_before = self._placed.pop()
        self._seats[provider] = seats_before
        self._seat(slot, provider)

    def _seat(self, slot: int, provider: int) -> None:
        self._matches[slot] = provider
        self._matched_slots.setdefault(provider, set()).add(slot)

    def _augment(self, slot: int) -> bool:
        """Match the slot. If necessary, move other slots.

        The search is breadth-first, so it finds the shortest chain of moves that ends at a free
        seat. It visits each provider once, because the rest of a chain does not depend on the slot
        that moves to the provider.
        """
        mover_to: dict[int, int] = {}  # provider -> slot that would move there
        waiting = deque([slot])
        while waiting:
            mover = waiting.popleft()
            for looks, provider in enumerate(self._options[mover], start=1):
                if provider in mover_to:
                    continue
                mover_to[provider] = mover
                matched_slots = self._matched_slots.get(provider, ())
                if len(matched_slots) < self._seats[provider]:
                    self._spend(COST_PER_STEP + 2 * looks)
                    self._move_along(slot, provider, mover_to)
                    return True
                waiting.extend(matched_slots)
            self._spend(2 * len(self._options[mover]))
        return False

    def _move_along(self, slot: int, free_provider: int, mover_to: Mapping[int, int]) -> None:
        """Move each slot in the chain to the next provider. `slot` is the last one to move."""
        provider = free_provider
        while True:
            mover = mover_to[provider]
            vacated = self._matches.get(mover)
            self._seat(mover, provider)
            if mover == slot or vacated is None:
                return
            self._matched_slots[vacated].discard(mover)
            provider = vacated


def all_providers(options: Iterable[OptionList]) -> set[int]:
    """Return the providers in any of the options. Many of the options are the same object."""
    return set().union(*set(options))
