"""Read the cloud of a server over REST.

REST does not support snapshots, so the parts of providers and the consumers are read at different
times. Objects that are created or deleted concurrently are omitted. Holds are also omitted.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.inventory import FIELDS, InventoryRecord
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer, CloudProvider
from falcon_placement_client.loader.consumers import spread_group
from falcon_placement_client.loader.reading import reader
from falcon_placement_client.progress import Progress
from falcon_placement_client.vocabulary import CUSTOM_PREFIX, UNKNOWN_CONSUMER_TYPE

Json = Mapping[str, Any]


def fetch(client: RestClient, progress: Progress, *, with_consumers: bool = True) -> Cloud:
    """Return the cloud of a server. Trees are sorted by name, and consumers by UUID.

    Args:
        client: the client of the server.
        progress: shows the progress.
        with_consumers: include consumers and their allocations.

    Raises:
        RestError: a request fails.
    """
    resource_classes = client.items("/resource_classes", "resource_classes")
    traits = client.items("/traits", "traits")
    summaries = _in_tree_order(client.items("/resource_providers", "resource_providers"))
    server = reader(client, progress)
    all_parts = server.parts([summary["uuid"] for summary in summaries])
    providers: dict[str, CloudProvider] = {}
    for summary in summaries:
        parts = all_parts.get(summary["uuid"])
        parent_uuid = summary["parent_provider_uuid"]
        if parts is not None and (parent_uuid is None or parent_uuid in providers):
            providers[summary["uuid"]] = _provider(summary, parts)
    roots = [provider.uuid for provider in providers.values() if provider.parent_uuid is None]
    consumers = server.consumers([*providers], roots) if with_consumers else {}
    # A hold would end soon, while a consumer in a file is permanent.
    holds = {uuid for uuid, answer in consumers.items() if "expires_at" in answer}
    return Cloud(
        client.url,
        tuple(providers.values()),
        tuple(
            _consumer(consumer_uuid, answer)
            for consumer_uuid, answer in sorted(consumers.items())
            # Omit consumers that have allocations from providers that were created concurrently.
            if consumer_uuid not in holds and answer["allocations"].keys() <= providers.keys()
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


def _provider(summary: Json, parts: Json) -> CloudProvider:
    inventories = {
        resource_class: InventoryRecord(**{field: record[field] for field in FIELDS})
        for resource_class, record in sorted(parts["inventories"].items())
    }
    return CloudProvider(
        name=summary["name"],
        uuid=summary["uuid"],
        parent_uuid=summary["parent_provider_uuid"],
        inventories=inventories,
        traits=frozenset(parts["traits"]),
        # Servers return an aggregate in the spelling of the first request that contained it.
        aggregates=frozenset(str(uuid.UUID(text)) for text in parts["aggregates"]),
        line=0,
    )


def _consumer(consumer_uuid: str, answer: Json) -> CloudConsumer:
    consumer_type = answer["consumer_type"]
    return CloudConsumer(
        uuid=consumer_uuid,
        project=answer["project_id"],
        user=answer["user_id"],
        consumer_type=None if consumer_type == UNKNOWN_CONSUMER_TYPE else consumer_type,
        allocations={
            provider: allocation["resources"]
            for provider, allocation in answer["allocations"].items()
        },
        line=0,
        spread_group=spread_group(answer),
        request=answer.get("request"),
    )
