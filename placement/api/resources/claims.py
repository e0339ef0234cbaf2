"""`/claims`."""

from collections.abc import Sequence

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.api.policy import EXPLAIN
from placement.candidates import Claimed, ClaimRequest, claim


def create_claims(call: Call) -> Reply:
    """Find a candidate for a request and claim it for a new consumer.

    The request has the form of `POST /allocation_candidates`. The claim chooses at random among the
    first `limit` candidates, and tries another one if a concurrent writer was faster. With
    `claims`, several consumers are served in order, either all or none. If no candidate satisfies a
    request, the error has the explanation, for callers that may request explanations.
    """
    if "claims" in call.body:
        return Reply(201, _claim(call, commands.demands(call.body)))
    (claimed,) = _claim(call, [commands.demand(call.body)])
    return Reply(201, claimed, location=f"/allocations/{claimed.consumer}")


def _claim(call: Call, demands: Sequence[ClaimRequest]) -> list[Claimed]:
    service = call.service
    return claim(
        service.database,
        service.trees,
        demands,
        service.settings,
        service.tuning,
        explained=call.rights.allow(EXPLAIN),
    )
