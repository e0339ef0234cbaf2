"""Resource providers as clients see them (contract resources.md section 1.1)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from placement.api.microversion import Microversion
from placement.api.versioned import growing
from placement.objects.providers import Provider

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

UUID = "{uuid}"


def one(provider: Provider, mount: str, version: Microversion) -> Mapping[str, Any]:
    """The representation of a provider; `mount` is the prefix of its links."""
    return next(_each([provider], mount, version))


def many(providers: Iterable[Provider], mount: str, version: Microversion) -> Mapping[str, Any]:
    """The list of providers."""
    return {"resource_providers": list(_each(providers, mount, version))}


def _each(
    providers: Iterable[Provider], mount: str, version: Microversion
) -> Iterator[Mapping[str, Any]]:
    links = _links(mount, version)
    fields = FIELDS.at(version)
    for uuid, name, generation, parent, root, *_others in providers:
        known = {
            "uuid": uuid,
            "name": name,
            "generation": generation,
            "links": orjson.Fragment(links.replace(UUID, uuid)),
            "parent_provider_uuid": parent,
            "root_provider_uuid": root,
        }
        yield known if len(fields) == len(known) else {field: known[field] for field in fields}


def _links(mount: str, version: Microversion) -> str:
    """The links of a provider as text, with UUID in the place of its own."""
    # PERF: they are most of a list of providers.
    path = f"{mount}/resource_providers/{UUID}"
    rels = [("self", ""), *((rel, f"/{rel}") for rel in LINKS.at(version))]
    return orjson.dumps([{"rel": rel, "href": path + end} for rel, end in rels]).decode()
