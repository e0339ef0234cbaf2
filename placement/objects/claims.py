"""Requested allocations of consumers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from placement.objects.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class Claim:
    """The complete allocations that a client requests for a consumer."""

    # Uuid.
    consumer: str
    # Provider uuid -> class -> amount; empty to delete the consumer.
    allocations: Mapping[str, Mapping[str, int]]
    project: str
    user: str
    # The generation that the client read, or None if the consumer must not exist; UNSET for no
    # check.
    generation: int | Unset | None = UNSET
    # UNSET keeps the type of an existing consumer; a new consumer gets no type.
    consumer_type: str | Unset = UNSET


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
