"""Bodies that state the allocations of consumers."""

from collections.abc import Mapping
from typing import Any

from placement.api import samples
from placement.api.bodies import (
    CLASS_NAME,
    END,
    GENERATION,
    MAX_ITEMS,
    OWNER,
    UUID_LIKE,
    by_class,
    by_uuid,
    check_uuids,
    closed,
    sample,
)
from placement.api.history import Versioned
from placement.api.json_body import Schema
from placement.api.shapes import Fragment
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
MAPPINGS: Fragment = {
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
GUARDED = {**OWNED, "consumer_generation": {"type": ["integer", "null"], "examples": [1]}}
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
