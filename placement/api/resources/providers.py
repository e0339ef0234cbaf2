"""`/resource_providers`."""

from functools import partial

from placement.api import query
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.objects import provider_list, providers
from placement.objects.unset import UNSET


def list_resource_providers(call: Call) -> Reply:
    """List the resource providers that meet all filters."""
    filters = query.parse_provider_filter(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        matching = provider_list.find(conn, filters)
    return Reply(200, matching, changed_at=newest([provider.changed_at for provider in matching]))


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
    with call.service.database.read() as conn:
        provider = providers.get(conn, call.path["uuid"])
    return Reply(200, provider, changed_at=provider.changed_at or NOW)


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
