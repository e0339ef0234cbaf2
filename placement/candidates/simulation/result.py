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
    # The claim of the consumer has recorded it.
    REMEMBERED = "remembered"
    # It was derived from the allocations.
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class ConsumerMove:
    """A consumer that has a new place."""

    # UUID of the consumer.
    consumer: str
    # UUIDs of the roots of its allocations before its first move, sorted.
    origins: Sequence[str]
    # UUIDs of the roots of its allocations at the end, sorted.
    destinations: Sequence[str]
    # Where the request that found the place comes from.
    source: RequestSource
    # All of its allocations at the end.
    allocations: Allocations
    # Suffix of each group -> UUIDs of the providers that serve it, or empty for a derived request.
    mappings: Mappings
    # Name of the project, or None if the database has none.
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

    # The claimed amounts, or None if no candidate was found.
    allocations: Allocations | None = None
    # Suffix of each group -> UUIDs of the providers that serve it; None if no candidate was found.
    mappings: Mappings | None = None
    # Code of the reason, or empty if a candidate was found.
    code: str = ""
    # The reason in words, or empty if a candidate was found.
    text: str = ""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of all changes."""

    # Whether each consumer has a place and each claim a candidate, or None if undecided.
    fits: bool | None
    # The consumers with a new place, in the order of their first moves.
    moves: Sequence[ConsumerMove]
    # The consumers for which no place was found.
    unplaceable: Sequence[Unplaceable]
    # UUIDs of consumers without a result, because the bound on work was reached.
    undecided: Sequence[str]
    # The outcomes of the claims, in the order of the changes.
    claims: Sequence[SimulatedClaim]
    # Whether all changes were applied within the bound on work.
    complete: bool
    # Name of a request -> how many more fit after the changes, or None if this was not requested.
    headroom: Mapping[str, Headroom] | None = None
