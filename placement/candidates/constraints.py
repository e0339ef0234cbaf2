"""What joins the slots of a request: each constraint takes a placement back as it gave it.

`add` says whether a provider may serve a slot given what is placed already, and notes it;
`remove` undoes the latest `add`. A refused `add` leaves nothing behind.

Capacity, isolation and collective traits are monotonic: what fails now fails however the
search goes on. `same_subtree` (in `subtrees`) is not: two siblings fail until their parent
joins, so a placement is refused only when no placed and no possible provider can be the ancestor
of all.

Capacity and isolation look ahead: `Matching` keeps a partner for every open slot, so a
placement that would leave some other slot without any provider is refused at once.

What takes more than a few looks at providers tells so to `spend`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from placement.candidates import trail
from placement.candidates.matching import Matching, Spend, free


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


class Isolate:
    """Suffixed groups use pairwise different providers (`group_policy=isolate`)."""

    reason = trail.ISOLATION

    def __init__(self, options: Mapping[int, Sequence[int]], spend: Spend = free) -> None:
        self.slots = frozenset(options)
        self._taken: set[int] = set()
        self._matching = Matching(options, lambda provider: provider not in self._taken, spend)

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
        spend: Spend = free,
    ) -> None:
        self.slots = frozenset(options)
        self._amounts = amounts
        self._room = dict(room)
        self._least = min(amounts.values())
        self._matching = Matching(options, self._seats, spend)

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

    def __init__(
        self, covers: Mapping[int, Mapping[int, int]], needed: int, spend: Spend = free
    ) -> None:
        self.slots = frozenset(covers)
        self._spend = spend
        self._covers = covers
        self._needed = needed
        self._possible = {slot: union(bits.values()) for slot, bits in covers.items()}
        self._open = set(covers)
        self._placed: list[int] = []

    def feasible(self) -> bool:
        return self._within_reach()

    def _within_reach(self) -> bool:
        self._spend(len(self.slots))
        got = union(self._placed) | union(self._possible[slot] for slot in self._open)
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


def union(masks: Iterable[int]) -> int:
    """All bits that any of the masks has."""
    total = 0
    for mask in masks:
        total |= mask
    return total
