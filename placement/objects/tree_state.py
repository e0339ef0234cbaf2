"""A whole tree of providers as a request lists it, and as it exists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from falcon_placement_client.inventory import InventoryRecord
from placement.objects import identifiers
from placement.objects.inventory_rows import Inventory
from placement.objects.unset import Unset


class Edit(NamedTuple):
    """How the traits or aggregates of a provider change."""

    # Names to add; with `replaces`, all names that the provider has after the write.
    add: Sequence[str]
    # Names to remove; none with `replaces`.
    remove: Sequence[str]
    # Whether all other names are removed.
    replaces: bool


NO_EDIT = Edit((), (), replaces=False)


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A provider as the request lists it."""

    # Canonical UUID.
    uuid: str
    # Name of the provider.
    name: str
    # Canonical UUID of the parent, or None for the root.
    parent_uuid: str | None
    # The generation that the client read. None means that there must be no such provider. UNSET
    # means any.
    generation: int | Unset | None
    # Records of all inventories by class. None means that the inventories do not change.
    inventories: Mapping[str, InventoryRecord] | None
    # Change of the traits.
    traits: Edit
    # Change of the aggregates.
    aggregates: Edit

    @property
    def has_parts(self) -> bool:
        """Whether the request gives a new provider anything."""
        return bool(self.inventories or self.traits.add or self.aggregates.add)


@dataclass(frozen=True, slots=True)
class TreeCommand:
    """A whole tree, as a request lists it."""

    # Canonical UUID of the root, which is one of the providers.
    root_uuid: str
    # All providers that the request lists.
    providers: Sequence[ListedProvider]
    # Whether providers of the tree that are not listed are deleted.
    prune: bool
    # Whether custom classes and traits that do not exist are created first.
    create_names: bool

    def unlisted(self, members: Mapping[str, "TreeMember"]) -> list["TreeMember"]:
        """Return the members, by UUID, that the request does not list."""
        listed = {provider.uuid for provider in self.providers}
        return [member for uuid, member in members.items() if uuid not in listed]


class TreeMember(NamedTuple):
    """A provider that exists."""

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

    # Members by UUID, or empty if the root does not exist.
    members: Mapping[str, TreeMember]
    # Providers outside of the tree that have one of the listed UUIDs or names.
    others: Sequence[TreeMember]
    # Provider id -> class -> inventory.
    inventories: Mapping[int, Mapping[str, Inventory]]
    # Provider id -> ids.
    trait_ids: Mapping[int, frozenset[int]]
    # Provider id -> ids of aggregates.
    aggregate_ids: Mapping[int, frozenset[int]]
    # Ids of unlisted members that have allocations; only read if unlisted members are deleted.
    used_ids: frozenset[int]
    # Name -> id of classes and traits that exist.
    class_ids: Mapping[str, int]
    # Name -> id of traits that exist.
    traits: Mapping[str, int]
    # Canonical UUID of an aggregate -> ids of all its rows.
    aggregates: Mapping[str, frozenset[int]]
