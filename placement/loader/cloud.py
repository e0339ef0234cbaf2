"""A cloud as its file describes it, counted entries expanded."""

from collections.abc import Mapping
from dataclasses import dataclass

from placement.vocabulary import MAX_INTEGER


@dataclass(frozen=True, slots=True)
class CloudInventory:
    """How much of one resource class a provider has, and in which units it is allocated."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INTEGER
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class CloudProvider:
    """One provider as the file describes it; `line` is where its entry begins, from 1."""

    name: str
    uuid: str
    parent_uuid: str | None
    inventories: Mapping[str, CloudInventory]
    traits: frozenset[str]
    aggregates: frozenset[str]
    line: int


@dataclass(frozen=True, slots=True)
class Cloud:
    """All providers of a file, every parent before its children."""

    source: str
    providers: tuple[CloudProvider, ...]

    def resource_classes(self) -> dict[str, CloudProvider]:
        """Return each resource class in use with the first provider that has it."""
        return self._first_users("inventories")

    def traits(self) -> dict[str, CloudProvider]:
        """Return each trait in use with the first provider that has it."""
        return self._first_users("traits")

    def _first_users(self, field: str) -> dict[str, CloudProvider]:
        users: dict[str, CloudProvider] = {}
        for provider in self.providers:
            for name in sorted(getattr(provider, field)):
                users.setdefault(name, provider)
        return users
