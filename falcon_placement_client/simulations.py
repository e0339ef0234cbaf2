"""Simulations: what would happen if hosts were drained, removed or added."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, TypedDict

from falcon_placement_client.headroom import JsonHeadroomRequests
from falcon_placement_client.json_request import JsonOrderKey, JsonRequest
from falcon_placement_client.rest import V2, RestApi


class JsonAddedHosts(TypedDict, total=False):
    """Unused hosts that are copies of an existing host."""

    #: The UUID of a root, or the name of an added host.
    like: Required[str]
    #: The number of hosts. The default is 1.
    count: int


class JsonSimulatedClaim(TypedDict, total=False):
    """A claim on the copies of the trees."""

    #: The request.
    request: Required[JsonRequest]
    #: A spread group that exists only in the simulation: `name` and `max_per_host`.
    spread_group: Mapping[str, Any]


class JsonChange(TypedDict, total=False):
    """A change in a simulation. It has exactly one member."""

    #: UUIDs of roots that serve no further consumers, and whose consumers move.
    drain: Sequence[str]
    #: UUIDs of roots that no longer exist.
    remove: Sequence[str]
    #: Hosts to add.
    add: JsonAddedHosts
    #: Resources to claim.
    claim: JsonSimulatedClaim


class JsonHeadroom(JsonHeadroomRequests):
    """Requests whose headroom is measured after the changes: see `JsonHeadroomRequests`."""


class JsonSimulation(TypedDict, total=False):
    """The body of `POST /simulations`."""

    #: The changes, in the order in which they are applied.
    changes: Required[Sequence[JsonChange]]
    #: Requests for the new allocations of consumers, by UUID.
    requests: Mapping[str, JsonRequest]
    #: The order of hosts. By default, hosts are sorted by the UUID of the root.
    order: Sequence[JsonOrderKey]
    #: Requests whose headroom is measured after the changes.
    headroom: JsonHeadroom


# A consumer that moves. `from` and `to` contain the UUIDs of the roots of its allocations before
# and after the move. `body` is its member in the body of `POST /allocations`.
Move = TypedDict(
    "Move",
    {
        "consumer": str,
        "from": list[str],
        "to": list[str],
        "request": Literal["given", "remembered", "derived"],
        "body": dict[str, Any],
    },
)


class Unplaceable(TypedDict):
    """A consumer that could not be moved."""

    #: UUID of the consumer.
    consumer: str
    #: A code of explanations or of simulations.
    code: str
    #: The reason why the consumer could not be moved.
    text: str
    #: The origin of the request of the consumer.
    request: Literal["given", "remembered", "derived"]


class SimulationResult(TypedDict):
    """The response of `POST /simulations`."""

    #: Whether each consumer could be moved and each claim has a candidate. None if undecided.
    fits: bool | None
    #: The consumers that have moved.
    moves: list[Move]
    #: The consumers that could not be moved.
    unplaceable: list[Unplaceable]
    #: UUIDs of consumers that were not evaluated within the limit on work.
    undecided: list[str]
    #: The resources of each claim, or `code` and `text`.
    claims: list[dict[str, Any]]
    #: Whether everything was evaluated.
    complete: bool
    #: Name of a request -> figures as in the response of `POST /headroom`, if requested.
    headroom: NotRequired[dict[str, Any]]


def simulate(api: RestApi, simulation: JsonSimulation) -> SimulationResult:
    """Simulate changes of hosts. Nothing is stored.  Raises ServiceTooOld, RefusedError."""
    api.require_v2("a simulation")
    result: SimulationResult = api.post("/simulations", simulation, V2)
    return result
