"""What joins the slots of a request: each constraint takes a placement back as it gave it.

`add` says whether a provider may serve a slot given what is placed already, and notes it;
`remove` undoes the latest `add`. A refused `add` leaves nothing behind.

Capacity, isolation and collective traits are monotonic: what fails now fails however the
search goes on. `same_subtree` is not: two siblings fail until their parent joins, so a
placement is refused only when no placed and no possible provider can be the ancestor of all.

Capacity and isolation look ahead: `Matching` keeps a partner for every open slot, so a
placement that would leave some other slot without any provider is refused at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from placement.candidates import trail
from placement.candidates.model import Pool


class Constraint(Protocol):
    """A condition on several slots at once; slots and providers are given by position."""

    slots: frozenset[int]
    reason: str

    def feasible(self) -> bool:
        """Whether it can hold with nothing placed yet."""
        ...

    def add(self, slot: int, provider: int) -> bool:
        """Place a provider on one of `slots`, unless that makes the condition impossible."""
        ...

    def remove(self, slot: int, provider: int) -> None:
        """Take back the latest placement."""
        ...


class Matching:
    """A provider kept free for every open slot; a provider has so many seats.

    `seats(provider)` is the number of open slots that a provider can still take, given what
    is placed on it. Slots and providers are positions.
    """

    def __init__(self, options: Mapping[int, Sequence[int]], seats: Callable[[int], int]) -> None:
        self._options = options
        self._seats = seats
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
            for provider in self._options[waiting]:
                if provider in came_from:
                    continue
                came_from[provider] = waiting
                guests = self._guests.setdefault(provider, set())
                if len(guests) < self._seats(provider):
                    self._shift(slot, provider, came_from)
                    return True
                queue += guests
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


class Isolate:
    """Suffixed groups use pairwise different providers (`group_policy=isolate`)."""

    reason = trail.ISOLATION

    def __init__(self, options: Mapping[int, Sequence[int]]) -> None:
        self.slots = frozenset(options)
        self._taken: set[int] = set()
        self._matching = Matching(options, lambda provider: provider not in self._taken)

    def feasible(self) -> bool:
        return self._matching.complete()

    def add(self, slot: int, provider: int) -> bool:
        if provider in self._taken:
            return False
        self._taken.add(provider)
        if self._matching.place(slot, provider):
            return True
        self._taken.discard(provider)
        self._matching.take_back(slot, provider)
        return False

    def remove(self, slot: int, provider: int) -> None:
        self._taken.discard(provider)
        self._matching.open_again(slot, provider)


class Capacity:
    """The amounts of one class that several slots take from one provider fit together.

    room: provider -> the most that may be taken from it. amounts: slot -> amount.
    """

    reason = trail.CAPACITY

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        amounts: Mapping[int, int],
        room: Mapping[int, int],
    ) -> None:
        self.slots = frozenset(options)
        self._amounts = amounts
        self._room = dict(room)
        self._least = min(amounts.values())
        self._matching = Matching(options, self._seats)

    def _seats(self, provider: int) -> int:
        # As many slots as would fit if all were like the smallest: never too few.
        return self._room[provider] // self._least

    def feasible(self) -> bool:
        return self._matching.complete()

    def add(self, slot: int, provider: int) -> bool:
        amount = self._amounts[slot]
        if amount > self._room[provider]:
            return False
        self._room[provider] -= amount
        if self._matching.place(slot, provider):
            return True
        self._room[provider] += amount
        self._matching.take_back(slot, provider)
        return False

    def remove(self, slot: int, provider: int) -> None:
        self._room[provider] += self._amounts[slot]
        self._matching.open_again(slot, provider)


class OnePerTree:
    """All slots that a tree serves are served by one provider of it (answers that know no trees).

    tree_of: provider -> a number for its tree.
    """

    reason = trail.ONE_PER_TREE

    def __init__(self, slots: Iterable[int], tree_of: Sequence[int]) -> None:
        self.slots = frozenset(slots)
        self._tree_of = tree_of
        self._placed: dict[int, list[int]] = {}

    def feasible(self) -> bool:
        return True

    def add(self, slot: int, provider: int) -> bool:
        placed = self._placed.setdefault(self._tree_of[provider], [])
        if placed and placed[-1] != provider:
            return False
        placed.append(provider)
        return True

    def remove(self, slot: int, provider: int) -> None:
        self._placed[self._tree_of[provider]].pop()


class CollectiveTraits:
    """The providers of the unsuffixed group have every required trait between them.

    covers: slot -> provider -> bits of the required terms that the provider has.
    """

    reason = trail.TRAITS

    def __init__(self, covers: Mapping[int, Mapping[int, int]], needed: int) -> None:
        self.slots = frozenset(covers)
        self._covers = covers
        self._needed = needed
        self._possible = {slot: _union(bits.values()) for slot, bits in covers.items()}
        self._open = set(covers)
        self._placed: list[int] = []

    def feasible(self) -> bool:
        return self._within_reach()

    def _within_reach(self) -> bool:
        got = _union(self._placed) | _union(self._possible[slot] for slot in self._open)
        return got & self._needed == self._needed

    def add(self, slot: int, provider: int) -> bool:
        self._open.discard(slot)
        self._placed.append(self._covers[slot][provider])
        if self._within_reach():
            return True
        self.remove(slot, provider)
        return False

    def remove(self, slot: int, provider: int) -> None:
        self._placed.pop()
        self._open.add(slot)


class SameSubtree:
    """One of the providers serving these slots is ancestor-or-self of all of them.

    options: slot -> providers that may serve it. below: provider -> bits of the providers in
    its subtree, itself included. `can_host(ancestor)` may rule an ancestor out beforehand.
    """

    reason = trail.SUBTREE

    def __init__(
        self,
        options: Mapping[int, Sequence[int]],
        below: Sequence[int],
        can_host: Callable[[int], bool],
    ) -> None:
        self.slots = frozenset(options)
        self._below = below
        self._masks = {slot: _bits(providers) for slot, providers in options.items()}
        self._open = set(options)
        self._placed: list[int] = []
        possible = _union(self._masks.values())
        self._ancestors = [
            provider
            for provider in range(len(below))
            if possible >> provider & 1 and self._may_host(provider) and can_host(provider)
        ]

    def feasible(self) -> bool:
        return bool(self._ancestors)

    def _may_host(self, ancestor: int) -> bool:
        """Everything placed is below, every open slot can be, and the ancestor serves one."""
        below = self._below[ancestor]
        if not all(below >> provider & 1 for provider in self._placed):
            return False
        if not all(self._masks[slot] & below for slot in self._open):
            return False
        return ancestor in self._placed or any(
            self._masks[slot] >> ancestor & 1 for slot in self._open
        )

    def add(self, slot: int, provider: int) -> bool:
        self._open.discard(slot)
        self._placed.append(provider)
        if any(self._may_host(ancestor) for ancestor in self._ancestors):
            return True
        self.remove(slot, provider)
        return False

    def remove(self, slot: int, provider: int) -> None:
        self._placed.pop()
        self._open.add(slot)


def subtrees(pool: Pool) -> list[int]:
    """For each member, the bits of the members in its subtree (of its own tree only)."""
    own = range(pool.local)
    places = [(pool.tree(index), index) for index in own]
    places += [(lent.tree, lent.position) for lent in pool.lent]
    at = {(tree.id, position): index for index, (tree, position) in enumerate(places)}
    below = [0] * len(places)
    for index, (tree, place) in enumerate(places):
        position = place
        while position >= 0:
            ancestor = at.get((tree.id, position))
            if ancestor is not None:
                below[ancestor] |= 1 << index
            position = tree.members[position].parent
    return below


def _bits(positions: Sequence[int]) -> int:
    return _union(1 << position for position in positions)


def _union(masks: Iterable[int]) -> int:
    total = 0
    for mask in masks:
        total |= mask
    return total
