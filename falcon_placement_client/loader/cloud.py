"""The content of a cloud file with its counted entries expanded, or the content of a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from falcon_placement_client.inventory import InventoryRecord
from falcon_placement_client.yamlfile.problems import on_one_line


@dataclass(frozen=True, slots=True)
class CloudProvider:
    """One provider of the file."""

    # Name, unique among all providers.
    name: str
    # UUID in canonical form.
    uuid: str
    # UUID of the parent, or None for a root.
    parent_uuid: str | None
    # Resource class -> record.
    inventories: Mapping[str, InventoryRecord]
    # Names of its traits.
    traits: frozenset[str]
    # Uuids of its aggregates.
    aggregates: frozenset[str]
    # Line number of its entry, starting at 1. 0 if the provider was read from a server.
    line: int


class CloudSpreadGroup(NamedTuple):
    """The spread group of a consumer."""

    # Name of the group. It is unique in the project of the consumer.
    name: str
    # Maximum number of members on the host of the consumer.
    max_per_host: int


@dataclass(frozen=True, slots=True)
class CloudConsumer:
    """A consumer with its allocations."""

    # UUID in canonical form.
    uuid: str
    # External id of the project.
    project: str
    # External id of the user.
    user: str
    # Name of the type, or None for a consumer without a type.
    consumer_type: str | None
    # Provider uuid -> resource class -> amount.
    allocations: Mapping[str, Mapping[str, int]]
    # Line number of its entry, starting at 1. 0 if the consumer was read from a server.
    line: int
    # The spread group, or None if the consumer is in no group.
    spread_group: CloudSpreadGroup | None = None
    # The stored request as JSON, or None.
    request: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cloud:
    """The content of a file. Parents come before their children."""

    # Name of the file, or URL of the server.
    source: str
    # Providers of all trees.
    providers: tuple[CloudProvider, ...]
    # Consumers with allocations from these providers.
    consumers: tuple[CloudConsumer, ...] = ()
    # Classes to create even if no provider uses them -> line.
    custom_classes: Mapping[str, int] = field(default_factory=dict)
    # Traits to create even if no provider uses them -> line.
    custom_traits: Mapping[str, int] = field(default_factory=dict)
    # Uuid -> name, for the aggregates that the file names.
    aggregate_names: Mapping[str, str] = field(default_factory=dict)
    # Number of the server's holds. `consumers` does not contain them.
    omitted_holds: int = 0

    def resource_classes(self) -> dict[str, str]:
        """Return resource class -> first location in the file."""
        return self._first_places(self.custom_classes, "inventories")

    def traits(self) -> dict[str, str]:
        """Return trait -> first location in the file."""
        return self._first_places(self.custom_traits, "traits")

    def place(self, provider: CloudProvider) -> str:
        """Return the location of a provider, to be used as a prefix of messages."""
        return f"{self.source}:{provider.line}: provider {on_one_line(provider.name)}"

    def place_of_consumer(self, consumer: CloudConsumer) -> str:
        """Return the location of a consumer, to be used as a prefix of messages."""
        return f"{self.source}:{consumer.line}: consumer {consumer.uuid}"

    def _first_places(self, custom_names: Mapping[str, int], part: str) -> dict[str, str]:
        places = {name: f"{self.source}:{line}: {name}" for name, line in custom_names.items()}
        for provider in self.providers:
            for name in sorted(getattr(provider, part)):
                places.setdefault(name, self.place(provider))
        return places
