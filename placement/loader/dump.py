"""The cloud that a server has, read over REST.

A server has no snapshot to read from: each provider's parts and each consumer are as they were at
some moment of the reading. What is deleted or created meanwhile is left out.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode

from placement.client.rest import RefusedError, RestClient
from placement.loader.cloud import Cloud, CloudConsumer, CloudInventory, CloudProvider
from placement.progress import Progress
from placement.vocabulary import CUSTOM_PREFIX, UNKNOWN_CONSUMER_TYPE

PAGED = "2.0"  # the version that lists providers in pages and with their parts
PAGE = 500  # providers
READERS = 4  # requests at once, beside which a server has some time for others

_PARTS = ("inventories", "traits", "aggregates")
_FIELDS = tuple(CloudInventory.__dataclass_fields__)

Item = TypeVar("Item")
Result = TypeVar("Result")
Json = Mapping[str, Any]


def fetch(client: RestClient, progress: Progress, *, with_consumers: bool = True) -> Cloud:
    """Return all that a server has: trees in the order of their names, consumers by UUID.

    progress: shows how far it is. Raises RestError.
    """
    resource_classes = client.items("/resource_classes", "resource_classes")
    traits = client.items("/traits", "traits")
    summaries = _in_tree_order(client.items("/resource_providers", "resource_providers"))
    names = (*_PARTS, "allocations") if with_consumers else _PARTS
    read_parts = _in_pages if _has_pages(client) else _one_by_one
    all_parts = read_parts(client, names, [summary["uuid"] for summary in summaries], progress)
    providers: dict[str, CloudProvider] = {}
    consumer_uuids: set[str] = set()
    for summary in summaries:
        parts = all_parts.get(summary["uuid"])
        parent_uuid = summary["parent_provider_uuid"]
        if parts is not None and (parent_uuid is None or parent_uuid in providers):
            providers[summary["uuid"]] = _provider(summary, parts)
            consumer_uuids.update(parts.get("allocations", ()))
    consumers = _read(partial(_consumer, client), sorted(consumer_uuids), "consumers", progress)
    return Cloud(
        client.url,
        tuple(providers.values()),
        tuple(
            consumer
            for consumer in consumers
            if consumer is not None and consumer.allocations.keys() <= providers.keys()
        ),
        _custom(resource_class["name"] for resource_class in resource_classes),
        _custom(traits),
    )


def _custom(names: Iterable[str]) -> dict[str, int]:
    return {name: 0 for name in sorted(names) if name.startswith(CUSTOM_PREFIX)}


def _in_tree_order(summaries: Iterable[Json]) -> list[Json]:
    """Return providers by name, each followed by those below it."""
    children: dict[str | None, list[Json]] = defaultdict(list)
    for summary in sorted(summaries, key=lambda summary: str(summary["name"]), reverse=True):
        children[summary["parent_provider_uuid"]].append(summary)
    ordered: list[Json] = []
    waiting = children[None]
    while waiting:
        summary = waiting.pop()
        ordered.append(summary)
        waiting += children[summary["uuid"]]
    return ordered


def _read(
    read: Callable[[Item], Result], items: Sequence[Item], noun: str, progress: Progress
) -> list[Result]:
    """Read all items, several at once; return what was read, in their order."""
    pool = ThreadPoolExecutor(READERS)
    try:
        with progress(items, noun) as shown:
            return [result for _item, result in zip(shown, pool.map(read, items), strict=True)]
    finally:
        pool.shutdown(cancel_futures=True)  # after an error nothing else is worth reading


def _has_pages(client: RestClient) -> bool:
    """Whether the server lists providers in pages and with their parts."""
    return any(version["id"] == f"v{PAGED}" for version in client.items("/", "versions"))


def _in_pages(
    client: RestClient, names: Sequence[str], uuids: Sequence[str], progress: Progress
) -> dict[str, Json]:
    """Return the parts of providers by UUID, at a version that lists them together."""
    with progress(_providers_in_pages(client, names), "providers", len(uuids)) as providers:
        return {provider["uuid"]: provider for provider in providers}


def _providers_in_pages(client: RestClient, names: Sequence[str]) -> Iterator[Json]:
    query = {"include": ",".join(names), "limit": PAGE}
    while True:
        answer = client.get(f"/resource_providers?{urlencode(query)}", PAGED)
        yield from answer["resource_providers"]
        if not answer.get("resource_providers_links"):
            return
        query["marker"] = answer["resource_providers"][-1]["uuid"]


def _one_by_one(
    client: RestClient, names: Sequence[str], uuids: Sequence[str], progress: Progress
) -> dict[str, Json]:
    """Return the parts of providers by UUID, at a version at which each has its own path."""
    all_parts = _read(partial(_parts, client, names), uuids, "providers", progress)
    return {uuid: parts for uuid, parts in zip(uuids, all_parts, strict=True) if parts is not None}


def _parts(client: RestClient, names: Sequence[str], provider_uuid: str) -> Json | None:
    """Return the parts of a provider by their names; None for one that has been deleted."""
    path = f"/resource_providers/{provider_uuid}"
    try:
        return {name: client.get(f"{path}/{name}")[name] for name in names}
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        return None


def _provider(summary: Json, parts: Json) -> CloudProvider:
    inventories = {
        resource_class: CloudInventory(**{field: record[field] for field in _FIELDS})
        for resource_class, record in sorted(parts["inventories"].items())
    }
    return CloudProvider(
        name=summary["name"],
        uuid=summary["uuid"],
        parent_uuid=summary["parent_provider_uuid"],
        inventories=inventories,
        traits=frozenset(parts["traits"]),
        # Servers keep the spelling in which an aggregate was first sent.
        aggregates=frozenset(str(uuid.UUID(text)) for text in parts["aggregates"]),
        line=0,
    )


def _consumer(client: RestClient, consumer_uuid: str) -> CloudConsumer | None:
    """Return a consumer; None for one that has been deleted."""
    on_server = client.get(f"/allocations/{consumer_uuid}")
    if not on_server["allocations"]:
        return None
    consumer_type = on_server["consumer_type"]
    return CloudConsumer(
        uuid=consumer_uuid,
        project=on_server["project_id"],
        user=on_server["user_id"],
        consumer_type=None if consumer_type == UNKNOWN_CONSUMER_TYPE else consumer_type,
        allocations={
            provider: allocation["resources"]
            for provider, allocation in on_server["allocations"].items()
        },
        line=0,
    )
