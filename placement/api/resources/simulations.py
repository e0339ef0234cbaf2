"""`/simulations`."""

from collections.abc import Mapping
from typing import Any

from placement.api.bodies import canonical_uuid, check_uuids
from placement.api.candidate_requests.json_form import read_candidates, read_order_request
from placement.api.handler import Call, Reply
from placement.api.operations.claims import read_spread_group
from placement.api.query.headroom import read_headroom
from placement.candidates.simulation import (
    Add,
    Change,
    ClaimOnCopies,
    Drain,
    Remove,
    SimulationRequest,
    simulate,
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
