"""Provider trees for compute drivers: immutable snapshots and editable copies.

Providers are identified by name or UUID. A tree may have several roots: the root of a host, and
the roots of the sharing providers that it uses.
"""

import uuid as uuids
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

from falcon_placement_client import tree_difference
from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.provider_data import (
    ProviderData,
    StatedInventories,
    check_aggregates,
    check_name,
    check_traits,
    check_uuid,
    complete_inventories,
    parents_first,
)
from falcon_placement_client.tree_difference import TreeDifference
from falcon_placement_client.vocabulary import SHARING_TRAIT


class ReadOnlyTree:
    """Queries on snapshots and on editable copies."""

    _providers: Mapping[str, ProviderData]

    def __iter__(self) -> Iterator[ProviderData]:
        """Iterate over the providers. Parents come before their children."""
        return iter(self._providers.values())

    def __len__(self) -> int:
        return len(self._providers)

    def __eq__(self, other: object) -> bool:
        """Return whether both trees have the same providers. Generations and order are ignored."""
        return isinstance(other, ReadOnlyTree) and dict(self._providers) == dict(other._providers)

    __hash__ = None  # type: ignore[assignment]  # the subclass that can be edited has no hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(provider.name for provider in self)})"

    def find(self, name_or_uuid: str) -> ProviderData | None:
        """Return a provider, or None if it is not in the tree."""
        if name_or_uuid in self._providers:
            return self._providers[name_or_uuid]
        by_name = next((provider for provider in self if provider.name == name_or_uuid), None)
        return by_name or self._providers.get(str(name_or_uuid).lower())

    def exists(self, name_or_uuid: str) -> bool:
        """Return whether the tree has a provider."""
        return self.find(name_or_uuid) is not None

    def data(self, name_or_uuid: str) -> ProviderData:
        """Return a provider.  Raises ProviderTreeError if it is not in the tree."""
        provider = self.find(name_or_uuid)
        if provider is None:
            names = ", ".join(provider.name for provider in self) or "no provider"
            raise ProviderTreeError(f"no provider {name_or_uuid!r:.80} in the tree: it has {names}")
        return provider

    def get_provider_uuids(self, name_or_uuid: str | None = None) -> list[str]:
        """Return the UUIDs of all providers, or of a provider and its descendants.

        Parents come first.
        """
        if name_or_uuid is None:
            return list(self._providers)
        subtree = {self.data(name_or_uuid).uuid}
        for provider in self:
            if provider.parent_uuid in subtree:
                subtree.add(provider.uuid)
        return [provider.uuid for provider in self if provider.uuid in subtree]

    def get_provider_uuids_in_tree(self, name_or_uuid: str) -> list[str]:
        """Return the UUIDs of all providers with the same root. Parents come first."""
        return self.get_provider_uuids(self.root(name_or_uuid).uuid)

    def root(self, name_or_uuid: str) -> ProviderData:
        """Return the root of a provider.  Raises ProviderTreeError if the provider is missing."""
        provider = self.data(name_or_uuid)
        while provider.parent_uuid is not None:
            provider = self._providers[provider.parent_uuid]
        return provider

    def roots(self) -> list[ProviderData]:
        """Return the providers without a parent."""
        return [provider for provider in self if provider.parent_uuid is None]

    def has_inventory(self, name_or_uuid: str) -> bool:
        """Return whether a provider has any inventory."""
        return bool(self.data(name_or_uuid).inventory)

    def has_inventory_changed(self, name_or_uuid: str, inventory: StatedInventories) -> bool:
        """Return whether a provider's inventory differs from the given one."""
        provider = self.data(name_or_uuid)
        return provider.inventory != complete_inventories(provider.name, inventory)

    def has_sharing_provider(self, resource_class: str) -> bool:
        """Return whether any sharing provider in the tree has inventory of a class."""
        return any(
            SHARING_TRAIT in provider.traits and resource_class in provider.inventory
            for provider in self
        )

    def has_traits(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Return whether a provider has all of these traits."""
        provider = self.data(name_or_uuid)
        return check_traits(provider.name, traits) <= provider.traits

    def has_traits_changed(self, name_or_uuid: str, traits: Iterable[str]) -> bool:
        """Return whether a provider's traits differ from the given traits."""
        provider = self.data(name_or_uuid)
        return check_traits(provider.name, traits) != provider.traits

    def in_aggregates(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Return whether a provider is in all of these aggregates."""
        provider = self.data(name_or_uuid)
        return check_aggregates(provider.name, aggregates) <= provider.aggregates

    def has_aggregates_changed(self, name_or_uuid: str, aggregates: Iterable[str]) -> bool:
        """Return whether a provider's aggregates differ from the given aggregates."""
        provider = self.data(name_or_uuid)
        return check_aggregates(provider.name, aggregates) != provider.aggregates

    have_aggregates_changed = has_aggregates_changed  # the name of this method in nova's drivers


class TreeSnapshot(ReadOnlyTree):
    """An immutable tree."""

    def __init__(self, providers: Iterable[ProviderData] = ()) -> None:
        """Create a tree from providers in any order.

        Raises:
            ProviderTreeError: two providers have the same name or UUID, a parent is missing, or a
                provider is its own ancestor.
        """
        self._providers = MappingProxyType(parents_first(list(providers)))

    def edit(self) -> "ProviderTree":
        """Return a copy that can be edited. Its `base` is this snapshot."""
        return ProviderTree(self)

    def __sub__(self, older: "TreeSnapshot | ProviderTree") -> TreeDifference:
        """Return the changes that turn the older tree into this one."""
        return tree_difference.difference(list(older), list(self))

    def __add__(self, difference: TreeDifference) -> "TreeSnapshot":
        """Return this tree after applying a difference.

        Raises:
            ProviderTreeError: the difference concerns a provider that does not exist.
        """
        return TreeSnapshot(tree_difference.revised(list(self), difference))


class ProviderTree(ReadOnlyTree):
    """A tree that can be edited.

    Attributes:
        base: the snapshot that was read or written last; empty for a new tree.
    """

    def __init__(self, base: TreeSnapshot | None = None) -> None:
        self.base: TreeSnapshot
        self._providers: dict[str, ProviderData]
        self.rebase(base or TreeSnapshot())

    def snapshot(self) -> TreeSnapshot:
        """Return the current state of the tree."""
        return TreeSnapshot(self)

    def changes(self) -> TreeDifference:
        """Return the changes since `base`."""
        return self.snapshot() - self.base

    def rebase(self, base: TreeSnapshot) -> None:
        """Make a snapshot the content and the `base` of the tree."""
        self.base = base
        self._providers = {provider.uuid: provider for provider in base}

    def copy(self) -> Self:
        """Return an independent copy with the same `base`."""
        other = type(self)(self.base)
        other._providers = dict(self._providers)
        return other

    def new_root(self, name: str, uuid: str | None = None, generation: int | None = None) -> str:
        """Add a provider without a parent. Return its UUID, which is generated if not given.

        Raises:
            ProviderTreeError: the tree has the name or the UUID already.
        """
        return self._add(name, None, uuid, generation)

    def new_child(
        self, name: str, parent: str, uuid: str | None = None, generation: int | None = None
    ) -> str:
        """Add a child of a provider. Return its UUID, which is generated if not given.

        Raises:
            ProviderTreeError: the parent does not exist, or the tree has the name or the UUID
                already.
        """
        return self._add(name, self.data(parent).uuid, uuid, generation)

    def remove(self, name_or_uuid: str) -> None:
        """Remove a provider and its descendants.  Raises ProviderTreeError if it is missing."""
        for uuid in self.get_provider_uuids(name_or_uuid):
            del self._providers[uuid]

    def update_inventory(
        self, name_or_uuid: str, inventory: StatedInventories, generation: int | None = None
    ) -> bool:
        """Replace a provider's inventory. Return whether this is a change.

        Args:
            name_or_uuid: the provider.
            inventory: class -> record, or mapping with `total` and any other fields; missing ones
                have the service's defaults.
            generation: generation of the provider in the service, if it is known to have changed.

        Raises:
            ProviderTreeError: a value is invalid; the text names provider, class and member.
        """
        provider = self.data(name_or_uuid)
        complete = complete_inventories(provider.name, inventory)
        return self._replace(provider, generation, inventory=complete)

    def update_traits(
        self, name_or_uuid: str, traits: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace a provider's traits. Return whether this is a change."""
        provider = self.data(name_or_uuid)
        return self._replace(provider, generation, traits=check_traits(provider.name, traits))

    def add_traits(self, name_or_uuid: str, *traits: str) -> bool:
        """Add traits to a provider. Return whether this is a change."""
        provider = self.data(name_or_uuid)
        added = check_traits(provider.name, traits)
        return self.update_traits(provider.uuid, provider.traits | added)

    def remove_traits(self, name_or_uuid: str, *traits: str) -> bool:
        """Remove traits from a provider. Return whether this is a change."""
        provider = self.data(name_or_uuid)
        removed = check_traits(provider.name, traits)
        return self.update_traits(provider.uuid, provider.traits - removed)

    def update_aggregates(
        self, name_or_uuid: str, aggregates: Iterable[str], generation: int | None = None
    ) -> bool:
        """Replace a provider's aggregates (UUIDs). Return whether this is a change."""
        provider = self.data(name_or_uuid)
        checked = check_aggregates(provider.name, aggregates)
        return self._replace(provider, generation, aggregates=checked)

    def add_aggregates(self, name_or_uuid: str, *aggregates: str) -> bool:
        """Add a provider to aggregates. Return whether this is a change."""
        provider = self.data(name_or_uuid)
        added = check_aggregates(provider.name, aggregates)
        return self.update_aggregates(provider.uuid, provider.aggregates | added)

    def remove_aggregates(self, name_or_uuid: str, *aggregates: str) -> bool:
        """Remove a provider from aggregates. Return whether this is a change."""
        provider = self.data(name_or_uuid)
        removed = check_aggregates(provider.name, aggregates)
        return self.update_aggregates(provider.uuid, provider.aggregates - removed)

    def _add(
        self, name: str, parent_uuid: str | None, uuid: str | None, generation: int | None
    ) -> str:
        check_name(name)
        uuid = str(uuids.uuid4()) if uuid is None else check_uuid(name, uuid)
        for key in (name, uuid):
            if self.exists(key):
                raise ProviderTreeError(f"{name}: a provider {key} is in the tree already")
        self._providers[uuid] = ProviderData(uuid, name, parent_uuid, generation=generation)
        return uuid

    def _replace(self, provider: ProviderData, generation: int | None, **parts: Any) -> bool:
        changed = replace(provider, **parts)
        if generation is not None:
            changed = replace(changed, generation=generation)
        self._providers[provider.uuid] = changed
        return changed != provider
