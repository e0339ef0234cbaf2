"""The content of a cloud file with its counted entries expanded, or the content of a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from falcon_placement_client.messages import escaped
from falcon_placement_client.provider_data import ProviderData


class LoadError(Exception):
    """A file cannot be loaded or written. The text is one line, which begins with the location."""


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
    project: str
    user: str
    type: str | None
    # Provider uuid -> resource class -> amount.
    allocations: Mapping[str, Mapping[str, int]]
    # Line number of its entry, starting at 1. 0 if the consumer was read from a server.
    line: int
    spread_group: CloudSpreadGroup | None = None
    request: Mapping[str, Any] | None = None

    @property
    def has_record(self) -> bool:
        """Whether the consumer has a spread group or a request."""
        return self.spread_group is not None or self.request is not None


@dataclass(frozen=True, slots=True)
class Cloud:
    """The content of a file. Parents come before their children."""

    # Name of the file, or URL of the server.
    source: str
    providers: tuple[ProviderData, ...]
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
    # UUID of a provider -> line of its entry, starting at 1. Empty for a server.
    lines: Mapping[str, int] = field(default_factory=dict)

    def trees(self) -> list[list[ProviderData]]:
        """Return the providers of each tree. The root comes first."""
        trees: dict[str, list[ProviderData]] = {}
        for provider in self.providers:
            parent = provider.parent_uuid
            tree = trees[provider.uuid] = [] if parent is None else trees[parent]
            tree.append(provider)
        return [trees[provider.uuid] for provider in self.providers if provider.parent_uuid is None]

    def resource_classes(self) -> dict[str, str]:
        """Return resource class -> first location in the file."""
        return self._first_places(self.custom_classes, "inventory")

    def traits(self) -> dict[str, str]:
        """Return trait -> first location in the file."""
        return self._first_places(self.custom_traits, "traits")

    def place(self, provider: ProviderData) -> str:
        """Return the location of a provider, to be used as a prefix of messages."""
        line = self.lines.get(provider.uuid, 0)
        return f"{self.source}:{line}: provider {escaped(provider.name)}"

    def place_of_consumer(self, consumer: CloudConsumer) -> str:
        """Return the location of a consumer, to be used as a prefix of messages."""
        return f"{self.source}:{consumer.line}: consumer {consumer.uuid}"

    def _first_places(self, custom_names: Mapping[str, int], part: str) -> dict[str, str]:
        places = {name: f"{self.source}:{line}: {name}" for name, line in custom_names.items()}
        for provider in self.providers:
            for name in sorted(getattr(provider, part)):
                places.setdefault(name, self.place(provider))
        return places
