"""The content of a reshape file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from falcon_placement_client.provider_data import ProviderData


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """The conditions that select the providers of a step.

    None and empty sets match any provider.
    """

    # Pattern with `*` and `?`.
    name: str | None = None
    # Whether the providers are roots. None matches both.
    root: bool | None = None
    traits: frozenset[str] = frozenset()
    without_traits: frozenset[str] = frozenset()
    # Uuids of aggregates.
    aggregates: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()

    def matches(self, provider: ProviderData) -> bool:
        """Return whether a provider satisfies all conditions."""
        return (
            (self.name is None or fnmatchcase(provider.name, self.name))
            and (self.root is None or self.root == (provider.parent_uuid is None))
            and self.traits <= provider.traits
            and not self.without_traits & provider.traits
            and self.aggregates <= provider.aggregates
            and self.resources <= provider.inventory.keys()
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A child that receives inventories from its parent."""

    # Name of the child, with `{name}` for the name of the provider.
    name: str
    traits: frozenset[str] = frozenset()
    # Values in the record of each class that differ from an equal share.
    stated: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)

    def name_for(self, provider: str) -> str:
        """Return the name of the child of a provider."""
        return self.name.replace("{name}", provider)


@dataclass(frozen=True, slots=True)
class Move:
    """Move classes from providers to their children."""

    # Line number in the file.
    line: int
    # The providers that lose the classes.
    providers: ProviderSelector
    # Names of the classes to move.
    classes: Sequence[str]
    # The children that receive the classes.
    children: Sequence[Child]
    # Whether the allocations of a consumer may be divided among children.
    split: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename classes of providers."""

    line: int
    providers: ProviderSelector
    # Old name -> new name.
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Give:
    """Add traits to providers."""

    line: int
    providers: ProviderSelector
    traits: frozenset[str]


Step = Move | Rename | Give


@dataclass(frozen=True, slots=True)
class Transformation:
    """The steps of a file, in order."""

    source: str
    # The steps. Each step applies to the result of the previous one.
    steps: Sequence[Step]
