"""Providers kept free for the groups that are still open: bipartite matching with seats."""

from collections.abc import Callable, Mapping, Sequence

Spend = Callable[[int], None]  # is told of so many looks at a provider


def free(looks: int) -> None:
    """Spend nothing: for those who do not count."""


class Matching:
    """A provider kept free for every open slot; a provider has so many seats.

    `seats(provider)` is the number of open slots that a provider can still take, given what
    is placed on it. Slots and providers are positions.
    """

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        seats: Callable[[int], int],
        spend: Spend = free,
    ) -> None:
        self._options = options
        self._seats = seats
        self._spend = spend
        self._partner: dict[int, int] = {}
        self._guests: dict[int, set[int]] = {}
        self._refused = -1  # the partner that the latest refused slot had

    def complete(self) -> bool:
        """Find a partner for every slot that has none."""
        return all(slot in self._partner or self._augment(slot) for slot in self._options)

    def place(self, slot: int, provider: int) -> bool:
        """Take the slot out, its provider's seats having shrunk, or leave all as it was."""
        partner = self._partner.pop(slot)
        self._guests[partner].discard(slot)
        guests = self._guests.setdefault(provider, set())
        while len(guests) > self._seats(provider):
            displaced = guests.pop()
            del self._partner[displaced]
            if not self._augment(displaced):
                self._seat(displaced, provider)
                self._refused = partner
                return False
        return True

    def take_back(self, slot: int, provider: int) -> None:
        """Open the slot again after `place` said no, its provider's seats having grown back."""
        partner = self._refused
        # Another slot may have moved to the old partner meanwhile; then one has left `provider`.
        free = len(self._guests[partner]) < self._seats(partner)
        self._seat(slot, partner if free else provider)

    def open_again(self, slot: int, provider: int) -> None:
        """Open a slot that was placed on the provider, whose seats have grown back."""
        self._seat(slot, provider)

    def _seat(self, slot: int, provider: int) -> None:
        self._partner[slot] = provider
        self._guests.setdefault(provider, set()).add(slot)

    def _augment(self, slot: int) -> bool:
        """Seat the slot, moving others where that makes room: shortest such path first."""
        came_from: dict[int, int] = {}  # provider -> slot that would move there
        queue = [slot]
        for waiting in queue:
            for looks, provider in enumerate(self._options[waiting], start=1):
                if provider in came_from:
                    continue
                came_from[provider] = waiting
                guests = self._guests.get(provider, ())
                if len(guests) < self._seats(provider):
                    self._spend(2 * looks)
                    self._shift(slot, provider, came_from)
                    return True
                queue += guests
            self._spend(2 * len(self._options[waiting]))
        return False

    def _shift(self, slot: int, provider: int, came_from: Mapping[int, int]) -> None:
        while True:
            mover = came_from[provider]
            left = self._partner.get(mover)
            self._seat(mover, provider)
            if mover == slot:
                return
            assert left is not None
            self._guests[left].discard(mover)
            provider = left
