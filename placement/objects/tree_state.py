"""A whole tree of providers: the tree in a request, and the existing tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.inventory import InventoryRecord
from placement.objects import identifiers
from placement.objects.inventory_rows import Inventory
from placement.objects.unset import Unset


class Edit(NamedTuple):
    """A change of the traits or aggregates of a provider."""

    # Names to add. With `replaces`, all names that the provider has after the write.
    add: Sequence[str]
    # Names to remove. Empty with `replaces`.
    remove: Sequence[str]
    # Whether all other names are removed.
    replaces: bool


NO_EDIT = Edit((), (), replaces=False)


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider in the list of a request."""

    # Canonical UUID.
    uuid: str
    # Name of the provider.
    name: str
    # Canonical UUID of the parent, or None for the root.
    parent_uuid: str | None
    # The generation that the client read. None means that the provider must not exist. UNSET
    # accepts any generation.
    generation: int | Unset | None
    # Records of all inventories by class. None keeps the inventories.
    inventories: Mapping[str, InventoryRecord] | None
    # Change of the traits.
    traits: Edit
    # Change of the aggregates.
    aggregates: Edit

    @property
    def has_parts(self) -> bool:
        """Whether the request sets any part of a new provider."""
        return bool(self.inventories or self.traits.add or self.aggregates.add)


@dataclass(frozen=True, slots=True)
class TreeCommand:
    """A whole tree in a request."""

    # Canonical UUID of the root. The root is one of the providers.
    root_uuid: str
    # All providers that the request lists.
    providers: Sequence[ListedProvider]
    # Whether to delete providers of the tree that are not listed.
    prune: bool
    # Whether to create custom classes and traits that do not exist.
    create_names: bool

    def unlisted(self, members: Mapping[str, "TreeMember"]) -> list["TreeMember"]:
        """Return the members, by UUID, that the request does not list."""
        listed = {provider.uuid for provider in self.providers}
        return [member for uuid, member in members.items() if uuid not in listed]


class TreeMember(NamedTuple):
    """An existing provider."""

    # Id of the provider's row.
    id: int
    # UUID in the spelling of the provider's row.
    uuid: str
    # Name of the provider.
    name: str
    # Generation of the provider.
    generation: int
    # UUID in the spelling of the parent's row, or None for a root.
    parent_uuid: str | None
    # Id of the root of its tree.
    root_id: int
    # UUID of the root of its tree.
    root_uuid: str
    # Revision of the provider's tree.
    revision: int

    @property
    def key(self) -> str:
        """The UUID in the canonical form."""
        return identifiers.canonical(self.uuid) or self.uuid

    @property
    def parent_key(self) -> str | None:
        """The UUID of the parent in the canonical form."""
        if self.parent_uuid is None:
            return None
        return identifiers.canonical(self.parent_uuid) or self.parent_uuid


@dataclass(frozen=True, slots=True)
class TreeState:
    """The existing part of the tree, and the existing names of the request."""

    # Members by UUID. Empty if the root does not exist.
    members: Mapping[str, TreeMember]
    # Providers outside of the tree that have a listed UUID or name.
    others: Sequence[TreeMember]
    # Provider id -> class -> inventory.
    inventories: Mapping[int, Mapping[str, Inventory]]
    # Provider id -> ids of its traits.
    trait_ids: Mapping[int, frozenset[int]]
    # Provider id -> ids of its aggregates.
    aggregate_ids: Mapping[int, frozenset[int]]
    # Ids of unlisted members that have allocations. They are read only if unlisted members are
    # deleted.
    used_ids: frozenset[int]
    # Name -> id of the existing resource classes.
    class_ids: Mapping[str, int]
    # Name -> id of the existing traits.
    traits: Mapping[str, int]
    # Canonical UUID of an aggregate -> ids of all its rows.
    aggregates: Mapping[str, frozenset[int]]
