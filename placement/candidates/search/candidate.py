"""Candidates: kept as positions, and spelled out when they are told, for there may be very many."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from placement.candidates.model import Assignment, Pool, Tree
from placement.candidates.request import Slot

# {"allocations":{…},"mappings":{…}}, of which each slot has "uuid":{"resources":{…}} and
# "suffix":["uuid"], and each resource "name":amount: characters besides names and suffixes.
_FRAME, _SLOT, _RESOURCE = 33, 101, 14


class Wording(Protocol):
    """What a candidate has to know of its request; see `SearchPlan`.  No two are equal."""

    def __hash__(self) -> int:
        """Return the hash: what is made of a wording is kept by it."""

    @property
    def split(self) -> bool:
        """Whether some class has a slot for each of its parts."""

    @property
    def slots(self) -> Sequence[Slot]:
        """What each of the providers serves."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitWording:
    """The slots of a request of which some were made into parts."""

    slots: Sequence[Slot]
    split: bool = True


class Candidate:
    """One way to meet a request: which provider of a pool serves which slot.

    wording: what the slots are. assignment: slot -> position in the pool, never that of a split.
    """

    __slots__ = ("assignment", "pool", "wording")

    def __init__(self, wording: Wording, pool: Pool, assignment: Assignment) -> None:
        self.wording = wording
        self.pool = pool
        self.assignment = assignment

    @property
    def split(self) -> bool:
        """Whether several providers serve some class of the unsuffixed group together."""
        return self.wording.split

    @property
    def longest_text(self) -> int:
        """The bytes that it has as JSON at the most."""
        return longest_text(self.wording)

    @property
    def providers(self) -> tuple[str, ...]:
        """The UUID of the provider of each slot."""
        members = self.pool.members
        return tuple([members[position].uuid for position in self.assignment])

    @property
    def allocations(self) -> Mapping[str, Mapping[str, int]]:
        """Provider UUID -> class -> units; what it gives to several groups is added up."""
        return allocations_of(self.wording.slots, self.providers)

    @property
    def mappings(self) -> Mapping[str, tuple[str, ...]]:
        """Suffix of a group -> UUIDs of the providers that serve it."""
        return mappings_of(self.wording.slots, self.providers)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees of the providers with an allocation, each once."""
        pool = self.pool
        if not pool.sharing and pool.anchor is not None:
            return (pool.anchor,)
        trees: dict[int, Tree] = {}
        for slot, position in zip(self.wording.slots, self.assignment, strict=True):
            if slot.resources:
                tree = pool.tree(position)
                trees[tree.id] = tree
        return tuple(trees.values())


def allocations_of(
    slots: Iterable[Slot], providers: Iterable[str]
) -> Mapping[str, Mapping[str, int]]:
    """Return provider -> class -> units for slots that are served by these providers."""
    allocations: dict[str, dict[str, int]] = {}
    for slot, uuid in zip(slots, providers, strict=True):
        if slot.resources:
            amounts = allocations.setdefault(uuid, {})
            for name, amount in slot.resources:
                amounts[name] = amounts.get(name, 0) + amount
    return allocations


def mappings_of(slots: Iterable[Slot], providers: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Return suffix of a group -> providers, for slots that are served by these providers."""
    mappings: dict[str, tuple[str, ...]] = {}
    for slot, uuid in zip(slots, providers, strict=True):
        servers = mappings.get(slot.group.suffix, ())
        if uuid not in servers:
            mappings[slot.group.suffix] = (*servers, uuid)
    return mappings


def longest_text(wording: Wording) -> int:
    """Return the bytes that one candidate has as JSON at the most, with its comma.

    That is where every class and every group has a provider of its own, in the longest form.
    """
    size = _FRAME
    for slot in wording.slots:
        size += _SLOT + len(slot.group.suffix)
        size += sum(_RESOURCE + len(name) for name, _amount in slot.resources)
    return size
