"""The result of a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from placement.candidates.headroom import Headroom
from placement.candidates.search.candidate import Candidate
from placement.objects.holdings import HoldingConsumer

# Provider UUID -> class -> units.
Allocations = Mapping[str, Mapping[str, int]]
# Suffix of a group -> UUIDs of the providers that serve it.
Mappings = Mapping[str, Sequence[str]]


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
    # The reason.
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
