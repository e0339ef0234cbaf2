"""The ids of the names in a request."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from placement.objects import identifiers

NamesByKind = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The existing names of a request, with their ids."""

    # Name -> id.
    classes: Mapping[str, int]
    # Name -> id.
    traits: Mapping[str, int]
    # `identifiers.key` -> ids of all rows of the aggregate.
    aggregates: Mapping[str, frozenset[int]]
    # Stored uuid of a provider -> id of the root of its tree.
    roots: Mapping[str, int]
    # Uuid of a provider in the request -> its stored uuid.
    providers: Mapping[str, str]

    @classmethod
    def from_lookup(
        cls,
        ids: Mapping[str, Mapping[str, int]],
        aggregates: Mapping[str, frozenset[int]],
        roots: Mapping[str, int],
        providers: Iterable[str],
    ) -> Self:
        """Return the result of `catalog.look_up`. `providers` contains the uuids in the request."""
        stored = identifiers.match(providers, {uuid: uuid for uuid in roots})
        return cls(ids["resource_class"], ids["trait"], aggregates, roots, stored)

    def resource_ids(self, resources: Iterable[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
        """Convert (class, amount) pairs to (class id, amount) pairs. All classes must exist."""
        return tuple((self.classes[name], amount) for name, amount in resources)

    def trait_ids(self, names: Iterable[str]) -> frozenset[int]:
        """Return the ids of traits. All traits must exist."""
        return frozenset(self.traits[name] for name in names)

    def aggregate_ids(self, keys: Iterable[str]) -> frozenset[int]:
        """Return the ids of all rows of the existing aggregates."""
        nothing: frozenset[int] = frozenset()
        return nothing.union(*(self.aggregates.get(key, nothing) for key in keys))

    def aggregate_keys(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return the keys of the existing aggregates."""
        return frozenset(map(identifiers.key, uuids)).intersection(self.aggregates)
