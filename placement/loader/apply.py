"""Brings a server to the state that a cloud file describes.

Loading reads first and writes only what differs. A run that was cut short at any point is
completed by the next one, and a run with nothing left to do sends no write at all.
"""

import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from placement.loader.client import LoadError, PlacementClient, RefusedError
from placement.loader.cloudfile import Cloud, Provider
from placement.vocabulary import CUSTOM_PREFIX

CONFLICT_TRIES = 5
_CONFLICT = "placement.concurrent_update"
_TAKEN = "placement.duplicate_name"
_GENERATION = "resource_provider_generation"

# Given the providers, the providers again, shown while they are taken one by one.
Progress = Callable[[Sequence[Provider]], AbstractContextManager[Iterable[Provider]]]


@dataclass(slots=True)
class Summary:
    """What a run did: providers by outcome, and custom names made."""

    created: int = 0
    changed: int = 0
    unchanged: int = 0
    resource_classes: int = 0
    traits: int = 0

    def __str__(self) -> str:
        providers = self.created + self.changed + self.unchanged
        return (
            f"{providers} providers: {self.created} created, {self.changed} changed, "
            f"{self.unchanged} as they were; new resource classes: {self.resource_classes}, "
            f"new traits: {self.traits}"
        )


@dataclass(frozen=True, slots=True)
class _Facet:
    """A part of a provider that is replaced as a whole: one sub-resource of the API."""

    name: str
    nothing: Any
    wanted: Callable[[Provider], Any]
    same: Callable[[Any, Any], bool]


def apply(cloud: Cloud, client: PlacementClient, progress: Progress) -> Summary:
    """Make the server's providers those of ``cloud``; others are left alone.

    :param progress: shows how far it is
    :returns: what was done
    :raises LoadError: the text begins with the file and the line of the provider concerned
        when there is one; what was written before stays
    """
    listed = client.items("/resource_providers", "resource_providers")
    classes = {found["name"] for found in client.items("/resource_classes", "resource_classes")}
    traits = set(client.items("/traits", "traits"))
    existing = {found["uuid"] for found in listed}
    _refuse_clashes(cloud, listed)
    new_classes = _missing(cloud, "resource class", cloud.resource_classes(), classes)
    new_traits = _missing(cloud, "trait", cloud.traits(), traits)
    _make_names(cloud, client, "/resource_classes", new_classes)
    _make_names(cloud, client, "/traits", new_traits)
    summary = Summary(resource_classes=len(new_classes), traits=len(new_traits))
    with progress(cloud.providers) as providers:
        for provider in providers:
            try:
                generation = None
                if provider.uuid not in existing:
                    generation = _create(cloud, client, provider)
                changed = _fill(client, provider, generation)
            except RefusedError as refusal:
                raise _failure(cloud, provider, str(refusal)) from refusal
            if generation is not None:
                summary.created += 1
            elif changed:
                summary.changed += 1
            else:
                summary.unchanged += 1
    return summary


def _failure(cloud: Cloud, provider: Provider, text: str) -> LoadError:
    return LoadError(f"{cloud.source}:{provider.line}: provider {provider.name}: {text}")


def _refuse_clashes(cloud: Cloud, existing: Iterable[Mapping[str, Any]]) -> None:
    """Raise LoadError, before anything is written, if a provider cannot have its place."""
    by_uuid = {found["uuid"]: found for found in existing}
    by_name = {found["name"]: found for found in by_uuid.values()}
    for provider in cloud.providers:
        same_uuid, same_name = by_uuid.get(provider.uuid), by_name.get(provider.name)
        if same_uuid and same_uuid["name"] != provider.name:
            text = f"on the server its UUID {provider.uuid} belongs to {same_uuid['name']!r}"
        elif same_name and same_name["uuid"] != provider.uuid:
            text = (
                f"on the server this name belongs to {same_name['uuid']}, "
                f"in the file to {provider.uuid}"
            )
        elif same_uuid and same_uuid["parent_provider_uuid"] != provider.parent_uuid:
            text = (
                f"on the server its parent is {same_uuid['parent_provider_uuid'] or 'none'}, "
                f"in the file {provider.parent_uuid or 'none'}"
            )
        else:
            continue
        raise _failure(cloud, provider, text)


def _missing(
    cloud: Cloud, kind: str, used: Mapping[str, Provider], known: set[str]
) -> dict[str, Provider]:
    """Return the names that have to be made; raise LoadError for one that cannot be."""
    missing = {name: provider for name, provider in used.items() if name not in known}
    for name, provider in missing.items():
        if not name.startswith(CUSTOM_PREFIX):
            text = (
                f"the server knows no {kind} {name}; names of your own begin with {CUSTOM_PREFIX}"
            )
            raise _failure(cloud, provider, text)
    return missing


def _make_names(
    cloud: Cloud, client: PlacementClient, path: str, names: Mapping[str, Provider]
) -> None:
    for name, provider in names.items():
        try:
            client.put(f"{path}/{name}")
        except RefusedError as refusal:
            raise _failure(cloud, provider, str(refusal)) from refusal


def _create(cloud: Cloud, client: PlacementClient, provider: Provider) -> int | None:
    """Create the provider; return its generation, None if it has come to be meanwhile."""
    body = {
        "name": provider.name,
        "uuid": provider.uuid,
        "parent_provider_uuid": provider.parent_uuid,
    }
    try:
        generation: int = client.post("/resource_providers", body)["generation"]
    except RefusedError as refusal:
        if refusal.code != _TAKEN:
            raise
        try:
            found = client.get(f"/resource_providers/{provider.uuid}")
        except RefusedError:
            raise refusal from None
        _refuse_clashes(Cloud(cloud.source, (provider,)), [found])
        return None
    return generation


def _fill(client: PlacementClient, provider: Provider, generation: int | None) -> bool:
    """Make all parts of a provider what the file says; return whether one was written.

    :param generation: of a provider just created, which has nothing yet; None to read it
    """
    changed = False
    for facet in _FACETS:
        written = _ensure(client, provider, facet, generation)
        if written is not None:
            changed = True
            generation = None if generation is None else written
    return changed


def _ensure(
    client: PlacementClient, provider: Provider, facet: _Facet, generation: int | None
) -> int | None:
    """Write one part of a provider if it differs; return the new generation if it did."""
    path = f"/resource_providers/{provider.uuid}/{facet.name}"
    wanted = facet.wanted(provider)
    found = {facet.name: facet.nothing, _GENERATION: generation}
    if generation is None:
        found = client.get(path)
    for attempt in range(1, CONFLICT_TRIES + 1):
        if facet.same(found[facet.name], wanted):
            return None
        body = {facet.name: wanted, _GENERATION: found[_GENERATION]}
        try:
            written: int = client.put(path, body)[_GENERATION]
        except RefusedError as refusal:
            if refusal.code != _CONFLICT or attempt == CONFLICT_TRIES:
                raise
            found = client.get(path)
        else:
            return written
    raise AssertionError("unreachable")


def _wanted_inventories(provider: Provider) -> dict[str, dict[str, Any]]:
    return {name: asdict(record) for name, record in provider.inventories.items()}


def _same_inventories(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return found.keys() == wanted.keys() and all(
        _same_record(found[name], wanted[name]) for name in wanted
    )


def _same_record(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    # Some databases keep the ratio in single precision.
    return all(
        math.isclose(found[key], value, rel_tol=1e-5)
        if key == "allocation_ratio"
        else found[key] == value
        for key, value in wanted.items()
    )


def _same_names(found: Iterable[str], wanted: Iterable[str]) -> bool:
    return set(found) == set(wanted)


def _same_uuids(found: Iterable[str], wanted: Iterable[str]) -> bool:
    return {str(uuid.UUID(value)) for value in found} == set(wanted)


_FACETS = (
    _Facet("inventories", {}, _wanted_inventories, _same_inventories),
    _Facet("traits", [], lambda provider: sorted(provider.traits), _same_names),
    _Facet("aggregates", [], lambda provider: sorted(provider.aggregates), _same_uuids),
)
