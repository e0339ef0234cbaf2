"""Resource providers as clients see them (contract resources.md section 1.1)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from placement.api.microversion import Microversion
from placement.api.versioned import growing
from placement.objects.trees import Provider, Shown

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


def one(provider: Shown | Provider, mount: str, version: Microversion) -> Mapping[str, Any]:
    """The representation of a provider; `mount` is the prefix of its links."""
    return next(_each([provider], mount, version))


def many(providers: Iterable[Shown], mount: str, version: Microversion) -> Mapping[str, Any]:
    """The list of providers."""
    return {"resource_providers": list(_each(providers, mount, version))}


def _each(
    providers: Iterable[Shown | Provider], mount: str, version: Microversion
) -> Iterator[Mapping[str, Any]]:
    rels = [(rel, f"/{rel}") for rel in LINKS.at(version)]
    fields = FIELDS.at(version)
    for provider in providers:
        path = f"{mount}/resource_providers/{provider.uuid}"
        known = {
            "uuid": provider.uuid,
            "name": provider.name,
            "generation": provider.generation,
            "links": [
                {"rel": "self", "href": path},
                *[{"rel": rel, "href": path + end} for rel, end in rels],
            ],
            "parent_provider_uuid": provider.parent_uuid,
            "root_provider_uuid": provider.root_uuid,
        }
        yield {name: known[name] for name in fields}
