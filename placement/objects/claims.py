"""Requested allocations of consumers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from placement.objects.unset import UNSET, Unset


class SpreadGroup(NamedTuple):
    """A group of consumers of one project that are spread over hosts."""

    # Name, unique within the project.
    name: str
    # Maximum number of members on the same host when a member is claimed.
    max_per_host: int


class NewHold(NamedTuple):
    """The terms of a new hold."""

    # Duration in seconds.
    expires_in: int
    # `mappings` of the candidate, as JSON.
    mappings: str
    # Maximum number of holds of the project. 0 means no maximum.
    max_per_project: int = 0


class NewRecord(NamedTuple):
    """The parts of a claim that are recorded for its new consumer."""

    # The spread group, or None if the consumer is in no group.
    spread: SpreadGroup | None = None
    # Uuid of a provider in the host's tree, or None if the consumer uses no host.
    host: str | None = None
    # The hold, or None if the claim is permanent.
    hold: NewHold | None = None
    # The request to store as JSON, or None.
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The complete allocations that a client requests for a consumer."""

    # Uuid.
    consumer: str
    # Provider uuid -> class -> amount. Empty to delete the consumer.
    allocations: Mapping[str, Mapping[str, int]]
    # External id of the project.
    project: str
    # External id of the user.
    user: str
    # The generation that the client read, None if the consumer must not exist, or UNSET for no
    # check.
    generation: int | Unset | None = UNSET
    # Name of the type. If it is UNSET, an existing consumer keeps its type, and a new consumer gets
    # no type.
    consumer_type: str | Unset = UNSET
    # The record of a new consumer, or None.
    record: NewRecord | None = None


def claimed_providers(claims: Iterable[Claim]) -> set[str]:
    """Return the uuids of the providers in claims."""
    uuids: set[str] = set()
    for claim in claims:
        uuids.update(claim.allocations)
    return uuids


def claimed_classes(claims: Iterable[Claim]) -> set[str]:
    """Return the resource classes in claims."""
    names: set[str] = set()
    for claim in claims:
        names.update(*claim.allocations.values())
    return names


def owner_names(claims: Collection[Claim]) -> dict[str, set[str]]:
    """Return kind -> names of the projects, users and types of the consumers."""
    names: dict[str, set[str]] = {"project": set(), "user": set(), "consumer_type": set()}
    for claim in claims:
        names["project"].add(claim.project)
        names["user"].add(claim.user)
        if not isinstance(claim.consumer_type, Unset):
            names["consumer_type"].add(claim.consumer_type)
    return names
