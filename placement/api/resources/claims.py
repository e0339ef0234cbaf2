"""`/claims`."""

from collections.abc import Sequence

from placement.api import commands
from placement.api.handler import Call, Reply
from placement.api.policy import EXPLAIN
from placement.candidates import Claimed, Demand, claim


def create_claims(call: Call) -> Reply:
    """Find a way in which a request can be met now, and claim it for a new consumer.

    The request is that of `POST /allocation_candidates`. One of the first candidates (as many as
    `limit` says) is claimed, chosen at random; where others were faster, another one. With `claims`
    several consumers get what each asks for, in their order, or none of them anything. Where
    nothing can meet a request, the error says why to whoever may ask for explanations.
    """
    if "claims" in call.body:
        return Reply(201, _claim(call, commands.demands(call.body)))
    (claimed,) = _claim(call, [commands.demand(call.body)])
    return Reply(201, claimed, location=f"/allocations/{claimed.consumer}")


def _claim(call: Call, demands: Sequence[Demand]) -> list[Claimed]:
    service = call.service
    return claim(
        service.database,
        service.trees,
        demands,
        service.settings,
        service.tuning,
        explained=call.rights.allow(EXPLAIN),
    )
