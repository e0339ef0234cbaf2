"""Read the cloud of a server over REST.

REST does not support snapshots, so the providers and the consumers are read at different times.
Objects that are created or deleted concurrently are omitted. Holds are also omitted. From servers
that support placement 2.0, lists of many objects are read.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from falcon_placement_client import tree_reader
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.errors import RefusedError
from falcon_placement_client.listing import consumer_pages
from falcon_placement_client.loader.cloud import Cloud
from falcon_placement_client.loader.consumers import consumer_of
from falcon_placement_client.progress import Progress
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.rest import V2
from falcon_placement_client.vocabulary import CUSTOM_PREFIX

PAGE = 500  # providers, or consumers of a tree, in one response
# Concurrent requests; the number is low, so that the server has time for other clients.
CONCURRENCY = 4

Item = TypeVar("Item")
Result = TypeVar("Result")
Json = Mapping[str, Any]


def fetch(client: RestClient, progress: Progress, *, with_consumers: bool = True) -> Cloud:
    """Return the cloud of a server. Trees are sorted by name, and consumers by UUID.

    Raises:
        RestError: a request fails.
        UpdateFailed: other clients keep changing a provider.
    """
    resource_classes = client.items("/resource_classes", "resource_classes")
    traits = client.items("/traits", "traits")
    summaries = _in_tree_order(client.items("/resource_providers", "resource_providers"))
    read_providers = _listed_providers if client.supports_v2 else _single_providers
    providers: dict[str, ProviderData] = {}
    for provider in read_providers(client, summaries, progress):
        if provider.parent_uuid is None or provider.parent_uuid in providers:
            providers[provider.uuid] = provider
    consumers: Mapping[str, Json] = {}
    if with_consumers:
        read_consumers = _listed_consumers if client.supports_v2 else _single_consumers
        consumers = read_consumers(client, list(providers.values()), progress)
    # A hold would end soon, while a consumer in a file is permanent.
    holds = {uuid for uuid, response in consumers.items() if "expires_at" in response}
    return Cloud(
        client.url,
        tuple(providers.values()),
        tuple(
            consumer_of(uuid, response)
            for uuid, response in sorted(consumers.items())
            # Omit consumers that have allocations from providers that were created concurrently.
            if uuid not in holds and response["allocations"].keys() <= providers.keys()
        ),
        _custom(resource_class["name"] for resource_class in resource_classes),
        _custom(traits),
        omitted_holds=len(holds),
    )


def _custom(names: Iterable[str]) -> dict[str, int]:
    return {name: 0 for name in sorted(names) if name.startswith(CUSTOM_PREFIX)}


def _in_tree_order(summaries: Iterable[Json]) -> list[Json]:
    """Return providers by name, each followed by its descendants."""
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


def _listed_providers(
    client: RestClient, summaries: Sequence[Json], progress: Progress
) -> list[ProviderData]:
    """Return the providers that still exist, with one request for each page."""
    pages = client.pages(f"include={','.join(tree_reader.PARTS)}&limit={PAGE}", V2)
    with progress(pages, "providers", len(summaries)) as entries:
        parts = {entry["uuid"]: entry for entry in entries}
    existing = [summary for summary in summaries if summary["uuid"] in parts]
    return [tree_reader.provider_of(each, parts[each["uuid"]]) for each in existing]


def _single_providers(
    client: RestClient, summaries: Sequence[Json], progress: Progress
) -> list[ProviderData]:
    """Return the providers that still exist, with a request for each part of each provider."""

    def read(summary: Json) -> ProviderData | None:
        try:
            return tree_reader.read_provider(client, summary)
        except RefusedError as refusal:
            if refusal.status == 404:
                return None
            raise

    return _present(_read(read, summaries, "providers", progress))


def _listed_consumers(
    client: RestClient, providers: Sequence[ProviderData], progress: Progress
) -> dict[str, Json]:
    """Return uuid -> consumer of the providers, with one request for each page of a tree."""

    def of_tree(root: str) -> list[Json]:
        parameters = {"in_tree": root, "include": "allocations,request"}
        return list(consumer_pages(client, parameters, version=V2, page=PAGE))

    roots = [provider.uuid for provider in providers if provider.parent_uuid is None]
    trees = _read(of_tree, roots, "trees", progress)
    return {consumer["uuid"]: consumer for consumers in trees for consumer in consumers}


def _single_consumers(
    client: RestClient, providers: Sequence[ProviderData], progress: Progress
) -> dict[str, Json]:
    """Return uuid -> consumer, with one request for each provider and each consumer."""
    paths = [f"/resource_providers/{provider.uuid}/allocations" for provider in providers]
    responses = _present(_read(client.find, paths, "providers' consumers", progress))
    uuids = sorted(frozenset[str]().union(*(response["allocations"] for response in responses)))
    consumers = _read(lambda uuid: client.get(f"/allocations/{uuid}"), uuids, "consumers", progress)
    pairs = zip(uuids, consumers, strict=True)
    return {uuid: consumer for uuid, consumer in pairs if consumer["allocations"]}


def _present(results: Iterable[Result | None]) -> list[Result]:
    return [result for result in results if result is not None]


def _read(
    read: Callable[[Item], Result], items: Sequence[Item], noun: str, progress: Progress
) -> list[Result]:
    """Read the items concurrently. Return the results in the order of the items."""
    pool = ThreadPoolExecutor(CONCURRENCY)
    try:
        results = pool.map(read, items)
        with progress(items, noun) as counted_items:
            return [result for _item, result in zip(counted_items, results, strict=True)]
    finally:
        pool.shutdown(cancel_futures=True)  # after an error, the other results are not needed
