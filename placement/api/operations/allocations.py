"""`/allocations` and the allocations on a provider."""

from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from placement.api import samples, tags
from placement.api.bodies import (
    CLASS_NAME,
    END,
    GENERATION,
    MAX_ITEMS,
    OWNER,
    UUID_LIKE,
    Schema,
    by_class,
    by_uuid,
    check_uuids,
    closed,
    sample,
)
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature, Versioned
from placement.api.members import (
    AMOUNTS,
    GENERATION_MEMBER,
    PROJECT,
    PROVIDER_GENERATION,
    USER,
    UUID_KEY,
    AtGeneration,
)
from placement.api.parameters import Parameter, last_values, pairs, parse_uuid, provider_uuid
from placement.api.shapes import Custom, Json, Object, Property, Renderer, Table, View, itself
from placement.errors import BadPath
from placement.objects import allocations, holds, identifiers
from placement.objects.allocations import ConsumerAllocations, Holding, ProviderAllocations
from placement.objects.claims import Claim
from placement.objects.unset import UNSET
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

RESOURCES = {
    **by_class({"type": "integer", "minimum": 1}),
    "title": "RequestedAmounts",
    "minProperties": 1,
    "examples": [samples.AMOUNTS],
}

NEW_BY_PROVIDER = {
    **by_uuid(
        closed({"resources": RESOURCES}, {"generation": GENERATION}, "RequestedAllocation"),
        samples.PROVIDER,
    ),
    "maxProperties": MAX_ITEMS,
}

# These members have no effect. They are accepted because candidates contain them.
MAPPINGS = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID_LIKE}
    },
    "examples": [{"_compute": [samples.PROVIDER]}],
}

LIST = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_ITEMS,
    "items": closed(
        {
            "resource_provider": closed({"uuid": sample(UUID_LIKE, samples.PROVIDER)}),
            "resources": RESOURCES,
        },
        title="RequestedAllocation",
    ),
}

# Members about the consumer itself, which later versions added.
OWNED = {"project_id": sample(OWNER, samples.PROJECT), "user_id": sample(OWNER, samples.USER)}
GUARDED = {
    **OWNED,
    "consumer_generation": {
        "type": ["integer", "null"],
        "description": (
            "null for a new consumer, else the generation that GET /allocations/{consumer} returns"
        ),
        "examples": [1],
    },
}
TYPED = {**GUARDED, "consumer_type": sample(CLASS_NAME, "INSTANCE")}
# If a consumer has no type, responses contain UNKNOWN_CONSUMER_TYPE.
TYPED_OR_UNKNOWN = {
    **GUARDED,
    "consumer_type": sample(
        {
            **CLASS_NAME,
            "pattern": f"^([A-Z0-9_]+|{UNKNOWN_CONSUMER_TYPE}){END}",
            "description": f"capital letters, digits and _, or {UNKNOWN_CONSUMER_TYPE}",
        },
        "INSTANCE",
    ),
}
MAPPED = {"mappings": MAPPINGS}

TITLE = "RequestedAllocations"
NEW_CONSUMER = Versioned(
    {
        "1.13": closed({"allocations": NEW_BY_PROVIDER, **OWNED}, {}, TITLE),
        "1.28": closed({"allocations": NEW_BY_PROVIDER, **GUARDED}, {}, TITLE),
        "1.34": closed({"allocations": NEW_BY_PROVIDER, **GUARDED}, MAPPED, TITLE),
        "1.38": closed({"allocations": NEW_BY_PROVIDER, **TYPED}, MAPPED, TITLE),
        "2.0": closed({"allocations": NEW_BY_PROVIDER, **TYPED_OR_UNKNOWN}, MAPPED, TITLE),
    }
)

REPLACE = Versioned(
    {
        "1.0": Schema(closed({"allocations": LIST})),
        "1.8": Schema(closed({"allocations": LIST, **OWNED})),
        "1.12": Schema(closed({"allocations": {**NEW_BY_PROVIDER, "minProperties": 1}, **OWNED})),
        **NEW_CONSUMER.map(Schema, since="1.28").table,
    }
)
MANAGE = NEW_CONSUMER.map(
    lambda consumer: Schema({**by_uuid(consumer, samples.CONSUMER), "minProperties": 1})
)


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


PARAMETERS: Mapping[str, Parameter] = {
    "in_tree": provider_uuid(
        "2.0",
        "UUID of a provider; the allocations of all consumers that use its tree are listed.",
        required=True,
    )
}


_CONSUMER_GENERATION = Json.of("integer", 1)
_CONSUMER_KEY = {"type": "string", "examples": [samples.CONSUMER]}
_ALLOCATION: Object[ProviderAllocations] = Object(
    "Allocation", Property("generation", PROVIDER_GENERATION), Property("resources", AMOUNTS)
)

BY_PROVIDER = Table(UUID_KEY, _ALLOCATION)
_MEMBERS = (
    Property("allocations", BY_PROVIDER, attrgetter("by_provider")),
    Property("project_id", PROJECT, attrgetter("project"), since="1.12"),
    Property("user_id", USER, attrgetter("user"), since="1.12"),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
    Property(
        "consumer_type",
        Json.of("string", "INSTANCE"),
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
    "AllocationsOfConsumers", Property("allocations", Table(_CONSUMER_KEY, CONSUMER), itself)
)

_HOLDING: Object[Holding] = Object(
    "AllocationOnProvider",
    Property("resources", AMOUNTS),
    Property("consumer_generation", _CONSUMER_GENERATION, attrgetter("generation"), since="1.28"),
)
BY_CONSUMER = Table(_CONSUMER_KEY, _HOLDING)
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
    uuid = last_values(pairs(call.query_string), PARAMETERS, call.version)["in_tree"]
    root = parse_uuid("in_tree", uuid)
    with call.service.database.read() as conn:
        consumers = allocations.get_for_tree(conn, root)
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
    _replace(call, [read_claim(call.path["consumer"], call.body, consumer_owner)])
    return Reply(204)


def manage_allocations(call: Call) -> Reply:
    """Replace the allocations of several consumers together.

    All changes are made in one transaction. A consumer without allocations is deleted.
    """
    _replace(call, read_claims(call.body))
    return Reply(204)


def _replace(call: Call, claims: Sequence[Claim]) -> None:
    traits = call.service.settings.candidates.traits
    work = partial(allocations.replace, claims=claims, special_traits=traits)
    holds.retry_with_room(call.service.database, lambda primary: primary.write(work))


def delete_allocations(call: Call) -> Reply:
    """Delete a consumer and its allocations."""
    call.write(allocations.delete, consumer_uuid=call.path["consumer"])
    return Reply(204)


def list_provider_allocations(call: Call) -> Reply:
    """List the allocations on a provider, by consumer."""
    provider, consumers, tag = tags.read_provider(call, allocations.read_consumers)
    content = AtGeneration(provider.generation, consumers.by_uuid)
    return Reply(200, content, changed_at=consumers.changed_at or NOW, tag=tag)
