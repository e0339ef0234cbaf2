"""Simulations: what would happen if hosts were drained, removed or added."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, TypedDict

from falcon_placement_client.errors import ServiceTooOld
from falcon_placement_client.json_request import JsonOrderKey, JsonRequest
from falcon_placement_client.rest import V2, RestApi


class JsonAddedHosts(TypedDict, total=False):
    """Hosts that are equal to an existing one, without usage."""

    #: The UUID of a root, or the name of an added host.
    like: Required[str]
    #: The number of hosts, 1 if it is omitted.
    count: int


class JsonSimulatedClaim(TypedDict, total=False):
    """A claim on the copies of the trees."""

    #: The request.
    request: Required[JsonRequest]
    #: A spread group of the claims of the simulation: `name` and `max_per_host`.
    spread_group: Mapping[str, Any]


class JsonChange(TypedDict, total=False):
    """A change of a simulation; it has exactly one member."""

    #: UUIDs of roots that serve nothing more, and whose consumers move.
    drain: Sequence[str]
    #: UUIDs of roots that no longer exist.
    remove: Sequence[str]
    #: Hosts to add.
    add: JsonAddedHosts
    #: Resources to claim.
    claim: JsonSimulatedClaim


class JsonHeadroom(TypedDict, total=False):
    """Requests for which to measure how many more consumers fit."""

    #: Requests by name, without `limit` and `order`.
    requests: Required[Mapping[str, JsonRequest]]
    #: Maximum of all numbers of consumers, 10,000 if it is omitted.
    limit: int
    #: UUIDs of aggregates whose hosts are also counted separately.
    by: Sequence[str]
    #: Whether to count as if nothing were allocated.
    empty: bool


class JsonSimulation(TypedDict, total=False):
    """The body of `POST /simulations`."""

    #: The changes, in the order of their application.
    changes: Required[Sequence[JsonChange]]
    #: Requests for the places of consumers, by UUID.
    requests: Mapping[str, JsonRequest]
    #: The order of hosts; by default the order of the UUIDs of roots.
    order: Sequence[JsonOrderKey]
    #: Requests whose headroom is measured after the changes.
    headroom: JsonHeadroom


# A consumer that moves. `from` and `to`: UUIDs of the roots of all that it holds before and after.
# `body`: its member in the body of `POST /allocations`.
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
    """A consumer for which no place was found."""

    #: UUID of the consumer.
    consumer: str
    #: A code of explanations, or one of those of simulations.
    code: str
    #: Why there is no place.
    text: str
    #: Where its request comes from.
    request: Literal["given", "remembered", "derived"]


class SimulationResult(TypedDict):
    """The answer of `POST /simulations`."""

    #: Whether each consumer has a place and each claim a candidate; None if it is not decided.
    fits: bool | None
    #: The consumers that have a new place.
    moves: list[Move]
    #: The consumers that have none.
    unplaceable: list[Unplaceable]
    #: UUIDs of consumers that were not looked at within the bound on work.
    undecided: list[str]
    #: What each claim would get, or `code` and `text`.
    claims: list[dict[str, Any]]
    #: Whether everything was looked at.
    complete: bool
    #: Name of a request -> figures as in the response of `POST /headroom`, if it was requested.
    headroom: NotRequired[dict[str, Any]]


def simulate(api: RestApi, simulation: JsonSimulation) -> SimulationResult:
    """Simulate changes of hosts; nothing is stored.

    Raises:
        ServiceTooOld: the service does not support placement 2.0.
        RefusedError: the service refuses the simulation.
    """
    if not api.supports_v2:
        raise ServiceTooOld("simulations need a service that supports placement 2.0")
    result: SimulationResult = api.post("/simulations", simulation, V2)
    return result
