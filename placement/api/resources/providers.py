"""`/resource_providers`."""

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial

from sqlalchemy.engine import Connection

from placement.api import tags
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.parameters import after, pairs, parse_include
from placement.api.query.providers import parse_page, parse_provider_filter, parse_show
from placement.api.responses.providers import (
    ProviderTexts,
    WithParts,
    part_texts,
    provider_texts,
    text_view,
)
from placement.api.shapes import View
from placement.objects import provider_list, provider_parts, providers
from placement.objects.provider_list import PartTexts, ProviderList, ProviderSelection
from placement.objects.provider_parts import Part
from placement.objects.providers import Provider
from placement.objects.revision_cache import CachedText
from placement.objects.unset import UNSET

# Maximum number of listed providers whose texts are cached. Rendering texts one by one takes longer
# than rendering all of them at once, so it is only worthwhile if later requests use the cached
# texts.
MAX_CACHED = 14_000


def list_resource_providers(call: Call) -> Reply:
    """List the resource providers that satisfy all filters."""
    stated = pairs(call.query_string)
    filters = parse_provider_filter(stated, call.version)
    included = parse_include(stated, Part)
    page = parse_page(stated, included)
    with call.service.database.read_trees() as conn:
        selection = provider_list.resolve(conn, filters, page)
        if page is None:
            return _whole_list(call, conn, selection)
        listed, parts, tag = _page(call, conn, selection, included)
    more = after(stated, listed.providers[-1].uuid) if listed.are_more else None
    listing = WithParts(listed.providers, parts, more)
    return Reply(200, listing, changed_at=NOW if parts else _newest(listed), tag=tag)


def _newest(listed: ProviderList) -> datetime | str:
    return newest([provider.changed_at for provider in listed.providers])


def _page(
    call: Call, conn: Connection, selection: ProviderSelection, included: Collection[Part]
) -> tuple[ProviderList, PartTexts, str | None]:
    """Return a page, the requested parts of its providers, and its tag."""
    caches = {part: call.service.parts.get((part, call.version)) for part in included}
    render = partial(part_texts, view=View(call.version))
    tag_of = partial(tags.get_for_page, call)
    listed, parts = provider_list.find_with_parts(conn, selection, caches, render, seen=tag_of)
    return listed, parts, tag_of(listed)


def _whole_list(call: Call, conn: Connection, selection: ProviderSelection) -> Reply:
    """Return the response that lists all providers of a selection."""
    tag = tags.get_for_all(call, conn)
    texts = _texts(call, conn, selection) if selection.is_unbounded else None
    if texts is not None:
        changed_at = newest({provider.changed_at for provider in texts})
        tag = tags.confirm(call, conn, tag)
        return Reply(200, ProviderTexts(texts), changed_at=changed_at, tag=tag)
    listed = provider_list.find(conn, selection)
    tag = tags.confirm(call, conn, tag)
    return Reply(200, WithParts(listed.providers), changed_at=_newest(listed), tag=tag)


def _texts(call: Call, conn: Connection, selection: ProviderSelection) -> list[CachedText] | None:
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


def create_resource_provider(call: Call) -> Reply:
    """Create a resource provider."""
    provider = call.service.database.write(
        partial(
            providers.create,
            name=call.body["name"],
            uuid=call.body.get("uuid"),
            parent_uuid=call.body.get("parent_provider_uuid"),
        )
    )
    location = f"/resource_providers/{provider.uuid}"
    if not Feature.CREATED_PROVIDER_SHOWN.at(call.version):
        return Reply(201, location=location)
    return Reply(200, provider, location=location, changed_at=provider.changed_at or NOW)


def show_resource_provider(call: Call) -> Reply:
    """Show a resource provider."""
    included = parse_show(call.query_string, call.version)
    database = call.service.database
    if not included and not tags.TAGGED.at(call.version):
        provider = database.read_one(partial(providers.get, uuid=call.path["uuid"]))
        return Reply(200, WithParts([provider]), changed_at=provider.changed_at or NOW)
    tag_of = partial(tags.get_for_provider, call)
    with database.read_trees() as conn:

        def read(provider: Provider) -> PartTexts:
            values = provider_parts.read(conn, [provider.id], included)
            view = View(call.version)
            return {part: part_texts(part, by_id, view) for part, by_id in values.items()}

        provider, parts = providers.get_with(conn, call.path["uuid"], read, tag_of)
    changed_at = NOW if parts else provider.changed_at or NOW
    shown = WithParts([provider], parts)
    return Reply(200, shown, changed_at=changed_at, tag=tag_of(provider))


def check_provider(call: Call) -> None:
    """Raise ProviderNotFound unless the provider in the path exists."""
    call.service.database.read_one(partial(providers.get, uuid=call.path["uuid"]))


def update_resource_provider(call: Call) -> Reply:
    """Rename a resource provider, or move it to another parent.

    If no parent is stated, the provider keeps its parent.
    """
    provider = call.service.database.write(
        partial(
            providers.update,
            uuid=call.path["uuid"],
            name=call.body["name"],
            parent_uuid=call.body.get("parent_provider_uuid", UNSET),
            movable=Feature.MOVES.at(call.version),
        )
    )
    return Reply(200, provider, changed_at=provider.changed_at or NOW)


def delete_resource_provider(call: Call) -> Reply:
    """Delete a resource provider and its inventories, traits and aggregate memberships.

    The request is refused while the provider has allocations or children.
    """
    call.service.database.write(partial(providers.delete, uuid=call.path["uuid"]))
    return Reply(204)
