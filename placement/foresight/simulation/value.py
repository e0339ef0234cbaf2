"""The changes that a simulation applies, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from placement.candidates.request import CandidateRequest
from placement.candidates.search import Candidate
from placement.foresight.headroom import Headroom, HeadroomQuery
from placement.objects.claims import SpreadGroup
from placement.objects.holdings import HoldingConsumer

# Provider UUID -> class -> units.
Allocations = Mapping[str, Mapping[str, int]]
# Suffix of a group -> UUIDs of the providers that serve it.
Mappings = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Drain:
    """Drain hosts: they serve no further consumers, and their consumers move to other hosts."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove hosts and all allocations from them."""

    # UUIDs of roots.
    roots: Sequence[str]


@dataclass(frozen=True, slots=True)
class Add:
    """Add unused hosts that are copies of an existing host."""

    # UUID of a root.
    like: str
    # Number of hosts.
    count: int


@dataclass(frozen=True, slots=True)
class ClaimOnCopies:
    """Claim resources on the copies of the trees."""

    # The request whose first candidate is claimed.
    request: CandidateRequest
    # The spread group that the claim joins, or None. The group exists only in the simulation.
    spread: SpreadGroup | None = None


Change = Drain | Remove | Add | ClaimOnCopies


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """The changes to simulate."""

    # The changes in the order of their application.
    changes: Sequence[Change]
    # Reads a stored request from JSON. Raises BadQuery.
    read_request: Callable[[Mapping[str, Any]], CandidateRequest]
    # Consumer UUID -> the request that its new allocations must satisfy.
    requests: Mapping[str, CandidateRequest] = field(default_factory=dict)
    # A request without groups. It contains the order of the hosts. Without an order, hosts are
    # sorted by the UUID of the root.
    order_request: CandidateRequest = field(default_factory=lambda: CandidateRequest(()))
    # Requests whose headroom is measured after the changes, or None.
    headroom: HeadroomQuery | None = None


class RequestSource(StrEnum):
    """The origin of the request of a consumer."""

    # The client has sent it.
    GIVEN = "given"
    # It was stored with the claim of the consumer.
    REMEMBERED = "remembered"
    # It was derived from the allocations.
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class ConsumerMove:
    """A consumer that has moved."""

    # The consumer as it was stored before the simulation.
    consumer: HoldingConsumer
    # UUIDs of the roots of its allocations before its first move, sorted.
    origins: Sequence[str]
    # UUIDs of the roots of its allocations at the end, sorted.
    destinations: Sequence[str]
    # The origin of the request that was used to find the new allocations.
    source: RequestSource
    # All of its allocations after the simulation.
    allocations: Allocations
    # Suffix of each group -> UUIDs of the providers that serve it, or empty for a derived request.
    mappings: Mappings


class Unplaced(NamedTuple):
    """The reason why a search found nothing."""

    # A code of explanations or of simulations.
    code: str
    # The explanation of the search.
    text: str


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """A consumer that could not be moved."""

    # UUID of the consumer.
    consumer: str
    reason: Unplaced
    # The origin of the request of the consumer.
    source: RequestSource


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of all changes."""

    # Whether each consumer could be moved and each claim has a candidate. None if undecided.
    fits: bool | None
    # The consumers that have moved, in the order of their first moves.
    moves: Sequence[ConsumerMove]
    # The consumers that could not be moved.
    unplaceable: Sequence[Unplaceable]
    # UUIDs of consumers that have no result because the limit on work was reached.
    undecided: Sequence[str]
    # The outcomes of the claims, in the order of the changes.
    claims: Sequence[Candidate | Unplaced]
    # Whether all changes were applied within the limit on work.
    complete: bool
    # Name of a request -> how many more fit after the changes, or None if this was not requested.
    headroom: Mapping[str, Headroom] | None = None
