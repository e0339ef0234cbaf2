"""The look-ahead of isolation and capacity: every open slot keeps a provider free for it."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from placement.candidates.budget import Spend, free
from placement.candidates.constraints.base import Undo
from placement.candidates.model import OptionList

# What it takes to seat a slot, besides the providers looked at.
LOOKS_PER_MOVE = 10


class Matching:
    """A bipartite matching of open slots to providers' seats.

    A provider has as many seats as open slots it can still take. While the matching is complete,
    no slot is without a provider; a placement after which it cannot be completed is refused at
    once, and not after everything that could follow it has been tried.

    options: slot -> providers that may serve it. seats: provider -> number of seats at first.
    """

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        seats: Mapping[int, int],
        spend: Spend = free,
    ) -> None:
        self._options = options
        self._seats = dict(seats)
        self._spend = spend
        self._partners: dict[int, int] = {}  # open slot -> provider
        self._guests: dict[int, set[int]] = {}  # provider -> slots
        self._placed: list[tuple[int, int, int]] = []  # slot, provider, its seats before

    def seats(self, provider: int) -> int:
        """How many open slots the provider can still take."""
        return self._seats[provider]

    def complete(self) -> bool:
        """Find a partner for every slot; False when some slot must go without."""
        return all(slot in self._partners or self._augment(slot) for slot in self._options)

    def place(self, slot: int, provider: int, seats: int) -> Undo | None:
        """Take the slot out, placed on the provider, which is left with so many seats.

        None, with nothing changed, when the other open slots cannot all keep a partner.
        """
        seats_before = self._seats[provider]
        partner = self._partners.pop(slot)
        self._guests[partner].discard(slot)
        self._seats[provider] = seats
        guests = self._guests.setdefault(provider, set())
        while len(guests) > seats:
            displaced = guests.pop()
            del self._partners[displaced]
            if self._augment(displaced):
                continue
            # As before, or nearly: another slot may have moved to the old partner meanwhile. Then
            # it has left a seat of this provider, where each such chain of moves begins.
            self._seats[provider] = seats_before
            self._seat(displaced, provider)
            partner_is_free = len(self._guests[partner]) < self._seats[partner]
            self._seat(slot, partner if partner_is_free else provider)
            return None
        self._placed.append((slot, provider, seats_before))
        return self.undo

    def shrink(self, provider: int, seats: int) -> Undo | None:
        """Leave the provider no more than so many seats.

        None, with nothing changed, when the open slots cannot all keep a partner.
        """
        seats_before = self._seats.get(provider, 0)
        self._seats[provider] = seats
        guests = self._guests.setdefault(provider, set())
        while len(guests) > seats:
            displaced = guests.pop()
            del self._partners[displaced]
            if not self._augment(displaced):
                # Those that have moved leave room for this one to come back.
                self._seats[provider] = seats_before
                self._seat(displaced, provider)
                return None
        return partial(self._seats.__setitem__, provider, seats_before)

    def undo(self) -> None:
        """Open the slot that was placed last; its provider has its seats again."""
        slot, provider, seats_before = self._placed.pop()
        self._seats[provider] = seats_before
        self._seat(slot, provider)

    def _seat(self, slot: int, provider: int) -> None:
        self._partners[slot] = provider
        self._guests.setdefault(provider, set()).add(slot)

    def _augment(self, slot: int) -> bool:
        """Seat the slot, moving others where that makes room.

        The search goes by breadth, so the first free seat ends the shortest chain of moves. Each
        provider is visited once: what leads from it to a free seat does not depend on the mover.
        """
        mover_to: dict[int, int] = {}  # provider -> slot that would move there
        waiting = deque([slot])
        while waiting:
            mover = waiting.popleft()
            for looks, provider in enumerate(self._options[mover], start=1):
                if provider in mover_to:
                    continue
                mover_to[provider] = mover
                guests = self._guests.get(provider, ())
                if len(guests) < self._seats[provider]:
                    self._spend(LOOKS_PER_MOVE + 2 * looks)
                    self._move_along(slot, provider, mover_to)
                    return True
                waiting.extend(guests)
            self._spend(2 * len(self._options[mover]))
        return False

    def _move_along(self, slot: int, free_provider: int, mover_to: Mapping[int, int]) -> None:
        """Move each slot of the chain one provider further; the last to move is `slot`."""
        provider = free_provider
        while True:
            mover = mover_to[provider]
            vacated = self._partners.get(mover)
            self._seat(mover, provider)
            if mover == slot or vacated is None:
                return
            self._guests[vacated].discard(mover)
            provider = vacated


def all_providers(options: Iterable[OptionList]) -> set[int]:
    """Return the providers among any of the options, most of which are one object."""
    return set().union(*set(options))
