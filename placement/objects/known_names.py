"""What the database knows of the names in a request."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from placement.objects import identifiers

NamesByKind = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names of a request that exist, with their ids."""

    # Name -> id.
    classes: Mapping[str, int]
    # Name -> id.
    traits: Mapping[str, int]
    # `identifiers.key` -> ids of all rows that mean the aggregate.
    aggregates: Mapping[str, frozenset[int]]
    # Provider as its row holds it -> id of the root of its tree.
    roots: Mapping[str, int]
    # Provider as the request states it -> as its row holds it.
    providers: Mapping[str, str]

    @classmethod
    def of(
        cls,
        ids: Mapping[str, Mapping[str, int]],
        aggregates: Mapping[str, frozenset[int]],
        roots: Mapping[str, int],
        providers: Iterable[str],
    ) -> Self:
        """Return what `catalog.look_up` has found.  providers: as the request states them."""
        stored = identifiers.match(providers, {uuid: uuid for uuid in roots})
        return cls(ids["resource_class"], ids["trait"], aggregates, roots, stored)

    def resource_ids(self, resources: Iterable[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
        """Return (class id, units) pairs of (class, units) pairs, all of which exist."""
        return tuple((self.classes[name], amount) for name, amount in resources)

    def trait_ids(self, names: Iterable[str]) -> frozenset[int]:
        """Return the ids of traits, all of which exist."""
        return frozenset(self.traits[name] for name in names)

    def aggregate_ids(self, keys: Iterable[str]) -> frozenset[int]:
        """Return the ids of all rows that mean one of the aggregates, of those that exist."""
        nothing: frozenset[int] = frozenset()
        return nothing.union(*(self.aggregates.get(key, nothing) for key in keys))

    def aggregate_keys(self, uuids: Iterable[str]) -> frozenset[str]:
        """Return the keys of those of the aggregates that exist."""
        return frozenset(map(identifiers.key, uuids)).intersection(self.aggregates)
