"""What clients ask for consumers: their complete allocations."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from placement.objects.unset import UNSET, Unset


@dataclass(frozen=True, slots=True)
class Claim:
    """The complete allocations of a consumer, as a client wants them.

    allocations: provider uuid -> class -> amount; empty: the consumer is deleted. generation: as
    the client stated it; None: "there is no such consumer"; UNSET: not stated. consumer_type:
    UNSET keeps the type of an existing consumer and gives a new one none.
    """

    consumer: str
    allocations: Mapping[str, Mapping[str, int]]
    project: str
    user: str
    generation: int | Unset | None = UNSET
    consumer_type: str | Unset = UNSET


def claimed_providers(claims: Iterable[Claim]) -> set[str]:
    """Return the providers that claims name."""
    uuids: set[str] = set()
    for claim in claims:
        uuids.update(claim.allocations)
    return uuids


def claimed_classes(claims: Iterable[Claim]) -> set[str]:
    """Return the resource classes that claims name."""
    names: set[str] = set()
    for claim in claims:
        names.update(*claim.allocations.values())
    return names


def owner_names(claims: Collection[Claim]) -> dict[str, set[str]]:
    """Return kind -> names of the projects, users and types of consumers."""
    names: dict[str, set[str]] = {"project": set(), "user": set(), "consumer_type": set()}
    for claim in claims:
        names["project"].add(claim.project)
        names["user"].add(claim.user)
        if not isinstance(claim.consumer_type, Unset):
            names["consumer_type"].add(claim.consumer_type)
    return names
