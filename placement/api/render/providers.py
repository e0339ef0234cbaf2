"""Resource providers as clients see them (contract resources.md section 1.1)."""

from collections.abc import Iterable, Mapping
from typing import Any

from placement.api.microversion import Microversion
from placement.api.versioned import growing
from placement.objects.trees import Provider

FIELDS = growing(
    {
        "1.0": ("uuid", "name", "generation", "links"),
        "1.14": ("parent_provider_uuid", "root_provider_uuid"),
    }
)
LINKS = growing(
    {
        "1.0": ("inventories", "usages"),
        "1.1": ("aggregates",),
        "1.6": ("traits",),
        "1.11": ("allocations",),
    }
)


def one(provider: Provider, mount: str, version: Microversion) -> Mapping[str, Any]:
    """The representation of a provider; `mount` is the prefix of its links."""
    path = f"{mount}/resource_providers/{provider.uuid}"
    fields = {
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "parent_provider_uuid": provider.parent_uuid,
        "root_provider_uuid": provider.root_uuid,
        "links": [
            {"rel": "self", "href": path},
            *({"rel": rel, "href": f"{path}/{rel}"} for rel in LINKS.at(version)),
        ],
    }
    return {name: fields[name] for name in FIELDS.at(version)}


def many(providers: Iterable[Provider], mount: str, version: Microversion) -> Mapping[str, Any]:
    """The list of providers."""
    return {"resource_providers": [one(provider, mount, version) for provider in providers]}
