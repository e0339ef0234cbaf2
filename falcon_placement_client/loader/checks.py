"""Contradictions between a cloud file and a server, which are found before the first write."""

from collections.abc import Iterable, Mapping
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.loader.cloud import Cloud, LoadError
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.suggestions import did_you_mean, nearest
from falcon_placement_client.vocabulary import CUSTOM_PREFIX


def refuse_clashes(cloud: Cloud, client: RestClient) -> Mapping[str, Mapping[str, Any]]:
    """Return the providers of the server by UUID.  Raises LoadError."""
    on_server = client.items("/resource_providers", "resource_providers")
    by_uuid = {provider["uuid"]: provider for provider in on_server}
    by_name = {provider["name"]: provider for provider in on_server}
    for provider in cloud.providers:
        clash = _clash(provider, by_uuid.get(provider.uuid), by_name.get(provider.name))
        if clash is not None:
            raise LoadError(f"{cloud.place(provider)}: {clash}")
    return by_uuid


def refuse_records(cloud: Cloud) -> None:
    """Raise LoadError if the file has spread groups or requests that the server cannot store."""
    for consumer in cloud.consumers:
        if consumer.has_record:
            raise LoadError(
                f"{cloud.place_of_consumer(consumer)}: the server stores no spread groups and "
                f"requests: it needs placement 2.0"
            )


def _clash(
    provider: ProviderData, same_uuid: Mapping[str, Any] | None, same_name: Mapping[str, Any] | None
) -> str | None:
    """Return the contradiction to a server's provider with this UUID or name, or None."""
    if same_uuid and same_uuid["name"] != provider.name:
        return f"on the server its UUID {provider.uuid} belongs to {same_uuid['name']!r}"
    if same_name and same_name["uuid"] != provider.uuid:
        return (
            f"on the server this name belongs to {same_name['uuid']}, "
            f"in the file to {provider.uuid}"
        )
    if same_uuid and same_uuid["parent_provider_uuid"] != provider.parent_uuid:
        return (
            f"on the server its parent is {same_uuid['parent_provider_uuid'] or 'none'}, "
            f"in the file {provider.parent_uuid or 'none'}"
        )
    return None


def missing_names(
    kind: str, first_places: Mapping[str, str], on_server: Iterable[str]
) -> dict[str, str]:
    """Return the names to create, each with its first location in the file.  Raises LoadError."""
    existing = set(on_server)
    missing = {name: place for name, place in first_places.items() if name not in existing}
    for name, place in missing.items():
        if not name.startswith(CUSTOM_PREFIX):
            hint = did_you_mean(nearest(name, existing))
            hint = hint or f"; custom names begin with {CUSTOM_PREFIX}"
            raise LoadError(f"{place}: the server knows no {kind} {name}{hint}")
    return missing
