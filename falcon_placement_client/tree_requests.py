"""Bodies of `PUT /provider_trees/{root}`. Each tree that differs needs one request.

A body lists the root and the providers that differ, each with the generation that was read. Without
the generation, if another client had deleted a provider, the service would create it again with
only the difference. Bodies do not prune, because pruning would delete providers that other clients
have added since the read. Names and parents have no generation. If another client renames a listed
provider between the read and the write, the update undoes the rename.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from falcon_placement_client.provider_data import NOTHING, Inventories, ProviderData
from falcon_placement_client.provider_tree import TreeSnapshot

MAX_PROVIDERS = 1000  # maximum number of providers in one request

_MEMBER = re.compile(r"providers\[(\d+)\]")


class TreeRequest(NamedTuple):
    """A request that writes the difference of one tree."""

    # The providers in the body, in order. The first one is the root.
    providers: Sequence[ProviderData]
    body: Mapping[str, Any]
    # Whether the request increases the amount of any class of a provider.
    adds_inventory: bool
    # Providers to delete after the request. The request empties their inventories.
    drained: Sequence[ProviderData]

    @property
    def root(self) -> str:
        """The UUID of the root."""
        return self.providers[0].uuid

    def name_of_refused(self, detail: str) -> str:
        """Return the name of the provider that a refusal is about. The default is the root."""
        named = _MEMBER.match(detail)
        return self.providers[int(named[1]) if named else 0].name


def tree_requests(current: TreeSnapshot, target: TreeSnapshot) -> list[TreeRequest] | None:
    """Return a request for each tree whose differences are not only removed providers.

    Returns:
        The requests, with additions of inventory last, or None if single requests are necessary: a
        provider moves to another tree, or a tree has more than `MAX_PROVIDERS` differences.
    """
    changed: dict[str, list[ProviderData]] = {}
    for provider in target:
        old = current.find(provider.uuid)
        root = target.root(provider.uuid).uuid
        if old is not None and current.root(provider.uuid).uuid != root:
            return None
        if old != provider:
            changed.setdefault(root, []).append(provider)
    removed: dict[str, list[ProviderData]] = {}
    for provider in reversed(list(current)):
        if not target.exists(provider.uuid):
            removed.setdefault(current.root(provider.uuid).uuid, []).append(provider)
    requests = [
        _request(current, target.data(root), providers, removed.get(root, []))
        for root, providers in changed.items()
    ]
    if any(len(request.providers) > MAX_PROVIDERS for request in requests):
        return None
    return sorted(requests, key=lambda request: request.adds_inventory)


def gains(current: TreeSnapshot, provider: ProviderData) -> bool:
    """Return whether a provider receives more of a class than it currently has."""
    old = inventory_of(current.find(provider.uuid))
    return any(
        name not in old or record.total > old[name].total
        for name, record in provider.inventory.items()
    )


def inventory_of(provider: ProviderData | None) -> Inventories:
    """Return the inventory of a provider. Empty if the provider has none."""
    return NOTHING if provider is None else provider.inventory


def to_json(inventories: Inventories) -> dict[str, dict[str, int | float]]:
    """Return inventories in the form of requests."""
    return {name: asdict(record) for name, record in inventories.items()}


def _request(
    current: TreeSnapshot,
    root: ProviderData,
    changed: Sequence[ProviderData],
    removed: Sequence[ProviderData],
) -> TreeRequest:
    kept = [root, *(provider for provider in changed if provider.uuid != root.uuid)]
    stocked = [provider for provider in removed if provider.inventory]
    entries = [_entry(current.find(provider.uuid), provider) for provider in kept]
    entries += [{**_entry(provider, provider), "inventories": {}} for provider in stocked]
    return TreeRequest(
        [*kept, *stocked],
        {"providers": entries, "create_names": True},
        any(gains(current, provider) for provider in kept),
        removed,
    )


def _entry(old: ProviderData | None, new: ProviderData) -> dict[str, Any]:
    """Return a provider as an entry of the body. Without an old provider, it must not exist."""
    entry: dict[str, Any] = {
        "uuid": new.uuid,
        "name": new.name,
        "parent_provider_uuid": new.parent_uuid,
        "generation": None if old is None else old.generation,
    }
    if new.inventory != inventory_of(old):
        entry["inventories"] = to_json(new.inventory)
    for part in ("traits", "aggregates"):
        names: frozenset[str] = getattr(new, part)
        present: frozenset[str] = frozenset() if old is None else getattr(old, part)
        if names != present:
            entry[part] = {"add": sorted(names - present), "remove": sorted(present - names)}
    return entry
