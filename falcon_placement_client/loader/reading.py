"""Ways to read a server's cloud. Lists of many objects are used if the server supports them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.consumer_lists import consumer_pages
from falcon_placement_client.progress import Progress
from falcon_placement_client.rest import Version

# The version that lists the parts of many providers, and the consumers of a tree.
LISTING: Version = (2, 0)
PAGE = 500  # providers, or consumers of a tree, in one response
# Concurrent requests; the number is low, so that the server has time for other clients.
CONCURRENCY = 4

_PARTS = ("inventories", "traits", "aggregates")

Item = TypeVar("Item")
Result = TypeVar("Result")
Json = Mapping[str, Any]


class CloudReader(Protocol):
    """Reads the parts and consumers of providers.  All methods raise RestError."""

    def parts(self, uuids: Sequence[str]) -> dict[str, Json]:
        """Return uuid -> parts of the providers that still exist."""

    def consumers(self, uuids: Sequence[str], roots: Sequence[str]) -> dict[str, Json]:
        """Return uuid -> consumer of the providers in the trees of `roots`, with allocations."""


def reader(client: RestClient, progress: Progress) -> CloudReader:
    """Return the most efficient reader for the server. `progress` shows the progress."""
    if client.newest >= LISTING:
        return _Listing(client, progress)
    return _Single(client, progress)


class _Listing:
    """Reads providers in pages, and consumers by tree."""

    def __init__(self, client: RestClient, progress: Progress) -> None:
        self._client = client
        self._progress = progress

    def parts(self, uuids: Sequence[str]) -> dict[str, Json]:
        """Return the parts of all providers, with one request for each page."""
        pages = self._client.pages(f"include={','.join(_PARTS)}&limit={PAGE}", LISTING)
        with self._progress(pages, "providers", len(uuids)) as providers:
            return {provider["uuid"]: provider for provider in providers}

    def consumers(self, uuids: Sequence[str], roots: Sequence[str]) -> dict[str, Json]:
        """Return the consumers, with one request for each page of a tree."""

        def of_tree(root: str) -> list[Json]:
            parameters = {"in_tree": root, "include": "allocations,request"}
            return list(consumer_pages(self._client, parameters, version=LISTING, page=PAGE))

        trees = _read(of_tree, roots, "trees", self._progress)
        return {consumer["uuid"]: consumer for consumers in trees for consumer in consumers}


class _Single:
    """Reads each part of each provider, and each consumer, with a separate request."""

    def __init__(self, client: RestClient, progress: Progress) -> None:
        self._client = client
        self._progress = progress

    def parts(self, uuids: Sequence[str]) -> dict[str, Json]:
        """Return the parts of providers, with one request for each part of each provider."""
        parts_of = partial(self._provider, names=_PARTS)
        return _present(uuids, _read(parts_of, uuids, "providers", self._progress))

    def consumers(self, uuids: Sequence[str], roots: Sequence[str]) -> dict[str, Json]:
        """Return the consumers, with one request for each provider and each consumer."""
        allocations_of = partial(self._provider, names=("allocations",))
        answers = _read(allocations_of, uuids, "providers' consumers", self._progress)
        consumer_uuids = sorted(
            {uuid for answer in answers for uuid in (answer or {}).get("allocations", ())}
        )
        consumers = _read(self._consumer, consumer_uuids, "consumers", self._progress)
        return _present(consumer_uuids, consumers)

    def _provider(self, uuid: str, names: Sequence[str]) -> Json | None:
        """Return part -> value of a provider, or None if the provider no longer exists."""
        parts: dict[str, Any] = {}
        for name in names:
            answer = _get(self._client, f"/resource_providers/{uuid}/{name}")
            if answer is None:
                return None
            parts[name] = answer[name]
        return parts

    def _consumer(self, uuid: str) -> Json | None:
        """Return a consumer, or None if the consumer no longer exists."""
        consumer: Json = self._client.get(f"/allocations/{uuid}")
        return consumer if consumer["allocations"] else None


def _get(client: RestClient, path: str, version: Version | None = None) -> Json | None:
    """Return the response of the server, or None if its status is 404."""
    try:
        answer: Json = client.get(path, version)
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        return None
    return answer


def _present(keys: Sequence[str], answers: Sequence[Json | None]) -> dict[str, Json]:
    pairs = zip(keys, answers, strict=True)
    return {key: answer for key, answer in pairs if answer is not None}


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
