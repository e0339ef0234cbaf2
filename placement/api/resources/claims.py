"""`/claims`."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from placement.api.candidate_requests.json_form import read_alternatives
from placement.api.handler import Call, Reply
from placement.api.json_body import path_of
from placement.api.policy import EXPLAIN
from placement.candidates import Claimed, ClaimRequest, claim
from placement.errors import BadBody
from placement.objects import holds, identifiers
from placement.objects.claim_records import request_text
from placement.objects.claims import Claim, SpreadGroup
from placement.vocabulary import FIRST_GENERATION


def _read_new_consumer(body: Mapping[str, Any]) -> Claim:
    """Return the claim of a consumer that must not exist, still without allocations."""
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
        read_spread_group(body.get("spread_group")),
        None if "expires_in" not in body else int(body["expires_in"]),
        remembered,
    )


def read_spread_group(body: Mapping[str, Any] | None) -> SpreadGroup | None:
    """Return the spread group of a claim, or None if the body has none."""
    return None if body is None else SpreadGroup(body["name"], int(body["max_per_host"]))


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


def _claim(call: Call, demands: Sequence[ClaimRequest]) -> list[Claimed]:
    service = call.service
    for demand in demands:
        holds.check_age(demand.claim.consumer, demand.expires_in, service.settings.holds.max_age)
    return claim(
        service.database,
        service.trees,
        demands,
        service.settings,
        service.tuning,
        explained=call.rights.allow(EXPLAIN),
    )


def _take_over(call: Call) -> Claimed:
    new_consumer = _read_new_consumer(call.body)
    taken = call.service.database.write(
        partial(holds.convert, hold_uuid=call.body["from_hold"], claim=new_consumer)
    )
    return Claimed(
        new_consumer.consumer, taken.allocations, json.loads(taken.mappings), FIRST_GENERATION
    )
