"""A cloud file, applied: the server is brought to the state that it describes.

Loading reads first and writes only what differs. A run that was cut short at any point is
completed by the next one, and a run with nothing left to do sends no write at all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.rest import retry
from placement.loader import crowding
from placement.loader.cloud import Cloud, CloudProvider
from placement.loader.consumers import bring_about_consumer, is_on_server
from placement.loader.facets import FACETS, Facet
from placement.loader.outcomes import LoadError, LoadOutcome
from placement.progress import Progress
from placement.vocabulary import CUSTOM_PREFIX

CONFLICT_PAUSES = (0,) * 4  # before further attempts to write what others write to
_TAKEN = "placement.duplicate_name"
_GENERATION = "resource_provider_generation"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did: providers and consumers by outcome, and how many custom names are new."""

    providers: Mapping[LoadOutcome, int]
    consumers: Mapping[LoadOutcome, int]
    resource_classes: int
    traits: int

    def __str__(self) -> str:
        parts = [f"{_described('providers', self.providers)}"]
        if self.consumers:
            parts.append(_described("consumers", self.consumers))
        parts.append(f"new resource classes: {self.resource_classes}, new traits: {self.traits}")
        return "; ".join(parts)


def _described(noun: str, outcomes: Mapping[LoadOutcome, int]) -> str:
    """Return `5 providers: 2 created, 0 changed, 3 as they were`."""
    counts = ", ".join(f"{outcomes.get(outcome, 0)} {outcome.value}" for outcome in LoadOutcome)
    return f"{sum(outcomes.values())} {noun}: {counts}"


def apply(
    cloud: Cloud, client: RestClient, progress: Progress, *, make_room: bool = True
) -> Summary:
    """Make providers and consumers of `cloud` on the server what the file says, and no others.

    progress: shows how far it is. make_room: widen inventories that are too small for the consumers
    of the file while these are loaded. Returns what was done. Raises LoadError, whose text begins
    with the file and the line of the entry that it is about; RestError without a server that
    answers. What was written before stays.
    """
    on_server = client.items("/resource_providers", "resource_providers")
    resource_classes = client.items("/resource_classes", "resource_classes")
    class_names = {resource_class["name"] for resource_class in resource_classes}
    traits = set(client.items("/traits", "traits"))
    uuids = {provider["uuid"] for provider in on_server}
    # Whatever can be refused is refused before the first write.
    _refuse_clashes(cloud, on_server)
    new_classes = _missing("resource class", cloud.resource_classes(), class_names)
    new_traits = _missing("trait", cloud.traits(), traits)
    _make_names(client, "/resource_classes", new_classes)
    _make_names(client, "/traits", new_traits)
    makeshift = _makeshift(cloud, client) if make_room else {}
    provider_outcomes: Counter[LoadOutcome] = Counter()
    with progress(cloud.providers, "providers") as providers:
        for provider in providers:
            try:
                outcome = _bring_about(
                    cloud,
                    client,
                    makeshift.get(provider.uuid, provider),
                    exists=provider.uuid in uuids,
                )
            except RefusedError as refusal:
                raise LoadError(f"{cloud.place(provider)}: {refusal}") from refusal
            provider_outcomes[outcome] += 1
    consumer_outcomes: Counter[LoadOutcome] = Counter()
    with progress(cloud.consumers, "consumers") as consumers:
        for consumer in consumers:
            try:
                outcome = bring_about_consumer(client, consumer)
            except RefusedError as refusal:
                raise LoadError(f"{cloud.place_of_consumer(consumer)}: {refusal}") from refusal
            consumer_outcomes[outcome] += 1
    for provider in cloud.providers:
        if provider.uuid in makeshift:
            _fill(client, provider, None)
    return Summary(provider_outcomes, consumer_outcomes, len(new_classes), len(new_traits))


def _makeshift(cloud: Cloud, client: RestClient) -> Mapping[str, CloudProvider]:
    """Return providers, by UUID, as they have to be while their consumers are loaded."""
    crowded = crowding.crowded_providers(cloud)
    consumers = crowding.consumers_of(cloud, crowded)
    # Those that are all there need no room any more.
    return {} if all(is_on_server(client, consumer) for consumer in consumers) else crowded


def _bring_about(
    cloud: Cloud, client: RestClient, provider: CloudProvider, *, exists: bool
) -> LoadOutcome:
    """Create the provider unless it exists, and make its parts what the file says."""
    generation = None if exists else _create(cloud, client, provider)
    changed = _fill(client, provider, generation)
    if generation is not None:
        return LoadOutcome.CREATED
    return LoadOutcome.CHANGED if changed else LoadOutcome.UNCHANGED


def _refuse_clashes(cloud: Cloud, on_server: Iterable[Mapping[str, Any]]) -> None:
    """Raise LoadError if a provider of the file contradicts one of the server."""
    by_uuid = {provider["uuid"]: provider for provider in on_server}
    by_name = {provider["name"]: provider for provider in on_server}
    for provider in cloud.providers:
        clash = _clash(provider, by_uuid.get(provider.uuid), by_name.get(provider.name))
        if clash is not None:
            raise LoadError(f"{cloud.place(provider)}: {clash}")


def _clash(
    provider: CloudProvider,
    same_uuid: Mapping[str, Any] | None,
    same_name: Mapping[str, Any] | None,
) -> str | None:
    """Say what the server's providers of one's UUID and of one's name contradict; None: nothing."""
    if same_uuid and same_uuid["name"] != provider.name:
        return f"on the server its UUID {provider.uuid} belongs to {same_uuid['name']!r}"
    if same_name and same_name["uuid"] != provider.uuid:
        return (
            f"on the server this name belongs to {same_name['uuid']}, "
            f"in the file to {provider.uuid}"
        )
    if same_uuid and same_uuid["parent_provider_uuid"] != provider.parent_uuid:
        return (
            f"on the server its parent is {same_uuid['parent_provider_uuid'] or 'none'}, "
            f"in the file {provider.parent_uuid or 'none'}"
        )
    return None


def _missing(kind: str, first_places: Mapping[str, str], on_server: set[str]) -> dict[str, str]:
    """Return the names that have to be made, with the places that are the first to name them.

    Raises LoadError for a name that cannot be made.
    """
    missing = {name: place for name, place in first_places.items() if name not in on_server}
    for name, place in missing.items():
        if not name.startswith(CUSTOM_PREFIX):
            raise LoadError(
                f"{place}: the server knows no {kind} {name}; "
                f"names of your own begin with {CUSTOM_PREFIX}"
            )
    return missing


def _make_names(client: RestClient, path: str, places: Mapping[str, str]) -> None:
    for name, place in places.items():
        try:
            client.put(f"{path}/{name}")
        except RefusedError as refusal:
            raise LoadError(f"{place}: {refusal}") from refusal


def _create(cloud: Cloud, client: RestClient, provider: CloudProvider) -> int | None:
    """Create the provider; return its generation, or None if somebody else just created it."""
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
            existing = client.get(f"/resource_providers/{provider.uuid}")
        except RefusedError:
            raise refusal from None
        _refuse_clashes(Cloud(cloud.source, (provider,)), [existing])
        return None
    return generation


def _fill(client: RestClient, provider: CloudProvider, generation: int | None) -> bool:
    """Make all parts of a provider what the file says; return whether one was written.

    generation: of a provider that was just created and has nothing; None to read its parts.
    """
    changed = False
    for facet in FACETS:
        written = _ensure(client, provider, facet, generation)
        if written is not None:
            changed = True
            generation = None if generation is None else written
    return changed


def _ensure(
    client: RestClient, provider: CloudProvider, facet: Facet, generation: int | None
) -> int | None:
    """Write one part of a provider if it differs; return the new generation if it did."""
    path = f"/resource_providers/{provider.uuid}/{facet.name}"
    value = facet.of_file(provider)
    # The parts of a new provider are empty, unless another client writes to it.
    known = [] if generation is None else [{facet.name: facet.empty, _GENERATION: generation}]

    def write() -> int | None:
        answer = known.pop() if known else client.get(path)
        if facet.same(answer[facet.name], value):
            return None
        # The generation makes the server refuse this if somebody else has written meanwhile.
        body = {facet.name: value, _GENERATION: answer[_GENERATION]}
        written: int = client.put(path, body)[_GENERATION]
        return written

    return retry(write, CONFLICT_PAUSES)
