"""Results of simulations."""

from collections.abc import Mapping
from typing import Any

from placement.api import samples
from placement.api.operations.candidates import BY_PROVIDER, MAPPINGS
from placement.api.responses.headroom import BY_REQUEST
from placement.api.shapes import Array, Json, Object, Property, ready
from placement.candidates.search.candidate import Candidate
from placement.candidates.simulation import (
    Allocations,
    ConsumerMove,
    RequestSource,
    Simulation,
    Unplaceable,
    Unplaced,
)
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

_ROOTS = Json({"type": "array", "items": {"type": "string", "examples": [samples.ROOT]}})
_CONSUMER = Json({"type": "string", "examples": [samples.CONSUMER]})
_SOURCE = Json(
    {
        "type": "string",
        "enum": [source.value for source in RequestSource],
        "description": "Whether the client has given the request, the service has remembered it, "
        "or it follows from the allocations.",
        "examples": ["derived"],
    }
)
_CODE = Json(
    {
        "type": "string",
        "description": "Of an explanation, or: no_hosts (no host is left), rest (no host reaches "
        "the providers of the other allocations), shared (a drained host serves the consumer only "
        "as a sharing provider), unknown_name (the request names an unknown trait or class).",
        "examples": ["capacity"],
    }
)
_TEXT = Json({"type": "string", "examples": ["None of the 3 hosts can serve the request."]})


def _by_provider(allocations: Allocations) -> Mapping[str, Any]:
    return {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}


def _body(move: ConsumerMove) -> Mapping[str, Any]:
    consumer = move.consumer
    body: dict[str, Any] = {
        "allocations": _by_provider(move.allocations),
        "project_id": consumer.project,
        "user_id": consumer.user,
        "consumer_generation": consumer.generation,
        "consumer_type": consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
    }
    if move.mappings:
        body["mappings"] = move.mappings
    return body


_OWNER = Json({"type": ["string", "null"], "examples": [samples.PROJECT]})
_BODY: Object[ConsumerMove] = Object(
    "MovedAllocations",
    Property("allocations", BY_PROVIDER),
    Property("project_id", _OWNER),
    Property("user_id", _OWNER),
    Property("consumer_generation", Json({"type": "integer", "examples": [1]})),
    Property("consumer_type", Json({"type": "string", "examples": ["INSTANCE"]})),
    Property("mappings", MAPPINGS),
    optional=("mappings",),
)
_MOVE: Object[ConsumerMove] = Object(
    "Move",
    Property("consumer", _CONSUMER, lambda move: move.consumer.uuid),
    Property("from", _ROOTS, lambda move: move.origins),
    Property("to", _ROOTS, lambda move: move.destinations),
    Property("request", _SOURCE, lambda move: move.source),
    Property("body", ready(_BODY), _body),
)
_UNPLACEABLE: Object[Unplaceable] = Object(
    "Unplaceable",
    Property("consumer", _CONSUMER),
    Property("code", _CODE, lambda unplaceable: unplaceable.reason.code),
    Property("text", _TEXT, lambda unplaceable: unplaceable.reason.text),
    Property("request", _SOURCE, lambda unplaceable: unplaceable.source),
)


def _claim(claim: Candidate | Unplaced) -> Mapping[str, Any]:
    if isinstance(claim, Unplaced):
        return {"code": claim.code, "text": claim.text}
    return {"allocations": _by_provider(claim.allocations), "mappings": claim.mappings}


_CLAIM: Object[Candidate | Unplaced] = Object(
    "SimulatedClaim",
    Property("allocations", BY_PROVIDER),
    Property("mappings", MAPPINGS),
    Property("code", _CODE),
    Property("text", _TEXT),
    optional=("allocations", "mappings", "code", "text"),
)


SIMULATION: Object[Simulation] = Object(
    "Simulation",
    Property(
        "fits",
        Json(
            {
                "type": ["boolean", "null"],
                "description": "Whether each consumer has a place and each claim a candidate; "
                "null: not decided within the limit on work.",
                "examples": [True],
            }
        ),
    ),
    Property("moves", Array(_MOVE)),
    Property("unplaceable", Array(_UNPLACEABLE)),
    Property(
        "undecided",
        Json({"type": "array", "items": {"type": "string", "examples": [samples.CONSUMER]}}),
    ),
    Property(
        "claims",
        ready(Array(_CLAIM)),
        lambda simulation: [_claim(claim) for claim in simulation.claims],
    ),
    Property("complete", Json({"type": "boolean", "examples": [True]})),
    Property("headroom", BY_REQUEST),
    optional=("headroom",),
)
