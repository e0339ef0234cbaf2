"""`/allocations` and the allocations on a provider."""

from collections.abc import Sequence
from functools import partial

from placement.api import commands, query, tags
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.responses.common import AtGeneration
from placement.errors import BadPath
from placement.objects import allocations, holds, identifiers
from placement.objects.claims import Claim


def show_allocations(call: Call) -> Reply:
    """Show the allocations of a consumer."""
    consumer = call.service.database.read_one_stable(
        partial(allocations.get_for_consumer, uuid=call.path["consumer"])
    )
    return Reply(200, consumer, changed_at=consumer.changed_at or NOW)


def list_allocations(call: Call) -> Reply:
    """List the allocations of all consumers that use a tree.

    Each consumer includes its allocations in other trees. Unlike the responses of
    several requests, the list is consistent.
    """
    uuid = query.parse_allocation_query(query.pairs(call.query_string), call.version)
    with call.service.database.read() as conn:
        consumers = allocations.get_for_tree(conn, uuid)
    times = [consumer.changed_at for consumer in consumers.values()]
    return Reply(200, consumers, changed_at=newest(times))


def check_consumer(call: Call) -> None:
    """Raise BadPath unless the path names a UUID."""
    if identifiers.canonical(call.path["consumer"]) is None:
        raise BadPath(f"consumer={call.path['consumer']!r}: expected the UUID of a consumer")


def replace_allocations(call: Call) -> Reply:
    """Replace the allocations of a consumer: claim, move or release its resources.

    The request is refused unless all allocations fit.
    """
    owned = Feature.ALLOCATION_OWNERS.at(call.version)
    consumer_owner = None if owned else call.service.settings.incomplete_consumer_owner
    claim = commands.claim(call.path["consumer"], call.body, consumer_owner)
    _replace(call, [claim])
    return Reply(204)


def manage_allocations(call: Call) -> Reply:
    """Replace the allocations of several consumers together.

    All changes are made in one transaction. A consumer without allocations is deleted.
    """
    _replace(call, commands.claims(call.body))
    return Reply(204)


def _replace(call: Call, claims: Sequence[Claim]) -> None:
    work = partial(allocations.replace, claims=claims)
    holds.retry_with_room(call.service.database, lambda primary: primary.write(work))


def delete_allocations(call: Call) -> Reply:
    """Delete a consumer and its allocations."""
    call.service.database.write(partial(allocations.delete, consumer_uuid=call.path["consumer"]))
    return Reply(204)


def list_provider_allocations(call: Call) -> Reply:
    """List the allocations on a provider, by consumer."""
    tag_of = partial(tags.get_for_provider, call)
    with call.service.database.read_trees() as conn:
        provider, consumers, changed_at = allocations.get_for_provider(
            conn, call.path["uuid"], tag_of
        )
    answer = AtGeneration(provider.generation, consumers)
    return Reply(200, answer, changed_at=changed_at or NOW, tag=tag_of(provider))
