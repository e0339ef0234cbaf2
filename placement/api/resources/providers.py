"""`/resource_providers` (contract resources.md section 1)."""

from functools import partial

from placement.api import query
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.render import providers as render
from placement.objects import provider_list, providers
from placement.objects.providers import Provider
from placement.objects.unset import UNSET


def list_providers(call: Call) -> Reply:
    """Providers that meet all filters."""
    wanted = query.parse_provider_filter(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        found = provider_list.find(conn, wanted)
    changed_at = newest([provider.changed_at for provider in found])
    return Reply(200, render.many(found, call.mount, call.version), changed_at=changed_at)


def _create(call: Call) -> Provider:
    return call.service.database.write(
        partial(
            providers.create,
            name=call.body["name"],
            uuid=call.body.get("uuid"),
            parent_uuid=call.body.get("parent_provider_uuid"),
        )
    )


def create(call: Call) -> Reply:
    """A new provider, which is not shown."""
    return Reply(201, location=f"/resource_providers/{_create(call).uuid}")


def create_and_show(call: Call) -> Reply:
    """A new provider."""
    provider = _create(call)
    return Reply(
        200,
        render.one(provider, call.mount, call.version),
        location=f"/resource_providers/{provider.uuid}",
        changed_at=provider.changed_at or NOW,
    )


def show(call: Call) -> Reply:
    """One provider."""
    with call.service.database.read() as conn:
        provider = providers.get(conn, call.path["uuid"])
    changed_at = provider.changed_at or NOW
    return Reply(200, render.one(provider, call.mount, call.version), changed_at=changed_at)


def update(call: Call) -> Reply:
    """Name and parent; a parent that is not stated stays."""
    provider = call.service.database.write(
        partial(
            providers.update,
            uuid=call.path["uuid"],
            name=call.body["name"],
            parent_uuid=call.body.get("parent_provider_uuid", UNSET),
            movable=Feature.MOVES.at(call.version),
        )
    )
    changed_at = provider.changed_at or NOW
    return Reply(200, render.one(provider, call.mount, call.version), changed_at=changed_at)


def delete(call: Call) -> Reply:
    """The provider goes, with its inventories, traits and aggregate memberships."""
    call.service.database.write(partial(providers.delete, uuid=call.path["uuid"]))
    return Reply(204)
