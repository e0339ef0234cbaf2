"""What a reshape file says, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from falcon_placement_client.provider_data import ProviderData


@dataclass(frozen=True, slots=True)
class ProviderSelector:
    """Which providers a step is about; what is None or empty does not matter.

    name: a pattern with `*` and `?`. root: whether they have no parent. resources: classes of which
    they have inventory.
    """

    name: str | None = None
    root: bool | None = None
    traits: frozenset[str] = frozenset()
    without_traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()

    def matches(self, provider: ProviderData) -> bool:
        """Return whether all that is stated holds of a provider."""
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
    """A child to which inventory moves.

    name: has `{name}` for that of the provider. stated: class -> members of its record that differ
    from a share of what the provider has.
    """

    name: str
    traits: frozenset[str] = frozenset()
    stated: Mapping[str, Mapping[str, int | float]] | None = None

    def name_for(self, provider: str) -> str:
        """Return the name of the child of a provider."""
        return self.name.replace("{name}", provider)


@dataclass(frozen=True, slots=True)
class Move:
    """Classes go from providers to their children.

    split: what one consumer holds may be divided between several children.
    """

    line: int
    providers: ProviderSelector
    classes: Sequence[str]
    children: Sequence[Child]
    split: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """Classes of providers get another name.  names: the old one -> the new one."""

    line: int
    providers: ProviderSelector
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Give:
    """Providers get traits."""

    line: int
    providers: ProviderSelector
    traits: frozenset[str]


Step = Move | Rename | Give


@dataclass(frozen=True, slots=True)
class Transformation:
    """The steps of a file, in its order."""

    source: str
    steps: Sequence[Step]
