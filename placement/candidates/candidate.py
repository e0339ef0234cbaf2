"""Candidates: kept as positions, and spelled out when they are told, for there may be very many."""

from collections.abc import Mapping

from placement.candidates.model import Assignment, Pool, Tree
from placement.candidates.plan import SearchPlan

# {"allocations":{…},"mappings":{…}}, of which each slot has "uuid":{"resources":{…}} and
# "suffix":["uuid"], and each resource "name":amount: characters besides names and suffixes.
_FRAME, _SLOT, _RESOURCE = 33, 101, 14


class Candidate:
    """One way to meet a request: which provider of a pool serves which slot."""

    __slots__ = ("_assignment", "_plan", "_pool")

    def __init__(self, plan: SearchPlan, pool: Pool, assignment: Assignment) -> None:
        self._plan = plan
        self._pool = pool
        self._assignment = assignment

    @property
    def providers(self) -> tuple[str, ...]:
        """The UUID of the provider of each slot."""
        members = self._pool.members
        return tuple([members[position].uuid for position in self._assignment])

    @property
    def allocations(self) -> Mapping[str, Mapping[str, int]]:
        """Provider UUID -> class -> units; what it gives to several groups is added up."""
        uuids = self.providers
        if self._served_by_one(uuids):
            return {uuids[0]: self._plan.combined_amounts}
        allocations: dict[str, dict[str, int]] = {}
        for slot, uuid in zip(self._plan.slots, uuids, strict=True):
            if slot.resources:
                amounts = allocations.setdefault(uuid, {})
                for name, amount in slot.resources:
                    amounts[name] = amounts.get(name, 0) + amount
        return allocations

    @property
    def mappings(self) -> Mapping[str, tuple[str, ...]]:
        """Suffix of a group -> UUIDs of the providers that serve it."""
        uuids = self.providers
        if self._served_by_one(uuids):
            return dict.fromkeys(self._plan.suffixes, uuids[:1])
        mappings: dict[str, tuple[str, ...]] = {}
        for slot, uuid in zip(self._plan.slots, uuids, strict=True):
            providers = mappings.get(slot.group.suffix, ())
            if uuid not in providers:
                mappings[slot.group.suffix] = (*providers, uuid)
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

    def _served_by_one(self, uuids: tuple[str, ...]) -> bool:
        # PERF: the case of flat hosts.
        return bool(self._plan.combined_amounts) and uuids.count(uuids[0]) == len(uuids)


def longest_text(plan: SearchPlan) -> int:
    """Return the bytes that one candidate has as JSON at the most, with its comma.

    That is where every class and every group has a provider of its own, in the longest form.
    """
    size = _FRAME
    for slot in plan.slots:
        size += _SLOT + len(slot.group.suffix)
        size += sum(_RESOURCE + len(name) for name, _amount in slot.resources)
    return size
