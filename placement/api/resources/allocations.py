"""`/allocations` and the allocations on a provider."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from placement.api import tags
from placement.api.bodies import check_uuids
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.members import AtGeneration
from placement.api.parameters import pairs
from placement.api.query.allocations import parse_allocation_query
from placement.errors import BadPath
from placement.objects import allocations, holds, identifiers
from placement.objects.claims import Claim
from placement.objects.unset import UNSET
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE


def read_claim(
    consumer: str,
    body: Mapping[str, Any],
    consumer_owner: tuple[str, str] | None = None,
    field: str = "allocations",
) -> Claim:
    """Return the claim of a consumer.

    Members that older versions do not have are UNSET.

    Args:
        consumer: its UUID.
        body: states the allocations.
        consumer_owner: project and user if the body states none.
        field: name of the allocations in errors.

    Raises:
        BadBody: a key is not a UUID, or two keys are the same UUID.
    """
    allocations = body["allocations"]
    if isinstance(allocations, list):
        allocations = {item["resource_provider"]["uuid"]: item for item in allocations}
    check_uuids(allocations, field)
    project, user = consumer_owner or (body["project_id"], body["user_id"])
    generation = body.get("consumer_generation", UNSET)
    if isinstance(generation, float):
        generation = int(generation)
    consumer_type = body.get("consumer_type", UNSET)
    if consumer_type == UNKNOWN_CONSUMER_TYPE:
        consumer_type = UNSET
    return Claim(
        consumer,
        {provider: _amounts(allocation) for provider, allocation in allocations.items()},
        project,
        user,
        generation,
        consumer_type,
    )


def _amounts(allocation: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: int(amount) for name, amount in allocation["resources"].items()}


def read_claims(body: Mapping[str, Any], field: str = "body") -> list[Claim]:
    """Return the claims of several consumers, in the order of the body.  Raises BadBody."""
    check_uuids(body, field)
    return [
        read_claim(consumer, member, field=f"{consumer}.allocations")
        for consumer, member in body.items()
    ]


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
    uuid = parse_allocation_query(pairs(call.query_string), call.version)
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
    claim = read_claim(call.path["consumer"], call.body, consumer_owner)
    _replace(call, [claim])
    return Reply(204)


def manage_allocations(call: Call) -> Reply:
    """Replace the allocations of several consumers together.

    All changes are made in one transaction. A consumer without allocations is deleted.
    """
    _replace(call, read_claims(call.body))
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
