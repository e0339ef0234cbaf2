"""`/simulations`."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from placement.api import samples
from placement.api.bodies import (
    END,
    MAX_ITEMS,
    body_since_2,
    by_uuid,
    canonical_uuid,
    check_uuids,
    closed,
    sample,
)
from placement.api.candidate_requests.json_form import read_candidates, read_order_request
from placement.api.candidate_requests.schema import ORDER, REQUEST
from placement.api.handler import Call, Reply
from placement.api.members import PROJECT, USER
from placement.api.operations.candidates import BY_PROVIDER, MAPPINGS, by_provider
from placement.api.operations.claims import SPREAD_GROUP, read_spread_group
from placement.api.operations.headroom import BY_REQUEST, HEADROOM_REQUESTS, read_headroom
from placement.api.shapes import Array, Json, Object, Property, ready
from placement.candidates.search.candidate import Candidate
from placement.foresight.simulation.consumers import MAX_CONSUMERS
from placement.foresight.simulation.copies import MAX_ADDED
from placement.foresight.simulation.simulate import simulate
from placement.foresight.simulation.value import (
    Add,
    Change,
    ClaimOnCopies,
    ConsumerMove,
    Drain,
    Remove,
    RequestSource,
    Simulation,
    SimulationRequest,
    Unplaceable,
    Unplaced,
)
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

MAX_CHANGES = 1000

# A UUID, or `new:<number>` for a host that an earlier change has added.
_ROOT = sample(
    {
        "type": "string",
        "maxLength": 64,
        "pattern": f"^([0-9a-fA-F-]{{32,36}}|new:[1-9][0-9]{{0,4}}){END}",
        "description": "the UUID of a host, or new:N for the Nth host that the changes add",
    },
    samples.ROOT,
)
_CHANGED_ROOTS = {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": _ROOT}
_COUNT = sample({"type": "integer", "minimum": 1, "maximum": MAX_ADDED, "default": 1}, 10)
CHANGE = {
    **closed(
        {},
        {
            "drain": _CHANGED_ROOTS,
            "remove": _CHANGED_ROOTS,
            "add": closed({"like": _ROOT}, {"count": _COUNT}, "AddedHosts"),
            "claim": closed(
                {"request": REQUEST}, {"spread_group": SPREAD_GROUP}, "SimulatedClaimRequest"
            ),
        },
        "Change",
    ),
    "minProperties": 1,
    "maxProperties": 1,
    "examples": [{"drain": [samples.ROOT]}],
}
RUN = body_since_2(
    closed(
        {"changes": {"type": "array", "maxItems": MAX_CHANGES, "items": CHANGE}},
        {
            "requests": {**by_uuid(REQUEST, samples.CONSUMER), "maxProperties": MAX_CONSUMERS},
            "order": ORDER,
            "headroom": HEADROOM_REQUESTS,
        },
        "SimulationRequest",
    )
)

_ROOTS = Json({"type": "array", "items": {"type": "string", "examples": [samples.ROOT]}})
_CONSUMER = Json.of("string", samples.CONSUMER)
_SOURCE = Json.of(
    "string",
    "derived",
    enum=[source.value for source in RequestSource],
    description=(
        "Whether the client has given the request, the service has remembered it, "
        "or it follows from the allocations."
    ),
)
_CODE = Json.of(
    "string",
    "capacity",
    description=(
        "Of an explanation, or: no_hosts (no host is left), rest (no host reaches "
        "the providers of the other allocations), shared (a drained host serves the consumer only "
        "as a sharing provider), unknown_name (the request names an unknown trait or class)."
    ),
)
_TEXT = Json.of("string", "None of the 3 hosts can serve the request.")


def _body(move: ConsumerMove) -> Mapping[str, Any]:
    consumer = move.consumer
    body: dict[str, Any] = {
        "allocations": by_provider(move.allocations),
        "project_id": consumer.project,
        "user_id": consumer.user,
        "consumer_generation": consumer.generation,
        "consumer_type": consumer.consumer_type or UNKNOWN_CONSUMER_TYPE,
    }
    if move.mappings:
        body["mappings"] = move.mappings
    return body


_BODY: Object[ConsumerMove] = Object(
    "MovedAllocations",
    Property("allocations", BY_PROVIDER),
    Property("project_id", PROJECT),
    Property("user_id", USER),
    Property("consumer_generation", Json.of("integer", 1)),
    Property("consumer_type", Json.of("string", "INSTANCE")),
    Property("mappings", MAPPINGS),
    optional=("mappings",),
)
_MOVE: Object[ConsumerMove] = Object(
    "Move",
    Property("consumer", _CONSUMER, attrgetter("consumer.uuid")),
    Property("from", _ROOTS, attrgetter("origins")),
    Property("to", _ROOTS, attrgetter("destinations")),
    Property("request", _SOURCE, attrgetter("source")),
    Property("body", ready(_BODY), _body),
)
_UNPLACEABLE: Object[Unplaceable] = Object(
    "Unplaceable",
    Property("consumer", _CONSUMER),
    Property("code", _CODE, attrgetter("reason.code")),
    Property("text", _TEXT, attrgetter("reason.text")),
    Property("request", _SOURCE, attrgetter("source")),
)


def _claim(claim: Candidate | Unplaced) -> Mapping[str, Any]:
    if isinstance(claim, Unplaced):
        return {"code": claim.code, "text": claim.text}
    return {"allocations": by_provider(claim.allocations), "mappings": claim.mappings}


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
        Json.of(
            ["boolean", "null"],
            True,
            description=(
                "Whether each consumer has a place and each claim a candidate; "
                "null: not decided within the limit on work."
            ),
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
    Property("complete", Json.of("boolean", True)),
    Property("headroom", BY_REQUEST),
    optional=("headroom",),
)


def _read_simulation(body: Mapping[str, Any]) -> SimulationRequest:
    """Return the changes to simulate.  Raises BadBody, BadQuery."""
    requests = body.get("requests", {})
    check_uuids(requests, "requests")
    return SimulationRequest(
        [_change(change, index) for index, change in enumerate(body["changes"])],
        read_candidates,
        {
            canonical_uuid(consumer): read_candidates(request, ("requests", consumer))
            for consumer, request in requests.items()
        },
        read_order_request(body),
        read_headroom(body["headroom"], ("headroom",)) if "headroom" in body else None,
    )


def _change(change: Mapping[str, Any], index: int) -> Change:
    if "drain" in change:
        return Drain(change["drain"])
    if "remove" in change:
        return Remove(change["remove"])
    if "add" in change:
        return Add(change["add"]["like"], int(change["add"].get("count", 1)))
    steps = ("changes", index, "claim", "request")
    claim = change["claim"]
    spread = read_spread_group(claim["spread_group"]) if "spread_group" in claim else None
    return ClaimOnCopies(read_candidates(claim["request"], steps), spread)


def create_simulation(call: Call) -> Reply:
    """Simulate changes of hosts: which consumers of drained hosts would move where.

    The changes are applied in order to copies of the trees in memory: hosts are drained, removed or
    added, and resources are claimed. Nothing is stored. The body of each move is valid for `POST
    /allocations`, unless it names an added host.
    """
    request = _read_simulation(call.body)
    service = call.service
    with service.large_work.turn(), service.database.read() as conn:
        result = simulate(conn, service.trees, request, service.settings.candidates, service.tuning)
    return Reply(200, result)
