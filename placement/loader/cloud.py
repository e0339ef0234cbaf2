"""A cloud as a file describes it, counted entries expanded, or as a server has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from falcon_placement_client.inventory import InventoryRecord
from placement.yamlfile.problems import on_one_line


@dataclass(frozen=True, slots=True)
class CloudProvider:
    """One provider as the file describes it; `line` is where its entry begins, from 1."""

    name: str
    uuid: str
    parent_uuid: str | None
    inventories: Mapping[str, InventoryRecord]
    traits: frozenset[str]
    aggregates: frozenset[str]
    line: int


@dataclass(frozen=True, slots=True)
class CloudConsumer:
    """What uses resources, and for whom.

    consumer_type: None for a consumer without a type. allocations: uuid of a provider -> resource
    class -> amount. line: where its entry begins, from 1.
    """

    uuid: str
    project: str
    user: str
    consumer_type: str | None
    allocations: Mapping[str, Mapping[str, int]]
    line: int


@dataclass(frozen=True, slots=True)
class Cloud:
    """All that a file describes; every parent stands before its children.

    custom_classes, custom_traits: names that exist whether or not a provider has them, each with
    its line. aggregate_names: by UUID, of those that the file calls by a name.
    """

    source: str
    providers: tuple[CloudProvider, ...]
    consumers: tuple[CloudConsumer, ...] = ()
    custom_classes: Mapping[str, int] = field(default_factory=dict)
    custom_traits: Mapping[str, int] = field(default_factory=dict)
    aggregate_names: Mapping[str, str] = field(default_factory=dict)

    def resource_classes(self) -> dict[str, str]:
        """Return each resource class with the place of the file that is the first to name it."""
        return self._first_places(self.custom_classes, "inventories")

    def traits(self) -> dict[str, str]:
        """Return each trait with the place of the file that is the first to name it."""
        return self._first_places(self.custom_traits, "traits")

    def place(self, provider: CloudProvider) -> str:
        """Return where a provider stands in the file, as messages begin."""
        return f"{self.source}:{provider.line}: provider {on_one_line(provider.name)}"

    def place_of_consumer(self, consumer: CloudConsumer) -> str:
        """Return where a consumer stands in the file, as messages begin."""
        return f"{self.source}:{consumer.line}: consumer {consumer.uuid}"

    def _first_places(self, custom_names: Mapping[str, int], part: str) -> dict[str, str]:
        places = {name: f"{self.source}:{line}: {name}" for name, line in custom_names.items()}
        for provider in self.providers:
            for name in sorted(getattr(provider, part)):
                places.setdefault(name, self.place(provider))
        return places
