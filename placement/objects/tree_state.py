"""A whole tree of providers: the tree in a request, the existing tree, and the change of a tree."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from placement.inventory import InventoryRecord
from placement.objects import identifiers
from placement.objects.inventory_change import InventoryChange
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
    name: str
    # Canonical UUID of the parent, or None for the root.
    parent_uuid: str | None
    # The generation that the client read. None means that the provider must not exist. UNSET
    # accepts any generation.
    generation: int | Unset | None
    # Records of all inventories by class. None keeps the inventories.
    inventories: Mapping[str, InventoryRecord] | None
    traits: Edit
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

    id: int
    # UUID in the spelling of the provider's row.
    uuid: str
    name: str
    generation: int
    # UUID in the spelling of the parent's row, or None for a root.
    parent_uuid: str | None
    # Id of the root of its tree, or 0 in rows of very old databases.
    root_id: int
    root_uuid: str
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
    # Whether an earlier view has shown the revision of the tree, so that the state is complete.
    is_complete: bool

    @property
    def revisions(self) -> Mapping[int, int]:
        """Root id -> revision. Empty if the root does not exist."""
        return {member.root_id: member.revision for member in self.members.values()}


@dataclass(slots=True)
class LinkChange:
    """Traits or aggregates that a write adds to providers (UUID) and removes from them."""

    # (provider, id) to add.
    added: set[tuple[str, int]] = field(default_factory=set)
    # (provider, UUID in the request) of aggregates to add that have no row.
    created: list[tuple[str, str]] = field(default_factory=list)
    # (provider, id) to remove.
    removed: set[tuple[str, int]] = field(default_factory=set)

    def record(self, uuid: str, added: Set[int], removed: Set[int]) -> bool:
        """Record ids to add and to remove for a provider. Return whether there are any."""
        self.added |= {(uuid, row_id) for row_id in added}
        self.removed |= {(uuid, row_id) for row_id in removed}
        return bool(added or removed)


@dataclass(slots=True)
class TreeChange:
    """The changes that a write of providers makes: of a part, of a provider, or of a whole tree.

    Keys are UUIDs of providers, because new providers have no ids.
    """

    # UUID -> id, of the existing providers.
    ids: Mapping[str, int]
    root_uuid: str
    # Id -> generation as read, of the existing providers whose generation is incremented.
    bumped: dict[int, int] = field(default_factory=dict)
    # Id -> number of `inventories`, `traits` and `aggregates`, of providers to delete.
    deleted: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    # Ids of the children of deleted providers.
    detached: Sequence[int] = ()
    # Existing providers with a different name: id -> (name, new name).
    renamed: dict[int, tuple[str, str]] = field(default_factory=dict)
    # The providers of a request for a whole tree, in order. Those without an id are created.
    listed: Sequence[ListedProvider] = ()
    # UUID of the new parent, of existing providers that move. None if the provider becomes a root.
    moved: dict[str, str | None] = field(default_factory=dict)
    # Id of another root -> ids of the providers that move to its tree. The root may be one of them.
    new_roots: Mapping[int, Collection[int]] = field(default_factory=dict)
    # Changes of the inventories of existing providers.
    inventories: list[InventoryChange] = field(default_factory=list)
    # Class -> id, of the inventories of new providers.
    class_ids: Mapping[str, int] = field(default_factory=dict)
    # Whether the write locks the tree. False if the request changes nothing in the tree.
    locks: bool = True
    traits: LinkChange = field(default_factory=LinkChange)
    aggregates: LinkChange = field(default_factory=LinkChange)

    @property
    def created(self) -> list[ListedProvider]:
        return [listed for listed in self.listed if listed.uuid not in self.ids]

    def __bool__(self) -> bool:
        return bool(self.bumped or self.deleted or self.renamed or self.created or self.moved)
