"""`/resource_providers`."""

from functools import partial

from placement.api import query, tags
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.responses.providers import WithParts
from placement.objects import provider_list, provider_parts, providers
from placement.objects.unset import UNSET


def list_resource_providers(call: Call) -> Reply:
    """List the resource providers that meet all filters."""
    pairs = query.pairs(call.query_string)
    filters = query.parse_provider_filter(pairs, call.version)
    included = query.parse_include(pairs)
    page = query.parse_page(pairs, included)
    with call.service.database.read() as conn:
        condition = provider_list.resolve(conn, filters, page)
        tag = tags.of_list(call, conn)
        matching, are_more = provider_list.find(conn, condition)
        parts = provider_parts.read(conn, [provider.id for provider in matching], included)
    more = query.after(pairs, matching[-1].uuid) if are_more else None
    changed_at = NOW if parts else newest([provider.changed_at for provider in matching])
    return Reply(200, WithParts(matching, parts, more), changed_at=changed_at, tag=tag)


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
    with call.service.database.read() as conn:
        tag = tags.of_provider(call, conn)
        provider = providers.get(conn, call.path["uuid"])
        parts = provider_parts.read(conn, [provider.id], included)
    changed_at = NOW if parts else provider.changed_at or NOW
    return Reply(200, WithParts([provider], parts), changed_at=changed_at, tag=tag)


def check_provider(call: Call) -> None:
    """Raise ProviderNotFound unless the provider in the path exists."""
    with call.service.database.read() as conn:
        providers.get(conn, call.path["uuid"])


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
