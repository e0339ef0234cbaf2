"""Responses about one resource provider, and about lists, with included parts."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from sqlalchemy.engine import Connection

from placement.api import samples
from placement.api.handler import Call
from placement.api.history import Versioned, v
from placement.api.members import (
    AMOUNTS,
    CHANGING,
    LINK_LIST,
    PARENT_UUID,
    PROVIDER_GENERATION,
    ROOT_UUID,
    UUID,
    next_links,
)
from placement.api.operations.aggregates import UUIDS
from placement.api.operations.allocations import BY_CONSUMER
from placement.api.operations.inventories import BY_CLASS
from placement.api.operations.traits import NAMES
from placement.api.shapes import Array, Custom, Json, Object, Property, Renderer, Shape, View, ready
from placement.objects import provider_list
from placement.objects.provider_list import ProviderSelection
from placement.objects.provider_parts import ByProvider, Part
from placement.objects.providers import Provider
from placement.objects.revision_cache import CachedText
from placement.objects.revisions import MIXED, UNKNOWN

# Part of a provider -> first version with a link to it.
LINKS = {
    "inventories": "1.0",
    "usages": "1.0",
    "aggregates": "1.1",
    "traits": "1.6",
    "allocations": "1.11",
}

TREES_SINCE = "1.14"  # first version with parents and roots

_PLACE = "{uuid}"
CHUNK_SIZE = 1000  # providers of a list that are rendered at once, because objects take much memory
PART_OVERHEAD = 100  # bytes of the object that holds the text of a part
PROVIDER_OVERHEAD = 300  # bytes of the object that holds the text of a provider


def _links(view: View) -> Renderer:
    """Return a function that makes the links to a provider and its parts as JSON text."""
    path = f"{view.mount}/resource_providers/{_PLACE}"
    links = [{"rel": "self", "href": path}]
    for rel, since in LINKS.items():
        if view.version >= v(since):
            links.append({"rel": rel, "href": f"{path}/{rel}"})
    # PERF: links are most of the text of a list, and differ only in the UUID.
    between = orjson.dumps(links).decode().split(_PLACE)
    fragment = orjson.Fragment
    return lambda uuid: fragment(uuid.join(between))


NO_PARTS: Mapping[Part, Mapping[int, CachedText]] = MappingProxyType({})


class WithParts(NamedTuple):
    """Providers with included parts."""

    providers: Sequence[Provider]
    # Part -> provider id -> text (see `part_texts`).
    parts: Mapping[Part, Mapping[int, CachedText]] = NO_PARTS
    # Query string of the next page; None on the last page.
    more: str | None = None


_PARTS: Mapping[Part, Shape] = {
    Part.INVENTORIES: ready(BY_CLASS),
    Part.USAGES: AMOUNTS,
    Part.TRAITS: NAMES,
    Part.AGGREGATES: UUIDS,
    Part.ALLOCATIONS: BY_CONSUMER,
}


def part_texts(part: Part, by_provider: ByProvider, view: View) -> dict[int, CachedText]:
    """Return provider id -> JSON text of the part, without a revision.

    Equal values share one text, because most hosts have the traits of their model.
    """
    render = _PARTS[part].renderer(view)
    texts: dict[int, CachedText] = {}
    common: dict[int, orjson.Fragment] = {}  # by id() of values, which `by_provider` references
    for provider_id, value in by_provider.items():
        fragment, size = common.get(id(value)), PART_OVERHEAD
        if fragment is None:
            text = _copy(orjson.dumps(render(value)))
            size += len(text)
            fragment = common[id(value)] = orjson.Fragment(text)
        texts[provider_id] = CachedText(fragment, UNKNOWN, size)
    return texts


def _copy(text: bytes) -> bytes:
    """Return a copy that takes no more memory than its length.

    The result of orjson keeps the buffer into which it was written, of 4 KiB or more.
    """
    return bytes(memoryview(text))


_FACTS = (
    Property("uuid", UUID),
    Property("name", Json.of("string", samples.PROVIDER_NAME)),
    Property("generation", PROVIDER_GENERATION),
    Property("links", Custom(LINK_LIST, _links), attrgetter("uuid")),
    Property("parent_provider_uuid", PARENT_UUID, attrgetter("parent_uuid"), since=TREES_SINCE),
    Property("root_provider_uuid", ROOT_UUID, attrgetter("root_uuid"), since=TREES_SINCE),
)
# A provider without its parts, which the list adds.
_ALONE: Object[Provider] = Object("", *_FACTS)
PROVIDER = Custom(
    Object(
        "ResourceProvider",
        *_FACTS,
        *(Property(part.value, shape, since="2.0") for part, shape in _PARTS.items()),
        Property("changing", CHANGING, since="2.0"),
        optional=[*(part.value for part in Part), "changing"],
    ),
    _ALONE.renderer,
)


def _with_parts(view: View) -> Renderer:
    """Return a function that renders providers, and adds their parts.

    A provider is marked if its parts may combine several states.
    """
    render_provider = PROVIDER.renderer(view)

    def render(listing: WithParts) -> list[dict[str, Any]]:
        rendered = [render_provider(provider) for provider in listing.providers]
        for part, by_provider in listing.parts.items():
            name = part.value
            for provider, members in zip(listing.providers, rendered, strict=True):
                members[name] = by_provider[provider.id].text
                if provider.revision == MIXED:
                    members["changing"] = True
        return rendered

    return render


def _shown(view: View) -> Renderer:
    """Return a function that renders the only provider of a list."""
    render = _with_parts(view)
    return lambda listing: render(listing)[0]


SHOWN = Custom(PROVIDER, _shown)
_LISTED = Custom(Array(PROVIDER), _with_parts)


class ProviderTexts(NamedTuple):
    """Providers without parts, as finished texts."""

    # The text of each provider.
    providers: Sequence[CachedText]


# Version -> first version with the same text of a provider without parts.
_SINCE = Versioned({since: since for since in sorted({*LINKS.values(), TREES_SINCE}, key=v)})


def text_view(view: View) -> View:
    """Return the earliest view with the same text of a provider without parts."""
    return view._replace(version=v(_SINCE.at(view.version)))


def provider_texts(providers: Iterable[Provider], view: View) -> dict[int, CachedText]:
    """Return provider id -> text of the provider in a list, with a comma before it."""
    render = PROVIDER.renderer(view)
    texts: dict[int, CachedText] = {}
    for provider in providers:
        text = b",%b" % orjson.dumps(render(provider))
        size = PROVIDER_OVERHEAD + len(text)
        texts[provider.id] = CachedText(text, provider.revision, size, provider.changed_at)
    return texts


# Maximum number of listed providers whose texts are cached. Rendering texts one by one takes longer
# than rendering all of them at once, so it is only worthwhile if later requests use the cached
# texts.
MAX_CACHED = 14_000


def read_texts(
    call: Call, conn: Connection, selection: ProviderSelection
) -> list[CachedText] | None:
    """Return the text of each listed provider, or None if there are too many for the cache."""
    view = text_view(View(call.version, call.mount))
    blocks = provider_list.revisions(conn, selection)
    if provider_list.count_providers(blocks) > MAX_CACHED:
        return None

    def load(missing: Mapping[int, int]) -> dict[int, CachedText]:
        # The changes since the revisions were read may be incomplete, and providers may have been
        # deleted.
        return provider_texts(provider_list.read(conn, selection, missing.keys()), view)

    return call.service.lists.get(view).read(blocks, provider_list.parse_revisions, load)


_NEXT = next_links("/resource_providers")


def _list(view: View) -> Renderer:
    """Return a function that makes the text of a list, with links only to a next page."""
    render, links = _LISTED.renderer(view), _NEXT.renderer(view)

    def write(listing: WithParts | ProviderTexts) -> list[bytes]:
        pieces = [b'{"resource_providers":', *_array(listing, render)]
        if isinstance(listing, WithParts) and listing.more is not None:
            pieces += [b',"resource_providers_links":', orjson.dumps(links(listing.more))]
        return [*pieces, b"}"]

    return write


def _array(listing: WithParts | ProviderTexts, render: Renderer) -> list[bytes]:
    """Return the texts of all providers, in pieces."""
    if isinstance(listing, ProviderTexts):
        # PERF: not joined here, because a copy of the whole list takes longer than the copies of
        # the pieces that are sent at a time.
        texts = [provider.text for provider in listing.providers]
        return [b"[", *[text.removeprefix(b",") for text in texts[:1]], *texts[1:], b"]"]
    providers = listing.providers
    if len(providers) <= CHUNK_SIZE:
        return [orjson.dumps(render(listing))]
    pieces = []
    for start in range(0, len(providers), CHUNK_SIZE):
        run = listing._replace(providers=providers[start : start + CHUNK_SIZE])
        # Slicing makes a copy without brackets, and releases the larger buffer.
        pieces += [b",", orjson.dumps(render(run))[1:-1]]
    return [b"[", *pieces[1:], b"]"]


PROVIDERS = Custom(
    Object[Any](
        "ResourceProviders",
        Property("resource_providers", _LISTED),
        Property("resource_providers_links", _NEXT, since="2.0"),
        optional=["resource_providers_links"],
    ),
    _list,
)
