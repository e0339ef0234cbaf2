"""`/resource_providers`."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from orjson import Fragment
from sqlalchemy.engine import Connection

from placement.api import query, tags
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.responses.providers import (
    ProviderText,
    ProviderTexts,
    WithParts,
    part_texts,
    provider_texts,
    text_view,
)
from placement.api.shapes import View
from placement.objects import provider_list, provider_parts, providers
from placement.objects.provider_list import ProviderSelection
from placement.objects.provider_parts import Part
from placement.objects.providers import Provider
from placement.objects.unset import UNSET

# Providers of a list whose text the memory has room for. To write that of each takes longer than
# to write all at once, and pays only where it is found again.
MOST_KEPT = 14_000


def list_resource_providers(call: Call) -> Reply:
    """List the resource providers that meet all filters."""
    pairs = query.pairs(call.query_string)
    filters = query.parse_provider_filter(pairs, call.version)
    included = query.parse_include(pairs)
    page = query.parse_page(pairs, included)
    with call.service.database.read() as conn:
        selection = provider_list.resolve(conn, filters, page)
        tag = tags.of_all(call, conn) if page is None else None
        if selection.is_unbounded:
            texts = _texts(call, conn, selection)
            if texts is not None:
                changed_at = newest({provider.changed_at for provider in texts})
                return Reply(200, ProviderTexts(texts), changed_at=changed_at, tag=tag)
        listed = provider_list.find(conn, selection)
        matching, are_more, revisions = listed
        if page is not None:
            tag = tags.of_page(call, listed)
        parts = _parts(call, conn, matching, included, revisions)
    more = query.after(pairs, matching[-1].uuid) if are_more else None
    changed_at = NOW if parts else newest([provider.changed_at for provider in matching])
    return Reply(200, WithParts(matching, parts, more), changed_at=changed_at, tag=tag)


def _texts(call: Call, conn: Connection, selection: ProviderSelection) -> list[ProviderText] | None:
    """Return the providers to list, by their ids: out of memory, or read and kept there.

    None where they are too many to be kept.
    """
    cache, view = call.service.lists, text_view(View(call.version, call.mount))
    revisions = provider_list.revisions(conn, selection)
    if len(revisions) > MOST_KEPT:
        return None
    texts = cache.known(view, revisions)
    if len(texts) < len(revisions):
        providers = provider_list.read(conn, selection, revisions.keys() - texts.keys())
        texts |= cache.keep(view, revisions, provider_texts(providers, view))
    return [texts[row_id] for row_id in revisions]


def _parts(
    call: Call,
    conn: Connection,
    listed: Sequence[Provider],
    included: Collection[Part],
    revisions: Mapping[int, int],
) -> dict[Part, dict[int, Fragment]]:
    """Return the parts of providers, by their ids: out of memory, or read and kept there.

    revisions: of the trees of those providers of which something may be kept.
    """
    cache, view = call.service.parts, View(call.version)
    ids = [provider.id for provider in listed]
    parts = {part: cache.known((part, call.version), revisions) for part in included}
    missing = [part for part in included if len(parts[part]) < len(ids)]
    unknown_ids = {row_id for part in missing for row_id in ids if row_id not in parts[part]}
    for part, by_provider in provider_parts.read(conn, unknown_ids, missing).items():
        texts = part_texts(part, by_provider, view)
        parts[part] |= cache.keep((part, call.version), revisions, texts)
    return parts


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
    included = query.parse_show(call.query_string, call.version)
    database, get = call.service.database, partial(providers.get, uuid=call.path["uuid"])
    if not included and not tags.TAGGED.at(call.version):
        provider = database.ask(get)
        return Reply(200, WithParts([provider]), changed_at=provider.changed_at or NOW)
    with database.read() as conn:
        tag = tags.of_provider(call, conn)
        provider = get(conn)
        parts = _parts(call, conn, [provider], included, {})
    changed_at = NOW if parts else provider.changed_at or NOW
    return Reply(200, WithParts([provider], parts), changed_at=changed_at, tag=tag)


def check_provider(call: Call) -> None:
    """Raise ProviderNotFound unless the provider in the path exists."""
    call.service.database.ask(partial(providers.get, uuid=call.path["uuid"]))


def update_resource_provider(call: Call) -> Reply:
    """Rename a resource provider, or give it another parent.

    Where no parent is stated, it keeps the one it has.
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

    Refused while it has allocations or children.
    """
    call.service.database.write(partial(providers.delete, uuid=call.path["uuid"]))
    return Reply(204)
