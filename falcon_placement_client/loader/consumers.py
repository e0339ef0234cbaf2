"""Compare consumers of a cloud file with the server, and write their differences."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from falcon_placement_client.inventory import InventoryRecord, units_allow
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer, CloudSpreadGroup
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.rest import V2, Version
from falcon_placement_client.vocabulary import MAX_INTEGER, UNKNOWN_CONSUMER_TYPE

# The last version that can write a consumer without a type.
UNTYPED: Version = (1, 37)


class Write(NamedTuple):
    """A PUT request, with a description of what it changes."""

    text: str
    path: str
    body: Mapping[str, Any] | None = None
    # The version of the request. None means the default.
    version: Version | None = None


def consumer_writes(
    old: CloudConsumer | None,
    new: CloudConsumer,
    generation: int | None,
    names: Mapping[str, str],
    *,
    is_held: bool,
) -> Iterator[Write]:
    """Yield the writes for the parts of a consumer that differ.

    Args:
        new: the consumer of the file. The server keeps parts that the file does not state.
        generation: generation of the consumer on the server.
        names: UUID -> name of providers.
        is_held: whether it is a hold, which a write makes permanent.
    """
    changes = claim_changes(old, new, names)
    if changes or is_held:
        text = "; ".join(changes) or "permanent instead of a hold"
        version = UNTYPED if new.type is None else None
        body = _body(new, generation)
        yield Write(f"consumer {new.uuid}: {text}", f"/allocations/{new.uuid}", body, version)
    path = f"/consumers/{new.uuid}"
    # Groups belong to a project.
    group = old.spread_group if old and old.project == new.project else None
    if new.spread_group is not None and new.spread_group != group:
        name, most = new.spread_group
        text = f"consumer {new.uuid}: spread group {name}, at most {most} on a host"
        yield Write(text, f"{path}/spread_group", new.spread_group._asdict(), V2)
    if new.request is not None and (old is None or new.request != old.request):
        yield Write(f"consumer {new.uuid}: request", f"{path}/request", new.request, V2)


def claim_changes(
    old: CloudConsumer | None, new: CloudConsumer, names: Mapping[str, str]
) -> list[str]:
    """Return the changes of the owner and the allocations of a consumer, in words."""
    changes: list[str] = []
    for noun in ("project", "user", "type"):
        was, value = getattr(old, noun, None), getattr(new, noun)
        if value is not None and value != was:
            changes.append(f"{noun} {value}" if was is None else f"{noun} {was} -> {value}")
    olds, news = _amounts(old, names), _amounts(new, names)
    for key in sorted(olds.keys() | news.keys()):
        if key not in news:
            changes.append(f"- {key}")
        elif key not in olds:
            changes.append(f"+ {key} {news[key]}")
        elif olds[key] != news[key]:
            changes.append(f"{key} {olds[key]} -> {news[key]}")
    return changes


def _amounts(consumer: CloudConsumer | None, names: Mapping[str, str]) -> dict[str, int]:
    """Return the allocations as `PROVIDER CLASS` -> amount."""
    amounts: dict[str, int] = {}
    for uuid, resources in consumer.allocations.items() if consumer else ():
        for name, amount in resources.items():
            amounts[f"{names.get(uuid, uuid)} {name}"] = amount
    return amounts


def spread_group(consumer: Mapping[str, Any]) -> CloudSpreadGroup | None:
    """Return the spread group of a consumer in a file or in a response."""
    group = consumer.get("spread_group")
    return None if group is None else CloudSpreadGroup(group["name"], int(group["max_per_host"]))


def consumer_of(uuid: str, response: Mapping[str, Any]) -> CloudConsumer:
    """Return a consumer in a response."""
    consumer_type = response["consumer_type"]
    return CloudConsumer(
        uuid=uuid,
        project=response["project_id"],
        user=response["user_id"],
        type=None if consumer_type == UNKNOWN_CONSUMER_TYPE else consumer_type,
        allocations={
            provider: allocation["resources"]
            for provider, allocation in response["allocations"].items()
        },
        line=0,
        spread_group=spread_group(response),
        request=response.get("request"),
    )


def _body(consumer: CloudConsumer, generation: int | None) -> dict[str, Any]:
    body = {
        "allocations": {
            uuid: {"resources": dict(amounts)} for uuid, amounts in consumer.allocations.items()
        },
        "project_id": consumer.project,
        "user_id": consumer.user,
        "consumer_generation": generation,
    }
    if consumer.type is not None:
        body["consumer_type"] = consumer.type
    return body


def overcommitted_providers(cloud: Cloud) -> dict[str, ProviderData]:
    """Return uuid -> provider with larger inventories, for providers that are too small.

    A server does not accept allocations that exceed the inventories, for example after a reduction.
    """
    # UUID of a provider and class -> amounts of all consumers.
    amounts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for consumer in cloud.consumers:
        for provider_uuid, resources in consumer.allocations.items():
            for resource_class, amount in resources.items():
                amounts[provider_uuid, resource_class].append(amount)
    overcommitted: dict[str, ProviderData] = {}
    for provider in cloud.providers:
        wider = {
            resource_class: _enlarged(record, amounts[provider.uuid, resource_class])
            for resource_class, record in provider.inventory.items()
        }
        if wider != provider.inventory:
            overcommitted[provider.uuid] = replace(provider, inventory=wider)
    return overcommitted


def _enlarged(record: InventoryRecord, amounts: Sequence[int]) -> InventoryRecord:
    """Return the inventory, enlarged to the required capacity if it is too small."""
    usage = sum(amounts)
    if usage <= record.capacity and all(units_allow(record, amount) for amount in amounts):
        return record
    return InventoryRecord(
        total=min(usage, MAX_INTEGER),
        # The capacity is slightly larger than necessary, because databases may store ratios in
        # single precision.
        allocation_ratio=1.0 if usage <= MAX_INTEGER else 1.0001 * usage / MAX_INTEGER,
    )
