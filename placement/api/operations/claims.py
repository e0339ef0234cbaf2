"""`/claims`."""

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from placement.api import samples
from placement.api.bodies import (
    CLASS_NAME,
    END,
    OFF,
    UUID_LIKE,
    EitherSchema,
    Schema,
    closed,
    path_of,
    sample,
)
from placement.api.candidate_requests.json_form import read_alternatives
from placement.api.candidate_requests.schema import FIRST_AVAILABLE, REQUEST
from placement.api.handler import Call, Reply
from placement.api.history import Versioned, v
from placement.api.members import UTC_TIME
from placement.api.operations.allocations import OWNED
from placement.api.operations.candidates import ALTERNATIVE, BY_PROVIDER, MAPPINGS, by_provider
from placement.api.policy import EXPLAIN
from placement.api.shapes import (
    Array,
    Custom,
    Fragment,
    Json,
    Object,
    Property,
    Renderer,
    View,
    itself,
    ready,
)
from placement.candidates import Claimed, ClaimRequest, Explainer, claim
from placement.errors import BadBody
from placement.foresight.explanation import text_explainer
from placement.objects import holds, identifiers
from placement.objects.claim_records import request_text
from placement.objects.claims import Claim, SpreadGroup
from placement.vocabulary import FIRST_GENERATION, MAX_INTEGER

# Each claim requires a search.
MAX_CLAIMS = 1000

# Maximum duration of a hold, in seconds.
MAX_EXPIRES_IN = 86_400
EXPIRES_IN = {"type": "integer", "minimum": 1, "maximum": MAX_EXPIRES_IN, "examples": [600]}
SPREAD_GROUP = closed(
    {
        "name": {
            "type": "string",
            "pattern": f"^[A-Za-z0-9_.:-]{{1,64}}{END}",
            "description": "1 to 64 letters, digits and _ . : -",
            "maxLength": 64,
            "examples": ["web"],
        },
        "max_per_host": {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER, "examples": [1]},
    },
    title="SpreadGroupOfClaim",
)
_GENERATION = {"consumer_generation": {"type": "null", "examples": [None]}}
_NEW_CONSUMER = {
    "consumer_uuid": sample(UUID_LIKE, samples.CONSUMER),
    **OWNED,
    "consumer_type": sample(CLASS_NAME, "INSTANCE"),
}


def _claim_schema(request: Fragment, title: str) -> Fragment:
    """Return the schema of a claim with a request of one form."""
    return closed(
        {"request": request, **_NEW_CONSUMER},
        {
            **_GENERATION,
            "remember": sample(OFF, example=True),
            "spread_group": SPREAD_GROUP,
            "expires_in": EXPIRES_IN,
        },
        title,
    )


NEW_CLAIM = _claim_schema(REQUEST, "NewClaim")
FIRST_AVAILABLE_CLAIM = _claim_schema(FIRST_AVAILABLE, "NewFirstAvailableClaim")
NEW_CLAIMS = closed(
    {"claims": {"type": "array", "minItems": 1, "maxItems": MAX_CLAIMS, "items": NEW_CLAIM}},
    title="NewClaims",
)
ONE: Schema = EitherSchema(
    Schema(NEW_CLAIM, path_of),
    Schema(FIRST_AVAILABLE_CLAIM, path_of),
    "first_available",
    within="request",
)
FROM_HOLD = closed(
    {"from_hold": sample(UUID_LIKE, samples.HOLD), **_NEW_CONSUMER}, _GENERATION, "ClaimFromHold"
)
NEW_OR_HELD: Schema = EitherSchema(ONE, Schema(FROM_HOLD, path_of), "from_hold")
ONE_OR_MANY: Schema = EitherSchema(NEW_OR_HELD, Schema(NEW_CLAIMS, path_of), "claims")
CREATE = Versioned({"2.0": ONE_OR_MANY})

_PROPERTIES = (
    Property("allocations", ready(BY_PROVIDER), lambda claimed: by_provider(claimed.allocations)),
    Property("mappings", MAPPINGS),
    Property("consumer_generation", Json.of("integer", 1), attrgetter("generation")),
)
_END = Property("expires_at", UTC_TIME)
_ALTERNATIVE = Property("alternative", ALTERNATIVE)


def _claimed(title: str, *more: Property, optional: Sequence[str] = ()) -> Object[Claimed]:
    return Object(title, *_PROPERTIES, *more, _END, optional=["expires_at", *optional])


_CLAIM = _claimed("Claim")
_FIRST_AVAILABLE = _claimed("FirstAvailableClaim", _ALTERNATIVE)
_CLAIMS: Object[list[Claimed]] = Object("Claims", Property("claims", Array(_CLAIM), itself))
_ONE = _claimed("", _ALTERNATIVE, optional=["alternative"])


def _one_or_many(view: View) -> Renderer:
    """Return a function that renders a claim, or a list of claims."""
    one, many = _ONE.renderer(view), _CLAIMS.renderer(view)
    return lambda claimed: (many if isinstance(claimed, list) else one)(claimed)


_FORMS = [each.schema(v("2.0")) for each in (_CLAIM, _FIRST_AVAILABLE, _CLAIMS)]
CLAIMED = Custom(Json({"title": "ClaimOrClaims", "oneOf": _FORMS}), _one_or_many)


def _read_new_consumer(body: Mapping[str, Any]) -> Claim:
    """Return the claim of a new consumer, without its allocations."""
    return Claim(
        body["consumer_uuid"],
        {},
        body["project_id"],
        body["user_id"],
        generation=None,
        consumer_type=body["consumer_type"],
    )


def read_claim_request(body: Mapping[str, Any], within: tuple[str | int, ...] = ()) -> ClaimRequest:
    """Return the claim request of a new consumer.

    Args:
        body: states the consumer and the request.
        within: path of the body, for errors.

    Raises:
        BadQuery: the request is invalid.
    """
    steps = (*within, "request")
    claim = _read_new_consumer(body)
    stated = body["request"]
    requests = read_alternatives(stated, steps)
    is_choice = "first_available" in stated
    remembered: Sequence[str] = ()
    if body.get("remember"):
        remembered = [request_text(each) for each in stated.get("first_available", [stated])]
    return ClaimRequest(
        requests[0],
        claim,
        path_of(steps),
        requests if is_choice else (),
        read_spread_group(body["spread_group"]) if "spread_group" in body else None,
        None if "expires_in" not in body else int(body["expires_in"]),
        remembered,
    )


def read_spread_group(body: Mapping[str, Any]) -> SpreadGroup:
    return SpreadGroup(body["name"], int(body["max_per_host"]))


def read_claim_requests(body: Mapping[str, Any]) -> list[ClaimRequest]:
    """Return the claim requests of several new consumers.  Raises BadBody, BadQuery."""
    path_by_uuid: dict[str | None, str] = {}
    for position, member in enumerate(body["claims"]):
        path = path_of(("claims", position, "consumer_uuid"))
        uuid = identifiers.canonical(member["consumer_uuid"])
        if uuid in path_by_uuid:
            raise BadBody(f"{path}: {path_by_uuid[uuid]} is the same UUID")
        path_by_uuid[uuid] = path
    return [
        read_claim_request(entry, ("claims", position))
        for position, entry in enumerate(body["claims"])
    ]


def create_claims(call: Call) -> Reply:
    """Find a candidate for a request and claim it for a new consumer, or take over a hold.

    The request has the form of `POST /allocation_candidates`. The service chooses at random among
    the first `limit` candidates, and tries another one if a concurrent writer was faster. With
    `claims`, several consumers are served in order, either all or none. If a request has no
    candidate, the error contains the explanation, for callers that may request explanations.

    With `expires_in` the claim is a hold, which is released at its end. `from_hold` gives the
    allocations of a hold to the new consumer. `spread_group` limits the members of a group on one
    host. With `remember`, the request is stored with the consumer.
    """
    if "from_hold" in call.body:
        taken = _take_over(call)
        return Reply(201, taken, location=f"/allocations/{taken.consumer}")
    if "claims" in call.body:
        return Reply(201, _claim(call, read_claim_requests(call.body)))
    (claimed,) = _claim(call, [read_claim_request(call.body)])
    return Reply(201, claimed, location=f"/allocations/{claimed.consumer}")


def _claim(call: Call, claim_requests: Sequence[ClaimRequest]) -> list[Claimed]:
    service = call.service
    explain = text_explainer(service.trees, service.settings.candidates, service.tuning)
    max_age = service.settings.holds.max_age
    for claim_request in claim_requests:
        holds.check_age(claim_request.claim.consumer, claim_request.expires_in, max_age)
    return claim(
        service.database,
        service.trees,
        claim_requests,
        service.settings,
        Explainer(explain, is_shown=call.rights.allow(EXPLAIN)),
        service.tuning,
    )


def _take_over(call: Call) -> Claimed:
    new_consumer = _read_new_consumer(call.body)
    taken = call.write(holds.convert, hold_uuid=call.body["from_hold"], claim=new_consumer)
    return Claimed(
        new_consumer.consumer, taken.allocations, json.loads(taken.mappings), FIRST_GENERATION
    )
