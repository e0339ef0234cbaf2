"""Candidates.

They are stored as positions and expanded during rendering, because they may be many.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from placement.candidates.model import Assignment, Pool, Tree
from placement.candidates.request import Slot
from placement.vocabulary import SHARING_TRAIT

# Number of characters except names and suffixes in {"allocations":{…},"mappings":{…}}; per slot in
# "uuid":{"resources":{…}} and "suffix":["uuid"]; per resource in "name":amount.
_FRAME, _SLOT, _RESOURCE = 33, 101, 14


class SlotLayout(Protocol):
    """The slots to which the positions of a candidate refer. Layouts are compared by identity."""

    def __hash__(self) -> int:
        """Return a hash by identity, because rendered texts are cached by layout."""

    @property
    def split(self) -> bool:
        """Whether a class is served in parts. Each part has a separate slot."""

    @property
    def slots(self) -> Sequence[Slot]:
        """The slot that each provider of a candidate serves."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitLayout:
    """The slots of a candidate with a split. Each part has a separate slot."""

    # The slots of the request, with one slot for each part of a divided amount.
    slots: Sequence[Slot]
    # Always True. See `SlotLayout`.
    split: bool = True


class Candidate:
    """An assignment of the providers of a pool to the slots of a request."""

    __slots__ = ("assignment", "layout", "pool")

    def __init__(self, layout: SlotLayout, pool: Pool, assignment: Assignment) -> None:
        # The slots that `assignment` assigns providers to.
        self.layout = layout
        # The providers to which `assignment` refers.
        self.pool = pool
        # Slot -> position in the pool. Splits are replaced with their parts.
        self.assignment = assignment

    @property
    def split(self) -> bool:
        """Whether a class of the unsuffixed group is served in parts."""
        return self.layout.split

    @property
    def longest_text(self) -> int:
        """Maximum size of the candidate as JSON, in bytes."""
        return longest_text(self.layout)

    @property
    def providers(self) -> tuple[str, ...]:
        """The UUID of the provider of each slot."""
        members = self.pool.members
        return tuple([members[position].uuid for position in self.assignment])

    @property
    def allocations(self) -> Mapping[str, Mapping[str, int]]:
        """Provider UUID -> class -> units, as the sum over the groups that the provider serves."""
        return allocations_of(self.layout.slots, self.providers)

    @property
    def mappings(self) -> Mapping[str, tuple[str, ...]]:
        """Suffix of a group -> UUIDs of the providers that serve it."""
        return mappings_of(self.layout.slots, self.providers)

    @property
    def host(self) -> Tree | None:
        """The anchor's tree. None if it provides nothing, or if its root is a sharing provider."""
        pool = self.pool
        if pool.anchor is None or SHARING_TRAIT in pool.anchor.root.traits:
            return None
        for slot, position in zip(self.layout.slots, self.assignment, strict=True):
            if slot.resources and position < pool.local:
                return pool.anchor
        return None

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The distinct trees of the providers with an allocation."""
        pool = self.pool
        if not pool.sharing and pool.anchor is not None:
            return (pool.anchor,)
        trees: dict[int, Tree] = {}
        for slot, position in zip(self.layout.slots, self.assignment, strict=True):
            if slot.resources:
                tree = pool.tree(position)
                trees[tree.id] = tree
        return tuple(trees.values())


def allocations_of(
    slots: Iterable[Slot], providers: Iterable[str]
) -> Mapping[str, Mapping[str, int]]:
    """Return provider -> class -> units, given the provider of each slot."""
    allocations: dict[str, dict[str, int]] = {}
    for slot, uuid in zip(slots, providers, strict=True):
        if slot.resources:
            amounts = allocations.setdefault(uuid, {})
            for name, amount in slot.resources:
                amounts[name] = amounts.get(name, 0) + amount
    return allocations


def mappings_of(slots: Iterable[Slot], providers: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return suffix of a group -> providers, given the provider of each slot."""
    mappings: dict[str, tuple[str, ...]] = {}
    for slot, uuid in zip(slots, providers, strict=True):
        servers = mappings.get(slot.group.suffix, ())
        if uuid not in servers:
            mappings[slot.group.suffix] = (*servers, uuid)
    return mappings


def longest_text(layout: SlotLayout) -> int:
    """Return the maximum size of one candidate as JSON, in bytes, including its comma.

    The text of a candidate is longest if each class and each group has a different provider.
    """
    size = _FRAME
    for slot in layout.slots:
        size += _SLOT + len(slot.group.suffix)
        size += sum(_RESOURCE + len(name) for name, _amount in slot.resources)
    return size
