"""`/allocations` and the allocations on a provider (contract allocations.md)."""

from functools import partial

from placement.api import commands
from placement.api.handler import NOW, Call, Reply
from placement.api.history import Feature
from placement.api.render import allocations as render
from placement.errors import BadPath
from placement.objects import allocations, identifiers


def show(call: Call) -> Reply:
    """What a consumer holds."""
    with call.service.database.read() as conn:
        holding = allocations.of_consumer(conn, call.path["consumer"])
    return Reply(
        200, render.of_consumer(holding, call.version), changed_at=holding.changed_at or NOW
    )


def check_consumer(call: Call) -> None:
    """Raise BadPath unless the path names a UUID."""
    if identifiers.canonical(call.path["consumer"]) is None:
        raise BadPath(f"consumer {call.path['consumer']!r} is not a UUID")


def replace(call: Call) -> Reply:
    """Everything that a consumer shall hold."""
    owned = Feature.ALLOCATION_OWNERS.at(call.version)
    consumer_owner = None if owned else call.service.settings.incomplete_consumer_owner
    claim = commands.claim(call.path["consumer"], call.body, consumer_owner)
    call.service.database.write(partial(allocations.replace, claims=[claim]))
    return Reply(204)


def manage(call: Call) -> Reply:
    """Everything that several consumers shall hold, all or nothing."""
    claims = commands.claims(call.body)
    call.service.database.write(partial(allocations.replace, claims=claims))
    return Reply(204)


def delete(call: Call) -> Reply:
    """A consumer's allocations go, and the consumer."""
    call.service.database.write(partial(allocations.delete, consumer_uuid=call.path["consumer"]))
    return Reply(204)


def on_provider(call: Call) -> Reply:
    """What consumers hold on one provider."""
    with call.service.database.read() as conn:
        provider, holdings, changed_at = allocations.of_provider(conn, call.path["uuid"])
    body = render.on_provider(holdings, provider.generation, call.version)
    return Reply(200, body, changed_at=changed_at or NOW)
