"""The difference between two trees. It can be applied, and described in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.inventory import FIELDS, InventoryRecord
from falcon_placement_client.provider_data import ProviderData

Providers = dict[str, ProviderData]  # providers by UUID, while a difference is being applied


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A change in a tree. Its text describes the change."""

    # The changed provider.
    uuid: str
    name: str

    def revise(self, providers: Providers) -> None:
        """Apply the change.  Raises ProviderTreeError if the provider does not exist."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ProviderAdded(TreeChange):
    """The addition of an empty provider. An existing provider becomes empty."""

    # UUID of the parent, or None for a root.
    parent_uuid: str | None
    # Name of the parent, or None for a root.
    parent: str | None

    def revise(self, providers: Providers) -> None:
        """Apply the change."""
        providers[self.uuid] = ProviderData(self.uuid, self.name, self.parent_uuid)

    def __str__(self) -> str:
        return f"+ {_place(self)}"


@dataclass(frozen=True, slots=True)
class ProviderRemoved(TreeChange):
    """The removal of a provider."""

    # Name of the parent, or None for a root.
    parent: str | None

    def revise(self, providers: Providers) -> None:
        """Apply the change if the provider exists."""
        providers.pop(self.uuid, None)

    def __str__(self) -> str:
        return f"- {_place(self)}"


@dataclass(frozen=True, slots=True)
class ProviderRenamed(TreeChange):
    """The renaming of a provider."""

    old_name: str

    def revise(self, providers: Providers) -> None:
        """Apply the change."""
        providers[self.uuid] = replace(_provider(providers, self), name=self.name)

    def __str__(self) -> str:
        return f"{self.old_name} is renamed {self.name}"


@dataclass(frozen=True, slots=True)
class ProviderMoved(TreeChange):
    """The move of a provider to another parent, or to the top."""

    # UUID of the new parent, or None for a root.
    parent_uuid: str | None
    # Name of the new parent, or None for a root.
    parent: str | None

    def revise(self, providers: Providers) -> None:
        """Apply the change."""
        providers[self.uuid] = replace(_provider(providers, self), parent_uuid=self.parent_uuid)

    def __str__(self) -> str:
        place = "becomes a root" if self.parent is None else f"below {self.parent} now"
        return f"{self.name} {place}"


@dataclass(frozen=True, slots=True)
class InventoryChanged(TreeChange):
    """The addition, change or removal of the inventory record of a class."""

    resource_class: str
    # The previous record, or None if the record is new.
    old: InventoryRecord | None
    # The new record, or None if the record is removed.
    record: InventoryRecord | None

    def revise(self, providers: Providers) -> None:
        """Apply the change."""
        provider = _provider(providers, self)
        inventory = {**provider.inventory}
        inventory.pop(self.resource_class, None)
        if self.record is not None:
            inventory[self.resource_class] = self.record
        providers[self.uuid] = replace(provider, inventory=inventory)

    def __str__(self) -> str:
        if self.record is None:
            return f"{self.name}: - {self.resource_class}"
        sign = "+ " if self.old is None else ""
        return f"{self.name}: {sign}{self.resource_class} {_amounts(self.old, self.record)}"


@dataclass(frozen=True, slots=True)
class NamesChanged(TreeChange):
    """A change of the traits or aggregates of a provider."""

    # `traits` or `aggregates`.
    part: str
    added: frozenset[str]
    removed: frozenset[str]

    def revise(self, providers: Providers) -> None:
        """Apply the change."""
        provider = _provider(providers, self)
        names = (getattr(provider, self.part) - self.removed) | self.added
        changed: Mapping[str, Any] = {self.part: names}
        providers[self.uuid] = replace(provider, **changed)

    def __str__(self) -> str:
        signed = (("+", self.added), ("-", self.removed))
        words = [f"{sign} {self._noun(names)}" for sign, names in signed if names]
        return f"{self.name}: {', '.join(words)}"

    def _noun(self, names: frozenset[str]) -> str:
        return f"{self.part[: None if len(names) > 1 else -1]} {', '.join(sorted(names))}"


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """The changes that turn one tree into another, in order."""

    # The changes in the order of their application.
    changes: tuple[TreeChange, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __iter__(self) -> Iterator[TreeChange]:
        return iter(self.changes)

    def __str__(self) -> str:
        return "; ".join(map(str, self.changes)) or "no difference"


def difference(old: Sequence[ProviderData], new: Sequence[ProviderData]) -> TreeDifference:
    """Return the changes from one tree to another. In both, parents come before their children."""
    olds, news = _by_uuid(old), _by_uuid(new)
    changes: list[TreeChange] = []
    for provider in new:
        older = olds.get(provider.uuid)
        parent = _parent_name(provider, news)
        if older is None:
            changes.append(
                ProviderAdded(provider.uuid, provider.name, provider.parent_uuid, parent)
            )
        else:
            changes += _moves(older, provider, parent)
        changes += _parts(older or ProviderData(provider.uuid, provider.name), provider)
    for provider in reversed(old):
        if provider.uuid not in news:
            parent = _parent_name(provider, olds)
            changes.append(ProviderRemoved(provider.uuid, provider.name, parent))
    return TreeDifference(tuple(changes))


def revised(
    providers: Sequence[ProviderData], difference: TreeDifference
) -> Sequence[ProviderData]:
    """Return providers after applying a difference. Raises ProviderTreeError if one is missing."""
    by_uuid = _by_uuid(providers)
    for change in difference:
        change.revise(by_uuid)
    return list(by_uuid.values())


def _by_uuid(providers: Iterable[ProviderData]) -> Providers:
    return {provider.uuid: provider for provider in providers}


def _moves(old: ProviderData, new: ProviderData, parent: str | None) -> Iterator[TreeChange]:
    if new.name != old.name:
        yield ProviderRenamed(new.uuid, new.name, old.name)
    if new.parent_uuid != old.parent_uuid:
        yield ProviderMoved(new.uuid, new.name, new.parent_uuid, parent)


def _parts(old: ProviderData, new: ProviderData) -> Iterator[TreeChange]:
    for name in [*new.inventory, *sorted(old.inventory.keys() - new.inventory.keys())]:
        record, new_record = old.inventory.get(name), new.inventory.get(name)
        if record != new_record:
            yield InventoryChanged(new.uuid, new.name, name, record, new_record)
    for part in ("traits", "aggregates"):
        names, new_names = getattr(old, part), getattr(new, part)
        if names != new_names:
            yield NamesChanged(new.uuid, new.name, part, new_names - names, names - new_names)


def _provider(providers: Providers, change: Any) -> ProviderData:
    if change.uuid not in providers:
        raise ProviderTreeError(f"{change}: there is no provider {change.uuid} in the tree")
    return providers[change.uuid]


def _parent_name(provider: ProviderData, providers: Mapping[str, ProviderData]) -> str | None:
    return None if provider.parent_uuid is None else providers[provider.parent_uuid].name


def _place(change: Any) -> str:
    is_root = change.parent is None
    return f"root {change.name}" if is_root else f"child {change.name} below {change.parent}"


def _amounts(old: InventoryRecord | None, new: InventoryRecord) -> str:
    """Return the changed members of a record. For a new record, return all members that are set."""
    if old is None:
        return ", ".join(
            f"{member} {value:g}" if isinstance(value, float) else f"{member} {value}"
            for member, value in new.not_default().items()
        )
    pairs = [(field, getattr(old, field), getattr(new, field)) for field in FIELDS]
    return ", ".join(f"{field} {was} -> {value}" for field, was, value in pairs if value != was)
