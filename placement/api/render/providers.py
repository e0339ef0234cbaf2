"""Resource providers as clients see them (contract resources.md section 1.1)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.objects.trees import Provider

LINKS = ("inventories", "usages", "aggregates", "traits", "allocations")


def one(provider: Provider, mount: str) -> Mapping[str, Any]:
    """The representation of a provider; `mount` is the prefix of its links."""
    path = f"{mount}/resource_providers/{provider.uuid}"
    return {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "parent_provider_uuid": provider.parent_uuid,
        "root_provider_uuid": provider.root_uuid,
        "links": [
            {"rel": "self", "href": path},
            *({"rel": rel, "href": f"{path}/{rel}"} for rel in LINKS),
        ],
    }


def many(providers: Iterable[Provider], mount: str) -> Mapping[str, Any]:
    """The list of providers."""
    return {"resource_providers": [one(provider, mount) for provider in providers]}
