"""`/resource_providers`."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType

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
from placement.objects import provider_list, provider_parts, providers, revisions
from placement.objects.provider_list import ProviderList, ProviderSelection
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
    with call.service.database.read_trees() as conn:
        selection = provider_list.resolve(conn, filters, page)
        if page is None:
            return _whole_list(call, conn, selection)
        listed, parts, tag = _page(call, conn, selection, included)
    more = query.after(pairs, listed.providers[-1].uuid) if listed.are_more else None
    listing = WithParts(listed.providers, parts, more)
    return Reply(200, listing, changed_at=NOW if parts else _newest(listed), tag=tag)


def _newest(listed: ProviderList) -> datetime | str:
    return newest([provider.changed_at for provider in listed.providers])


def _page(
    call: Call, conn: Connection, selection: ProviderSelection, included: Collection[Part]
) -> tuple[ProviderList, Mapping[Part, Mapping[int, Fragment]], str | None]:
    """Return a page, the parts of its providers, and its tag.

    Parts are read between two looks at the page, and kept of those trees that have the same
    revision in both. Others are at least as new as the generations that come with them.
    """
    listed = provider_list.find(conn, selection)
    tag = tags.of_page(call, listed)
    parts, new_texts = _parts(call, conn, listed.providers, included, listed.revisions)
    again = provider_list.find(conn, selection) if revisions.may_tear(conn) else listed
    unchanged = dict(listed.revisions.items() & again.revisions.items())
    for part, texts in new_texts.items():
        call.service.parts.keep((part, call.version), unchanged, texts)
    if (again.revisions, again.are_more) == (listed.revisions, listed.are_more):
        return again, parts, tag
    return listed, parts, None


def _whole_list(call: Call, conn: Connection, selection: ProviderSelection) -> Reply:
    """Return the answer that lists all providers of a selection."""
    tag = tags.of_all(call, conn)
    texts = _texts(call, conn, selection) if selection.is_unbounded else None
    if texts is not None:
        changed_at = newest({provider.changed_at for provider in texts})
        tag = tags.still(call, conn, tag)
        return Reply(200, ProviderTexts(texts), changed_at=changed_at, tag=tag)
    listed = provider_list.find(conn, selection)
    tag = tags.still(call, conn, tag)
    return Reply(200, WithParts(listed.providers), changed_at=_newest(listed), tag=tag)


def _texts(call: Call, conn: Connection, selection: ProviderSelection) -> list[ProviderText] | None:
    """Return the providers to list, by their ids: out of memory, or read and kept there.

    None where they are too many to be kept.
    """
    cache, view = call.service.lists, text_view(View(call.version, call.mount))
    seen = provider_list.revisions(conn, selection)
    if len(seen) > MOST_KEPT:
        return None
    texts = cache.known(view, seen)
    if len(texts) < len(seen):
        providers = provider_list.read(conn, selection, seen.keys() - texts.keys())
        # What has changed since is not known to be whole; and some may be gone.
        unchanged = {each.id: each.revision for each in providers}.items() & seen.items()
        texts |= cache.keep(view, dict(unchanged), provider_texts(providers, view))
    return [texts[row_id] for row_id in seen if row_id in texts]


def _parts(
    call: Call,
    conn: Connection,
    listed: Sequence[Provider],
    included: Collection[Part],
    known_at: Mapping[int, int] = MappingProxyType({}),
) -> tuple[dict[Part, dict[int, Fragment]], dict[Part, dict[int, tuple[Fragment, int]]]]:
    """Return the parts of providers, by their ids, and those that were read, with their sizes.

    known_at: the revisions at which those may be used that are in memory.
    """
    cache, view = call.service.parts, View(call.version)
    ids = [provider.id for provider in listed]
    parts = {part: cache.known((part, call.version), known_at) for part in included}
    missing = [part for part in included if len(parts[part]) < len(ids)]
    unknown_ids = {row_id for part in missing for row_id in ids if row_id not in parts[part]}
    new_texts: dict[Part, dict[int, tuple[Fragment, int]]] = {}
    for part, by_provider in provider_parts.read(conn, unknown_ids, missing).items():
        new_texts[part] = part_texts(part, by_provider, view)
        parts[part] |= {row_id: text for row_id, (text, _size) in new_texts[part].items()}
    return parts, new_texts


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
    database = call.service.database
    if not included and not tags.TAGGED.at(call.version):
        provider = database.ask(partial(providers.get, uuid=call.path["uuid"]))
        return Reply(200, WithParts([provider]), changed_at=provider.changed_at or NOW)
    tag_of = partial(tags.of_provider, call)
    with database.read_trees() as conn:

        def read(provider: Provider) -> Mapping[Part, Mapping[int, Fragment]]:
            parts, _new_texts = _parts(call, conn, [provider], included)
            return parts

        provider, parts = providers.get_with(conn, call.path["uuid"], read, tag_of)
    changed_at = NOW if parts else provider.changed_at or NOW
    shown = WithParts([provider], parts)
    return Reply(200, shown, changed_at=changed_at, tag=tag_of(provider))


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
