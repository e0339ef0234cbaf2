"""Load a cloud file: change the server until it matches the file.

Loading reads the state of the server first, and writes only the differences. If a run is
interrupted, the next run completes it. If there are no differences, a run sends no writes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.consumer_lists import consumer_pages
from falcon_placement_client.loader import overcommit
from falcon_placement_client.loader.cloud import Cloud, CloudProvider
from falcon_placement_client.loader.consumers import (
    RECORDS,
    has_record,
    is_on_server,
    reconcile_consumer,
)
from falcon_placement_client.loader.new_trees import NewTrees
from falcon_placement_client.loader.outcomes import LoadError, LoadOutcome
from falcon_placement_client.loader.parts import PROVIDER_PARTS, ProviderPart
from falcon_placement_client.progress import Progress
from falcon_placement_client.rest import retry
from falcon_placement_client.vocabulary import CUSTOM_PREFIX

CONFLICT_PAUSES = (0,) * 4  # seconds before retries after conflicts with concurrent writers
_TAKEN = "placement.duplicate_name"
_GENERATION = "resource_provider_generation"


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of loading a file."""

    # Number of providers by outcome.
    providers: Mapping[LoadOutcome, int]
    # Number of consumers by outcome.
    consumers: Mapping[LoadOutcome, int]
    # Number of created resource classes.
    resource_classes: int
    # Number of created traits.
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
    """Change the providers and consumers in the file, and no others, until they match the file.

    A failure does not revert earlier writes.

    Args:
        cloud: the content of the file.
        client: the client of the server.
        progress: shows the progress.
        make_room: enlarge inventories that are too small for the consumers of the file, while the
            consumers are loaded.

    Raises:
        LoadError: an entry is refused. The text begins with the file and the line of the entry.
        RestError: the server does not respond.
    """
    on_server = client.items("/resource_providers", "resource_providers")
    resource_classes = client.items("/resource_classes", "resource_classes")
    class_names = {resource_class["name"] for resource_class in resource_classes}
    traits = set(client.items("/traits", "traits"))
    uuids = {provider["uuid"] for provider in on_server}
    # Validate as much as possible before the first write.
    _refuse_clashes(cloud, on_server)
    has_records = bool(cloud.consumers) and client.newest >= RECORDS
    if not has_records:
        _refuse_records(cloud)
    new_classes = _missing("resource class", cloud.resource_classes(), class_names)
    new_traits = _missing("trait", cloud.traits(), traits)
    _make_names(client, "/resource_classes", new_classes)
    _make_names(client, "/traits", new_traits)
    holds = _holds(client) if has_records else frozenset()
    temporary = _temporary_inventories(cloud, client, holds) if make_room else {}
    loaded = [temporary.get(provider.uuid, provider) for provider in cloud.providers]
    provider_outcomes = _load_providers(cloud, client, progress, loaded, uuids)
    consumer_outcomes = _load_consumers(cloud, client, progress, holds)
    for provider in cloud.providers:
        if provider.uuid in temporary:
            _sync_parts(client, provider, None)
    return Summary(provider_outcomes, consumer_outcomes, len(new_classes), len(new_traits))


def _load_providers(
    cloud: Cloud,
    client: RestClient,
    progress: Progress,
    providers: Sequence[CloudProvider],
    uuids: Collection[str],
) -> Counter[LoadOutcome]:
    """Load providers of a file; return the number by outcome. `uuids` are those on the server."""
    outcomes: Counter[LoadOutcome] = Counter()
    new_trees = NewTrees(providers, uuids)
    with progress(providers, "providers") as shown:
        for provider in shown:
            if new_trees.creates(client, provider.uuid):
                outcomes[LoadOutcome.CREATED] += 1
                continue
            try:
                outcome = _reconcile(cloud, client, provider, exists=provider.uuid in uuids)
            except RefusedError as refusal:
                raise LoadError(f"{cloud.place(provider)}: {refusal}") from refusal
            outcomes[outcome] += 1
    return outcomes


def _load_consumers(
    cloud: Cloud, client: RestClient, progress: Progress, holds: Collection[str]
) -> Counter[LoadOutcome]:
    """Load the consumers of a file; return the number by outcome. `holds` are on the server."""
    outcomes: Counter[LoadOutcome] = Counter()
    with progress(cloud.consumers, "consumers") as consumers:
        for consumer in consumers:
            try:
                outcome = reconcile_consumer(client, consumer, holds)
            except RefusedError as refusal:
                raise LoadError(f"{cloud.place_of_consumer(consumer)}: {refusal}") from refusal
            outcomes[outcome] += 1
    return outcomes


def _holds(client: RestClient) -> frozenset[str]:
    """Return the UUIDs of the server's holds. Loading a consumer makes it permanent."""
    pages = consumer_pages(client, {"held": "true"}, version=RECORDS)
    return frozenset(consumer["uuid"] for consumer in pages)


def _temporary_inventories(
    cloud: Cloud, client: RestClient, holds: Collection[str]
) -> Mapping[str, CloudProvider]:
    """Return uuid -> provider with the temporary inventories for loading its consumers."""
    overcommitted = overcommit.overcommitted_providers(cloud)
    consumers = overcommit.consumers_of(cloud, overcommitted)
    # If all consumers already exist, they do not have to be loaded.
    exist = all(
        consumer.uuid not in holds and is_on_server(client, consumer) for consumer in consumers
    )
    return {} if exist else overcommitted


def _reconcile(
    cloud: Cloud, client: RestClient, provider: CloudProvider, *, exists: bool
) -> LoadOutcome:
    """Create the provider if it does not exist, and update its parts."""
    generation = None if exists else _create(cloud, client, provider)
    changed = _sync_parts(client, provider, generation)
    if generation is not None:
        return LoadOutcome.CREATED
    return LoadOutcome.CHANGED if changed else LoadOutcome.UNCHANGED


def _refuse_clashes(cloud: Cloud, on_server: Iterable[Mapping[str, Any]]) -> None:
    """Raise LoadError if a provider in the file contradicts a provider on the server."""
    by_uuid = {provider["uuid"]: provider for provider in on_server}
    by_name = {provider["name"]: provider for provider in on_server}
    for provider in cloud.providers:
        clash = _clash(provider, by_uuid.get(provider.uuid), by_name.get(provider.name))
        if clash is not None:
            raise LoadError(f"{cloud.place(provider)}: {clash}")


def _refuse_records(cloud: Cloud) -> None:
    """Raise LoadError if the file has spread groups or requests that the server cannot store."""
    for consumer in cloud.consumers:
        if has_record(consumer):
            raise LoadError(
                f"{cloud.place_of_consumer(consumer)}: the server stores no spread groups and "
                f"requests: it needs placement {RECORDS[0]}.{RECORDS[1]}"
            )


def _clash(
    provider: CloudProvider,
    same_uuid: Mapping[str, Any] | None,
    same_name: Mapping[str, Any] | None,
) -> str | None:
    """Return the contradiction to a server's provider with this UUID or name, or None."""
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
    """Return the names to create, each with its first location in the file.

    Raises:
        LoadError: a name cannot be created.
    """
    missing = {name: place for name, place in first_places.items() if name not in on_server}
    for name, place in missing.items():
        if not name.startswith(CUSTOM_PREFIX):
            raise LoadError(
                f"{place}: the server knows no {kind} {name}; "
                f"custom names begin with {CUSTOM_PREFIX}"
            )
    return missing


def _make_names(client: RestClient, path: str, places: Mapping[str, str]) -> None:
    for name, place in places.items():
        try:
            client.put(f"{path}/{name}")
        except RefusedError as refusal:
            raise LoadError(f"{place}: {refusal}") from refusal


def _create(cloud: Cloud, client: RestClient, provider: CloudProvider) -> int | None:
    """Create the provider and return its generation, or None if it was created concurrently."""
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


def _sync_parts(client: RestClient, provider: CloudProvider, generation: int | None) -> bool:
    """Update the parts of a provider that differ. Return whether any part was written.

    `generation` is the generation of a provider that was just created and is empty, or None to read
    the parts.
    """
    changed = False
    for part in PROVIDER_PARTS:
        written = _ensure(client, provider, part, generation)
        if written is not None:
            changed = True
            generation = None if generation is None else written
    return changed


def _ensure(
    client: RestClient, provider: CloudProvider, part: ProviderPart, generation: int | None
) -> int | None:
    """Write a part of a provider if it differs. In this case, return the new generation."""
    path = f"/resource_providers/{provider.uuid}/{part.name}"
    value = part.of_file(provider)
    # The parts of a new provider are empty, unless another client has already written to it.
    known = [] if generation is None else [{part.name: part.empty, _GENERATION: generation}]

    def write() -> int | None:
        answer = known.pop() if known else client.get(path)
        if part.same(answer[part.name], value):
            return None
        # Because of the generation, the server rejects the request if another client has written.
        body = {part.name: value, _GENERATION: answer[_GENERATION]}
        written: int = client.put(path, body)[_GENERATION]
        return written

    return retry(write, CONFLICT_PAUSES)
