"""`/claims`."""

import json
from collections.abc import Sequence
from functools import partial

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.api.policy import EXPLAIN
from placement.candidates import Claimed, ClaimRequest, claim
from placement.objects import holds
from placement.vocabulary import FIRST_GENERATION


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
        return Reply(201, _claim(call, commands.demands(call.body)))
    (claimed,) = _claim(call, [commands.demand(call.body)])
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
    new_consumer = commands.new_consumer(call.body)
    taken = call.service.database.write(
        partial(holds.convert, hold_uuid=call.body["from_hold"], claim=new_consumer)
    )
    return Claimed(
        new_consumer.consumer, taken.allocations, json.loads(taken.mappings), FIRST_GENERATION
    )
