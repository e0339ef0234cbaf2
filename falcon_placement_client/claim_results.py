"""The results of claims."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The resources of a successful claim."""

    #: UUID of a provider -> `{"resources": {class: amount}}`.
    allocations: Mapping[str, Mapping[str, Mapping[str, int]]]
    #: Suffix of a request group -> UUIDs of the providers that serve it.
    mappings: Mapping[str, list[str]]
    #: Generation that the next write of the allocations must contain.
    consumer_generation: int
    #: End of the hold in UTC, or None if the claim is permanent.
    expires_at: str | None = None


def result_of(answer: Mapping[str, Any]) -> ClaimResult:
    """Return the result of a claim in a response of the service."""
    return ClaimResult(
        answer["allocations"],
        answer["mappings"],
        answer["consumer_generation"],
        answer.get("expires_at"),
    )
