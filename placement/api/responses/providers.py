"""Resource providers as clients see them."""

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter

import orjson

from placement.api import samples
from placement.api.history import v
from placement.api.microversion import Microversion
from placement.api.responses.common import LINK, PARENT_UUID, PROVIDER_GENERATION, ROOT_UUID, UUID
from placement.api.shapes import Array, Fragment, Json, Object, Property, Renderer, View, itself
from placement.objects.providers import Provider

# What a provider has -> the first version whose links lead there.
LINKS = {
    "inventories": "1.0",
    "usages": "1.0",
    "aggregates": "1.1",
    "traits": "1.6",
    "allocations": "1.11",
}

_PLACE = "{uuid}"


@dataclass(frozen=True, eq=False)
class _ProviderLinks:
    """Links to a provider and to what it has, of its UUID."""

    def schema(self, version: Microversion) -> Fragment:
        """Return the schema of the list."""
        return {"type": "array", "items": LINK}

    def renderer(self, view: View) -> Renderer:
        """Return what makes the links as JSON text."""
        path = f"{view.mount}/resource_providers/{_PLACE}"
        links = [{"rel": "self", "href": path}]
        for rel, since in LINKS.items():
            if view.version >= v(since):
                links.append({"rel": rel, "href": f"{path}/{rel}"})
        # PERF: links are most of the text of a list of providers, and alike but for the UUID.
        between = orjson.dumps(links).decode().split(_PLACE)
        fragment = orjson.Fragment
        return lambda uuid: fragment(uuid.join(between))


PROVIDER: Object[Provider] = Object(
    "ResourceProvider",
    Property("uuid", UUID),
    Property("name", Json({"type": "string", "examples": [samples.PROVIDER_NAME]})),
    Property("generation", PROVIDER_GENERATION),
    Property("links", _ProviderLinks(), attrgetter("uuid")),
    Property("parent_provider_uuid", PARENT_UUID, attrgetter("parent_uuid"), since="1.14"),
    Property("root_provider_uuid", ROOT_UUID, attrgetter("root_uuid"), since="1.14"),
)
PROVIDERS: Object[Iterable[Provider]] = Object(
    "ResourceProviders", Property("resource_providers", Array(PROVIDER), itself)
)
