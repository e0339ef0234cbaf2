"""The result of a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from placement.candidates.headroom import Headroom

# Provider UUID -> class -> units.
Allocations = Mapping[str, Mapping[str, int]]
# Suffix of a group -> UUIDs of the providers that serve it.
Mappings = Mapping[str, Sequence[str]]


class RequestSource(StrEnum):
    """Where the request of a consumer comes from."""

    # The client has stated it.
    GIVEN = "given"
    # The consumer has it from its claim.
    REMEMBERED = "remembered"
    # It follows from the allocations.
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class ConsumerMove:
    """A consumer that has a new place."""

    # UUID of the consumer.
    consumer: str
    # UUIDs of the roots of all that it held before its first move, sorted.
    origins: Sequence[str]
    # UUIDs of the roots of all that it holds at the end, sorted.
    destinations: Sequence[str]
    # Where the request that found the place comes from.
    source: RequestSource
    # All that it holds at the end.
    allocations: Allocations
    # Of the request that found the place; empty for a derived request.
    mappings: Mappings
    # Project, user, generation and type of the consumer.
    project: str | None
    # Name of the user, or None if the database has none.
    user: str | None
    # Generation of the consumer; a write with the new allocations expects it.
    generation: int
    # Name of the type, or None for a consumer without a type.
    consumer_type: str | None


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """A consumer for which no place was found."""

    # UUID of the consumer.
    consumer: str
    # Code of the reason.
    code: str
    # The reason in words.
    text: str
    # Where the request of the consumer comes from.
    source: RequestSource


@dataclass(frozen=True, slots=True)
class SimulatedClaim:
    """The outcome of a claim on the copies."""

    # What was claimed; None if no candidate was found.
    allocations: Allocations | None = None
    # Suffix of each group -> UUIDs of the providers that serve it; None if no candidate was found.
    mappings: Mappings | None = None
    # Why no candidate was found; empty if one was.
    code: str = ""
    # The reason in words; empty if a candidate was found.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the changes lead to."""

    # Whether each consumer has a place and each claim a candidate; None if it is not decided.
    fits: bool | None
    # In the order of the first moves.
    moves: Sequence[ConsumerMove]
    # The consumers for which no place was found.
    unplaceable: Sequence[Unplaceable]
    # UUIDs of consumers that were not looked at within the bound on work.
    undecided: Sequence[str]
    # In the order of the changes.
    claims: Sequence[SimulatedClaim]
    # Whether everything was looked at.
    complete: bool
    # Name of a request -> how many more fit after the changes; None if it was not requested.
    headroom: Mapping[str, Headroom] | None = None
