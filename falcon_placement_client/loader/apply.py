"""Load a cloud file: change the server until it matches the file.

Loading reads each tree and each consumer of the file from the server, and writes only the
differences. A preview prints them instead. If a run is interrupted, the next run completes it. If
there are no differences, a run sends no writes.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NoReturn

from falcon_placement_client import tree_reader
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.errors import ClientError, RefusedError, UpdateFailed
from falcon_placement_client.listing import consumer_pages
from falcon_placement_client.loader.checks import missing_names, refuse_clashes, refuse_records
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer, LoadError
from falcon_placement_client.loader.consumers import (
    Write,
    claim_changes,
    consumer_of,
    consumer_writes,
    overcommitted_providers,
)
from falcon_placement_client.messages import escaped
from falcon_placement_client.progress import Progress
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import TreeSnapshot
from falcon_placement_client.rest import V2, retry
from falcon_placement_client.tree_writer import DUPLICATE_NAME, TreeWriter, is_retriable

CONFLICT_PAUSES = (0,) * 4  # seconds before retries after conflicts with concurrent writers


class LoadOutcome(Enum):
    """The outcome for a provider or consumer. Messages contain the values."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "as they were"


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of loading a file."""

    providers: Mapping[LoadOutcome, int]
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
    cloud: Cloud, client: RestClient, progress: Progress, tell: Callable[[str], None] | None = None
) -> Summary:
    """Change the providers and consumers in the file, and no others, until they match the file.

    A failure does not revert earlier writes.

    Args:
        tell: receives a description of each difference, which is not written then.

    Raises:
        LoadError: an entry is refused. The text begins with the file and the line of the entry.
        RestError: the server does not respond.
    """
    return _Loading(cloud, client, progress, tell).run()


class _Writer(TreeWriter):
    """Writes trees of a cloud file."""

    def __init__(self, client: RestClient, cloud: Cloud) -> None:
        names = [f"/resource_classes/{name}" for name in cloud.resource_classes()]
        super().__init__(client, [*names, *(f"/traits/{name}" for name in cloud.traits())])
        self._places = {provider.name: cloud.place(provider) for provider in cloud.providers}

    def refuse(self, name: str, refusal: RefusedError) -> NoReturn:
        if is_retriable(refusal) or refusal.code == DUPLICATE_NAME:
            raise refusal
        raise LoadError(f"{self._places[name]}: {refusal}") from refusal


class _Loading:
    """One run. See `apply` for the arguments."""

    def __init__(
        self,
        cloud: Cloud,
        client: RestClient,
        progress: Progress,
        tell: Callable[[str], None] | None,
    ) -> None:
        self._cloud = cloud
        self._client = client
        self._progress = progress
        self._tell = tell
        self._writer = _Writer(client, cloud)
        # Whether the server stores spread groups and requests, and has holds.
        self._has_records = bool(cloud.consumers) and client.supports_v2
        # UUIDs of the holds of the server. Loading a consumer makes it permanent.
        self._holds: frozenset[str] = frozenset()
        self._names = {provider.uuid: provider.name for provider in cloud.providers}

    def run(self) -> Summary:
        cloud, client = self._cloud, self._client
        # Validate as much as possible before the first write.
        existing = refuse_clashes(cloud, client)
        resource_classes = client.items("/resource_classes", "resource_classes")
        class_names = {resource_class["name"] for resource_class in resource_classes}
        traits = client.items("/traits", "traits")
        if not self._has_records:
            refuse_records(cloud)
        new_classes = missing_names("resource class", cloud.resource_classes(), class_names)
        new_traits = missing_names("trait", cloud.traits(), traits)
        self._make_names("resource class", "/resource_classes", new_classes)
        self._make_names("trait", "/traits", new_traits)
        if self._has_records:
            pages = consumer_pages(client, {"held": "true"}, version=V2)
            self._holds = frozenset(consumer["uuid"] for consumer in pages)
        temporary = self._temporary_inventories()
        providers = self._load_providers(temporary, existing)
        consumers: Counter[LoadOutcome] = Counter()
        with self._progress(cloud.consumers, "consumers") as shown:
            for consumer in shown:
                consumers[self._load_consumer(consumer)] += 1
        for tree in cloud.trees():
            if not temporary.keys().isdisjoint(provider.uuid for provider in tree):
                self._load_tree(tree, exists=True)
        return Summary(providers, consumers, len(new_classes), len(new_traits))

    def _load_providers(
        self, temporary: Mapping[str, ProviderData], existing: Mapping[str, object]
    ) -> Counter[LoadOutcome]:
        """Load each tree when its root is reached. `existing`: the providers of the server."""
        outcomes: Counter[LoadOutcome] = Counter()
        trees = {tree[0].uuid: tree for tree in self._cloud.trees()}
        with self._progress(self._cloud.providers, "providers") as providers:
            for provider in providers:
                tree = [temporary.get(each.uuid, each) for each in trees.get(provider.uuid, ())]
                if tree:
                    outcomes += self._load_tree(tree, exists=provider.uuid in existing)
        return outcomes

    def _load_tree(self, tree: Sequence[ProviderData], *, exists: bool) -> Counter[LoadOutcome]:
        """Write the differences of a tree. The root comes first. A new tree is not read."""
        known = [] if exists else [TreeSnapshot()]

        def write() -> Counter[LoadOutcome]:
            current = known.pop() if known else self._read_tree(tree)
            target = TreeSnapshot(tree)
            if self._tell is None:
                self._writer.write(current, target)
            else:
                for change in target - current:
                    self._tell(escaped(str(change)))
            return Counter(_outcome(current.find(each.uuid), each) for each in tree)

        try:
            return retry(write, CONFLICT_PAUSES, self._may_retry)
        except (RefusedError, UpdateFailed) as error:
            raise LoadError(f"{self._cloud.place(tree[0])}: {error}") from error

    def _may_retry(self, error: ClientError) -> bool:
        """Return whether a retry may succeed. Raises LoadError if another provider has a name."""
        if isinstance(error, RefusedError) and error.code == DUPLICATE_NAME:
            refuse_clashes(self._cloud, self._client)
            return True
        return is_retriable(error)

    def _read_tree(self, tree: Sequence[ProviderData]) -> TreeSnapshot:
        """Return the providers of a tree of the file that exist on the server."""
        on_server = {each.uuid: each for each in tree_reader.read_tree(self._client, tree[0].uuid)}
        return TreeSnapshot(
            _with_ratios(on_server[each.uuid], each) for each in tree if each.uuid in on_server
        )

    def _load_consumer(self, consumer: CloudConsumer) -> LoadOutcome:
        def write() -> LoadOutcome:
            old, generation = self._read_consumer(consumer)
            is_held = consumer.uuid in self._holds
            writes = consumer_writes(old, consumer, generation, self._names, is_held=is_held)
            outcome = LoadOutcome.UNCHANGED
            for each in writes:
                self._send(each)
                outcome = LoadOutcome.CREATED if old is None else LoadOutcome.CHANGED
            return outcome

        try:
            return retry(write, CONFLICT_PAUSES)
        except RefusedError as refusal:
            raise LoadError(f"{self._cloud.place_of_consumer(consumer)}: {refusal}") from refusal

    def _read_consumer(self, consumer: CloudConsumer) -> tuple[CloudConsumer | None, int | None]:
        """Return a consumer of the server with its generation, or None if it does not exist."""
        response = self._client.get(f"/allocations/{consumer.uuid}")
        if not response["allocations"]:
            return None, None
        record = {}
        if consumer.has_record:
            record = self._client.get(f"/consumers/{consumer.uuid}?include=request", V2)
        return consumer_of(consumer.uuid, {**record, **response}), response["consumer_generation"]

    def _temporary_inventories(self) -> Mapping[str, ProviderData]:
        """Return uuid -> provider with the temporary inventories for loading its consumers."""
        if self._tell is not None:
            return {}  # a preview is never refused for lack of room
        providers = overcommitted_providers(self._cloud)
        uuids = providers.keys()
        for consumer in (each for each in self._cloud.consumers if each.allocations.keys() & uuids):
            old, _ = self._read_consumer(consumer)
            if consumer.uuid in self._holds or claim_changes(old, consumer, self._names):
                return providers
        return {}  # all of their consumers exist

    def _make_names(self, noun: str, path: str, places: Mapping[str, str]) -> None:
        for name, place in places.items():
            try:
                self._send(Write(f"create {noun} {name}", f"{path}/{name}"))
            except RefusedError as refusal:
                raise LoadError(f"{place}: {refusal}") from refusal

    def _send(self, write: Write) -> None:
        if self._tell is None:
            self._client.put(write.path, write.body, write.version)
        else:
            self._tell(escaped(write.text))


def _outcome(old: ProviderData | None, new: ProviderData) -> LoadOutcome:
    if old is None:
        return LoadOutcome.CREATED
    return LoadOutcome.UNCHANGED if old == new else LoadOutcome.CHANGED


def _with_ratios(old: ProviderData, new: ProviderData) -> ProviderData:
    """Return a provider of the server with almost equal ratios of the file.

    Some databases store ratios in single precision.
    """
    inventory = dict(old.inventory)
    for name in inventory.keys() & new.inventory.keys():
        ratio = new.inventory[name].allocation_ratio
        if math.isclose(inventory[name].allocation_ratio, ratio, rel_tol=1e-5):
            inventory[name] = replace(inventory[name], allocation_ratio=ratio)
    return replace(old, inventory=inventory)
