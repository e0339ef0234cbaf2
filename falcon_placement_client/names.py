"""Find providers by name or UUID."""

from typing import Any
from urllib.parse import quote

from falcon_placement_client.errors import RestError
from falcon_placement_client.rest import MAX_V1, RestApi
from falcon_placement_client.terms import is_uuid


def find_provider(api: RestApi, name_or_uuid: str, noun: str = "provider") -> dict[str, Any]:
    """Return a provider in the form of lists.

    Raises:
        RestError: there is no such provider; the text calls it by the noun.
    """
    providers = providers_called(api, name_or_uuid)
    if not providers:
        raise RestError(f"{name_or_uuid}: there is no such {noun}")
    return providers[0]


def providers_called(api: RestApi, name_or_uuid: str) -> list[dict[str, Any]]:
    """Return the provider in the form of lists, or an empty list if there is none."""
    parameter = "uuid" if is_uuid(name_or_uuid) else "name"
    path = f"/resource_providers?{parameter}={quote(name_or_uuid, safe='')}"
    found: list[dict[str, Any]] = api.get(path, min(api.version, MAX_V1))["resource_providers"]
    return found


class ProviderNames:
    """Reads the names of providers. Each name is read only once."""

    def __init__(self, api: RestApi) -> None:
        self._api = api
        self._names: dict[str, str] = {}

    def __call__(self, uuid: str) -> str:
        """Return the name of a provider, or its UUID if the provider does not exist.

        Raises:
            RestError: the list of providers cannot be read.
        """
        if uuid not in self._names:
            path = f"/resource_providers?uuid={uuid}"
            providers = self._api.get(path, min(self._api.version, MAX_V1))["resource_providers"]
            self._names[uuid] = providers[0]["name"] if providers else uuid
        return self._names[uuid]
