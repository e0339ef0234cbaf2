"""Candidates: kept as positions, and spelled out when they are told, for there may be very many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from placement.candidates.model import Assignment, Pool, Slot, Tree

# {"allocations":{…},"mappings":{…}}, of which each slot has "uuid":{"resources":{…}} and
# "suffix":["uuid"], and each resource "name":amount: characters besides names and suffixes.
_FRAME, _SLOT, _RESOURCE = 33, 101, 14


class Wording(Protocol):
    """What a candidate has to know of its request; see `SearchPlan`."""

    @property
    def split(self) -> bool:
        """Whether some class has a slot for each of its parts."""

    @property
    def slots(self) -> Sequence[Slot]:
        """What each of the providers serves."""

    @property
    def suffixes(self) -> Sequence[str]:
        """The suffixes of all groups, each once."""

    @property
    def combined_amounts(self) -> Mapping[str, int]:
        """Class -> units that one provider gives when it serves every slot; else empty."""


@dataclass(frozen=True, slots=True)
class SplitWording:
    """The slots of a request of which some were made into parts."""

    slots: Sequence[Slot]
    suffixes: Sequence[str]
    combined_amounts: Mapping[str, int] = field(default_factory=dict)
    split: bool = True


class Candidate:
    """One way to meet a request: which provider of a pool serves which slot."""

    __slots__ = ("_assignment", "_plan", "_pool")

    def __init__(self, plan: Wording, pool: Pool, assignment: Assignment) -> None:
        self._plan = plan
        self._pool = pool
        self._assignment = assignment

    @property
    def split(self) -> bool:
        """Whether several providers serve some class of the unsuffixed group together."""
        return self._plan.split

    @property
    def longest_text(self) -> int:
        """The bytes that it has as JSON at the most."""
        return longest_text(self._plan)

    @property
    def providers(self) -> tuple[str, ...]:
        """The UUID of the provider of each slot."""
        members = self._pool.members
        return tuple([members[position].uuid for position in self._assignment])

    @property
    def allocations(self) -> Mapping[str, Mapping[str, int]]:
        """Provider UUID -> class -> units; what it gives to several groups is added up."""
        return self._allocations(self.providers)

    @property
    def mappings(self) -> Mapping[str, tuple[str, ...]]:
        """Suffix of a group -> UUIDs of the providers that serve it."""
        return self._mappings(self.providers)

    def spelled(self) -> tuple[Mapping[str, Mapping[str, int]], Mapping[str, tuple[str, ...]]]:
        """Return allocations and mappings together, which takes less than one after the other."""
        providers = self.providers
        if self._plan.combined_amounts and providers.count(providers[0]) == len(providers):
            # PERF: the case of flat hosts, where one provider serves all.
            mappings = dict.fromkeys(self._plan.suffixes, providers[:1])
            return {providers[0]: self._plan.combined_amounts}, mappings
        return self._allocations(providers), self._mappings(providers)

    def _allocations(self, providers: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        allocations: dict[str, dict[str, int]] = {}
        for slot, uuid in zip(self._plan.slots, providers, strict=True):
            if slot.resources:
                amounts = allocations.setdefault(uuid, {})
                for name, amount in slot.resources:
                    amounts[name] = amounts.get(name, 0) + amount
        return allocations

    def _mappings(self, providers: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        mappings: dict[str, tuple[str, ...]] = {}
        for slot, uuid in zip(self._plan.slots, providers, strict=True):
            servers = mappings.get(slot.group.suffix, ())
            if uuid not in servers:
                mappings[slot.group.suffix] = (*servers, uuid)
        return mappings

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The trees of the providers with an allocation, each once."""
        pool = self._pool
        if not pool.sharing and pool.anchor is not None:
            return (pool.anchor,)
        trees: dict[int, Tree] = {}
        for slot, position in zip(self._plan.slots, self._assignment, strict=True):
            if slot.resources:
                tree = pool.tree(position)
                trees[tree.id] = tree
        return tuple(trees.values())


def longest_text(plan: Wording) -> int:
    """Return the bytes that one candidate has as JSON at the most, with its comma.

    That is where every class and every group has a provider of its own, in the longest form.
    """
    size = _FRAME
    for slot in plan.slots:
        size += _SLOT + len(slot.group.suffix)
        size += sum(_RESOURCE + len(name) for name, _amount in slot.resources)
    return size
