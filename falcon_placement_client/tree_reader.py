"""Read a tree of providers from the service."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from falcon_placement_client.errors import RefusedError, UpdateFailed
from falcon_placement_client.provider_data import (
    ProviderData,
    check_aggregates,
    complete_inventories,
)
from falcon_placement_client.provider_tree import TreeSnapshot
from falcon_placement_client.rest import V2, RestApi
from falcon_placement_client.vocabulary import SHARING_TRAIT

PARTS = ("inventories", "traits", "aggregates")
READS = 10  # attempts to read a provider that other clients keep changing

_LIST = "/resource_providers"
_GENERATION = "resource_provider_generation"

Item = TypeVar("Item")


def read_tree(api: RestApi, uuid: str, base: TreeSnapshot | None = None) -> list[ProviderData]:
    """Return the providers in the tree of a provider. Empty if the provider does not exist.

    Args:
        base: an earlier state. On services that take three requests for a provider, providers with
            an unchanged generation are not read again.
    """
    return _read(api, f"in_tree={uuid}", base)


def read_sharing(api: RestApi, providers: Iterable[ProviderData]) -> list[ProviderData]:
    """Return the providers that share with these through an aggregate, and their whole trees."""
    uuids = {provider.uuid for provider in providers}
    aggregates = sorted(frozenset[str]().union(*(provider.aggregates for provider in providers)))
    if not aggregates:
        return []
    query = f"member_of=in:{','.join(aggregates)}&required={SHARING_TRAIT}"
    sharing = [provider for provider in _read(api, query, None) if provider.uuid not in uuids]
    trees = {provider.uuid: provider for provider in sharing}
    for provider in sharing:
        if provider.parent_uuid is not None:
            # The whole tree is needed to determine its position.
            trees |= {member.uuid: member for member in read_tree(api, provider.uuid)}
    return list(trees.values())


def read_usages(api: RestApi, uuid: str) -> dict[str, dict[str, int]]:
    """Return the usages of the providers in a tree, by UUID and class."""
    query = f"in_tree={uuid}"
    if api.supports_v2:
        entries = api.pages(f"{query}&include=usages", V2)
        return {entry["uuid"]: entry["usages"] for entry in entries}

    def usages(entry: Mapping[str, Any]) -> tuple[str, dict[str, int]]:
        return entry["uuid"], api.get(f"{_LIST}/{entry['uuid']}/usages")["usages"]

    return dict(_read_each(api, query, usages))


def _read(api: RestApi, query: str, base: TreeSnapshot | None) -> list[ProviderData]:
    if api.supports_v2:
        entries = api.pages(f"{query}&include={','.join(PARTS)}", V2)
        return [provider_of(entry, entry) for entry in entries]
    return _read_each(api, query, lambda entry: read_provider(api, entry, base))


def _read_each(api: RestApi, query: str, read: Callable[[Mapping[str, Any]], Item]) -> list[Item]:
    """Return a value for each provider in a list. Start again if one of them was deleted."""
    for _ in range(READS):
        entries = list(api.pages(query))
        try:
            return [read(entry) for entry in entries]
        except RefusedError as refusal:
            if refusal.status != 404:  # the provider was deleted after the list was read
                raise
    raise UpdateFailed("other clients keep deleting the providers that are read: try again")


def read_provider(
    api: RestApi, entry: Mapping[str, Any], base: TreeSnapshot | None = None
) -> ProviderData:
    """Return a listed provider with its parts, from the base if the generation is the same.

    Raises:
        RefusedError: the provider has been deleted.
        UpdateFailed: other clients keep changing it.
    """
    provider = None if base is None else base.find(entry["uuid"])
    if provider is not None and provider.generation == entry["generation"]:
        # Any write of a part increments the generation. Names and parents are in the list.
        return replace(provider, name=entry["name"], parent_uuid=entry["parent_provider_uuid"])
    for _ in range(READS):
        responses = {part: api.get(f"{_LIST}/{entry['uuid']}/{part}") for part in PARTS}
        generations = {response[_GENERATION] for response in responses.values()}
        if len(generations) == 1:
            parts = {part: response[part] for part, response in responses.items()}
            return provider_of({**entry, "generation": generations.pop()}, parts)
    raise UpdateFailed(
        f"{entry['name']}: other clients keep changing it, so it cannot be read: try again"
    )


def provider_of(entry: Mapping[str, Any], parts: Mapping[str, Any]) -> ProviderData:
    """Return a provider in a list, with its parts in the form of responses."""
    return ProviderData(
        entry["uuid"],
        entry["name"],
        entry["parent_provider_uuid"],
        complete_inventories(entry["name"], parts["inventories"]),
        frozenset(parts["traits"]),
        check_aggregates(entry["name"], parts["aggregates"]),
        entry["generation"],
    )
