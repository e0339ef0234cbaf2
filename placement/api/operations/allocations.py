"""`/allocations` and the allocations on a provider."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter

from placement.api import samples, tags
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature, Microversion
from placement.api.members import (
    AMOUNTS,
    GENERATION_MEMBER,
    PROVIDER_GENERATION,
    UUID_KEY,
    AtGeneration,
)
from placement.api.operations.allocation_bodies import read_claim, read_claims
from placement.api.parameters import (
    DASHED_UUID,
    Pairs,
    Parameter,
    last_values,
    matching,
    pairs,
    parse_uuid,
)
from placement.api.shapes import Custom, Json, Object, Property, Renderer, Table, View, itself
from placement.errors import BadPath, BadQuery
from placement.objects import allocations, holds, identifiers
from placement.objects.allocations import ConsumerAllocations, Holding, ProviderAllocations
from placement.objects.claims import Claim
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

PARAMETERS: Mapping[str, Parameter] = {
    "in_tree": Parameter(
        "2.0",
        "UUID of a provider; the allocations of all consumers that use its tree are listed.",
        matching(DASHED_UUID),
        required=True,
    )
}


def parse_allocation_query(query: Pairs, version: Microversion) -> str:
    """Return the UUID of the provider whose tree is requested.  Raises BadQuery."""
    values = last_values(query, PARAMETERS, version)
    if "in_tree" not in values:
        raise BadQuery("in_tree: this parameter is required")
    return parse_uuid("in_tree", values["in_tree"])


_TYPE = Json.of("string", "INSTANCE")
_PROJECT = Json.of("string", samples.PROJECT)
_USER = Json.of("string", samples.USER)
_CONSUMER_GENERATION = Json.of("integer", 1)
_ALLOCATION: Object[ProviderAllocations] = Object(
    "Allocation", Property("generation", PROVIDER_GENERATION), Property("resources", AMOUNTS)
)

BY_PROVIDER = Table(UUID_KEY, _ALLOCATION)
_MEMBERS = (
    Property("allocations", BY_PROVIDER, attrgetter("by_provider")),
    Property("project_id", _PROJECT, attrgetter("project"), since="1.12"),
    Property("user_id", _USER, attrgetter("user"), since="1.12"),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
    Property(
        "consumer_type",
        _TYPE,
        lambda consumer: consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
        since="1.38",
    ),
)


def _consumer(view: View) -> Renderer:
    """Return a function that renders a consumer; without allocations, it has no other members."""
    render = Object[ConsumerAllocations]("", *_MEMBERS).renderer(view)
    return lambda consumer: render(consumer) if consumer.by_provider else {"allocations": {}}


CONSUMER = Custom(
    Object("ConsumerAllocations", *_MEMBERS, optional=[member.name for member in _MEMBERS[1:]]),
    _consumer,
)
CONSUMERS: Object[Mapping[str, ConsumerAllocations]] = Object(
    "AllocationsOfConsumers",
    Property(
        "allocations", Table({"type": "string", "examples": [samples.CONSUMER]}, CONSUMER), itself
    ),
)

_HOLDING: Object[Holding] = Object(
    "AllocationOnProvider",
    Property("resources", AMOUNTS),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
)
BY_CONSUMER = Table({"type": "string", "examples": [samples.CONSUMER]}, _HOLDING)
ON_PROVIDER: Object[AtGeneration[Mapping[str, Holding]]] = Object(
    "ProviderAllocations",
    GENERATION_MEMBER,
    Property("allocations", BY_CONSUMER, attrgetter("value")),
)


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
    call.write(allocations.delete, consumer_uuid=call.path["consumer"])
    return Reply(204)


def list_provider_allocations(call: Call) -> Reply:
    """List the allocations on a provider, by consumer."""
    provider, consumers, tag = tags.read_provider(call, allocations.read_consumers)
    answer = AtGeneration(provider.generation, consumers.by_uuid)
    return Reply(200, answer, changed_at=consumers.changed_at or NOW, tag=tag)
