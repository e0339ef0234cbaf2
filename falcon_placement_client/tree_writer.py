"""Write the differences of a tree, in an order that can be interrupted at any point.

If the service supports `PUT /provider_trees`, the client sends one request for each tree. For other
services, and for a reshape, it sends single requests. A provider is created without inventories and
receives them after its traits and aggregates, because an incomplete provider must not be offered.
Removals come before additions, because a device must not be offered twice. An update after an
interruption completes the changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NoReturn

from falcon_placement_client.consumers import AllocationRecords, record_to_write
from falcon_placement_client.errors import (
    ClientError,
    RefusedError,
    ReshapeFailed,
    ReshapeNeeded,
    UpdateFailed,
)
from falcon_placement_client.provider_data import Inventories, ProviderData
from falcon_placement_client.provider_tree import TreeSnapshot
from falcon_placement_client.rest import NOT_ACCEPTABLE, TYPES_UNSTATED, RestApi
from falcon_placement_client.tree_requests import (
    TreeRequest,
    gains,
    inventory_of,
    to_json,
    tree_requests,
)
from falcon_placement_client.vocabulary import CUSTOM_PREFIX

_GENERATION = "resource_provider_generation"
_IN_USE = ("placement.inventory.inuse", "placement.resource_provider.inuse")
DUPLICATE_NAME = "placement.duplicate_name"
_PROVIDER_NAME = "Conflicting resource provider name:"


class TreeWriter:
    """Writes trees to one service. It caches the custom names that exist in the service."""

    def __init__(self, api: RestApi, names: Iterable[str] = ()) -> None:
        """Create a writer. names: paths of custom classes and traits that exist."""
        self._api = api
        self._names = set(names)

    def create(self, target: TreeSnapshot) -> TreeSnapshot | None:
        """Create trees without reading from the service.

        Returns:
            The trees with their generations, or None if the service does not support whole trees,
            or refuses one, for example because a provider exists: `write` needs its state then.
        """
        requests = tree_requests(TreeSnapshot(), target) if self._api.writes_trees else None
        if requests is None:
            return None
        generations: dict[str, int | None] = {}
        for request in requests:
            try:
                self._put_tree(request, generations)
            except RefusedError as refusal:
                if refusal.status == NOT_ACCEPTABLE:
                    raise
                return None
        return _with_generations(target, generations)

    def write(
        self,
        current: TreeSnapshot,
        target: TreeSnapshot,
        allocations: AllocationRecords | None = None,
    ) -> TreeSnapshot:
        """Change the tree in the service. Return the result with its new generations.

        Args:
            allocations: all allocations of each consumer in it, written together with the
                inventories. None means unchanged.

        Raises:
            ClientError: another client has written concurrently (`is_conflict`).
            UpdateFailed: the service refuses a change.
            ReshapeNeeded: inventory in use is removed, and allocations are None.
            ReshapeFailed: the service refuses the reshape.
        """
        generations = {provider.uuid: provider.generation for provider in current}
        removed = [
            provider for provider in reversed(list(current)) if not target.exists(provider.uuid)
        ]
        requests = None
        if allocations is None and self._api.writes_trees:
            requests = tree_requests(current, target)
        if requests is None:
            self._write_singly(current, target, removed, generations, allocations)
        else:
            self._write_trees(requests, removed, generations)
        return _with_generations(target, generations)

    def _write_trees(
        self,
        requests: Iterable[TreeRequest],
        removed: Iterable[ProviderData],
        generations: dict[str, int | None],
    ) -> None:
        """Write whole trees. Delete removed providers after their inventories have been written."""
        drained = [provider for request in requests for provider in request.drained]
        drained_uuids = {provider.uuid for provider in drained}
        self._remove(provider for provider in removed if provider.uuid not in drained_uuids)
        for request in requests:
            try:
                self._put_tree(request, generations)
            except RefusedError as refusal:
                self.refuse(request.name_of_refused(refusal.detail), refusal)
        self._remove(drained)

    def _put_tree(self, request: TreeRequest, generations: dict[str, int | None]) -> None:
        response = self._api.put_tree(request.root, request.body)
        for uuid, written in response["providers"].items():
            generations[uuid] = written["generation"]

    def _write_singly(
        self,
        current: TreeSnapshot,
        target: TreeSnapshot,
        removed: Iterable[ProviderData],
        generations: dict[str, int | None],
        allocations: AllocationRecords | None,
    ) -> None:
        self._names.update(path for provider in current for path in _name_paths(provider))
        self._make_names(target)
        for provider in target:
            self._place(current.find(provider.uuid), provider, generations)
        for provider in target:
            self._describe(current.find(provider.uuid), provider, generations)
        if allocations is None:
            self._remove(removed)
            for provider in sorted(target, key=lambda provider: gains(current, provider)):
                self._stock(current.find(provider.uuid), provider, generations)
        else:
            self._reshape(current, target, generations, allocations)
            self._remove(removed)

    def _make_names(self, target: TreeSnapshot) -> None:
        """Create the custom classes and traits that may not exist yet."""
        for provider in target:
            for path in _name_paths(provider):
                if path not in self._names:
                    self._send(provider, "PUT", path)
                    self._names.add(path)

    def _place(
        self, old: ProviderData | None, new: ProviderData, generations: dict[str, int | None]
    ) -> None:
        """Create a provider, or update its name and its parent."""
        place = {"name": new.name, "parent_provider_uuid": new.parent_uuid}
        if old is None:
            body = {**place, "uuid": new.uuid}
            generations[new.uuid] = self._send(new, "POST", "/resource_providers", body)[
                "generation"
            ]
        elif (old.name, old.parent_uuid) != (new.name, new.parent_uuid):
            self._send(new, "PUT", f"/resource_providers/{new.uuid}", place)

    def _describe(
        self, old: ProviderData | None, new: ProviderData, generations: dict[str, int | None]
    ) -> None:
        """Write aggregates first, then traits: a trait can make a provider a sharing provider."""
        for part in ("aggregates", "traits"):
            names = getattr(new, part)
            if names != (getattr(old, part) if old else frozenset()):
                self._put_part(new, part, sorted(names), generations)

    def _stock(
        self, old: ProviderData | None, new: ProviderData, generations: dict[str, int | None]
    ) -> None:
        if new.inventory != inventory_of(old):
            self._put_part(new, "inventories", to_json(new.inventory), generations)

    def _put_part(
        self, provider: ProviderData, part: str, value: Any, generations: dict[str, int | None]
    ) -> None:
        body = {part: value, _GENERATION: generations[provider.uuid]}
        response = self._send(provider, "PUT", f"/resource_providers/{provider.uuid}/{part}", body)
        generations[provider.uuid] = response[_GENERATION]

    def _remove(self, providers: Iterable[ProviderData]) -> None:
        """Delete providers. Children are deleted before their parents."""
        for provider in providers:
            self._send(provider, "DELETE", f"/resource_providers/{provider.uuid}")

    def _reshape(
        self,
        current: TreeSnapshot,
        target: TreeSnapshot,
        generations: dict[str, int | None],
        allocations: AllocationRecords,
    ) -> None:
        """Write inventories and allocations together, in one transaction of the service."""
        inventories = _changed_inventories(current, target)
        if not inventories and not allocations:
            return
        if not inventories:
            # The service requires at least one provider.
            first = next(iter(target))
            inventories = {first.uuid: first.inventory}
        body = {
            "inventories": {
                uuid: {_GENERATION: generations[uuid], "inventories": to_json(inventory)}
                for uuid, inventory in inventories.items()
            },
            "allocations": {
                consumer: record_to_write(consumer, record)
                for consumer, record in allocations.items()
            },
        }
        names = ", ".join(data.name for uuid in inventories if (data := target.find(uuid)))
        try:
            self._api.post("/reshaper", body, TYPES_UNSTATED)
        except RefusedError as refusal:
            is_stale = refusal.is_conflict or refusal.code in _IN_USE
            text = f"the reshape of {names} was refused: {refusal.detail}"
            raise ReshapeFailed(text, is_stale=is_stale) from refusal
        allocated = (record["allocations"] for record in allocations.values())
        generations |= dict.fromkeys(chain(inventories, *allocated))

    def _send(
        self, provider: ProviderData, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> Any:
        """Send a request about a provider. Raise the error that corresponds to a refusal."""
        try:
            return self._api.send(method, path, body)
        except RefusedError as refusal:
            self.refuse(provider.name, refusal)

    def refuse(self, name: str, refusal: RefusedError) -> NoReturn:
        """Raise the error for the refusal of a request about the provider with this name."""
        if is_retriable(refusal) or refusal.status == NOT_ACCEPTABLE:
            raise refusal
        if refusal.status == 400:
            self._names.clear()  # a cached name may have been deleted
        if refusal.code in _IN_USE:
            reason = refusal.detail.rstrip(".")
            raise ReshapeNeeded(
                f"{name}: {reason}; or pass the allocations, too, to move them"
            ) from refusal
        raise UpdateFailed(f"{name}: {refusal}") from refusal


def is_retriable(refusal: ClientError) -> bool:
    """Return whether a retry with fresh data may succeed after a concurrent write."""
    if not isinstance(refusal, RefusedError):
        return False
    created = refusal.code == DUPLICATE_NAME and _PROVIDER_NAME not in refusal.detail
    return refusal.is_conflict or created or refusal.status == 404


def _name_paths(provider: ProviderData) -> Iterable[str]:
    """Return the paths of the custom names that a provider uses."""
    for collection, names in (
        ("resource_classes", provider.inventory),
        ("traits", sorted(provider.traits)),
    ):
        for name in names:
            if name.startswith(CUSTOM_PREFIX):
                yield f"/{collection}/{name}"


def _changed_inventories(current: TreeSnapshot, target: TreeSnapshot) -> dict[str, Inventories]:
    """Return the inventories that a reshape must write. Empty for removed providers."""
    changed = {
        provider.uuid: provider.inventory
        for provider in target
        if provider.inventory != inventory_of(current.find(provider.uuid))
    }
    removed = (provider for provider in current if not target.exists(provider.uuid))
    return changed | {provider.uuid: {} for provider in removed if provider.inventory}


def _with_generations(target: TreeSnapshot, generations: Mapping[str, int | None]) -> TreeSnapshot:
    return TreeSnapshot(
        replace(provider, generation=generations[provider.uuid]) for provider in target
    )
