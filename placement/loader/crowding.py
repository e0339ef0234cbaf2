"""Providers that give more than their inventories allow, as they do once these have been cut.

A server refuses to give it out again. So while the consumers are loaded, such inventories have just
the room that the consumers of the file take.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from falcon_placement_client.inventory import InventoryRecord, units_allow
from placement.loader.cloud import Cloud, CloudConsumer, CloudProvider
from placement.vocabulary import MAX_INTEGER

Key = tuple[str, str]  # uuid of a provider, resource class


def crowded_providers(cloud: Cloud) -> dict[str, CloudProvider]:
    """Return the providers whose consumers do not fit, by UUID, with room for them."""
    amounts: dict[Key, list[int]] = defaultdict(list)
    for consumer in cloud.consumers:
        for provider_uuid, resources in consumer.allocations.items():
            for resource_class, amount in resources.items():
                amounts[provider_uuid, resource_class].append(amount)
    crowded: dict[str, CloudProvider] = {}
    for provider in cloud.providers:
        wider = {
            resource_class: _wide_enough(record, amounts[provider.uuid, resource_class])
            for resource_class, record in provider.inventories.items()
        }
        if wider != provider.inventories:
            crowded[provider.uuid] = replace(provider, inventories=wider)
    return crowded


def consumers_of(cloud: Cloud, providers: Mapping[str, CloudProvider]) -> list[CloudConsumer]:
    """Return the consumers that use any of the providers."""
    return [
        consumer for consumer in cloud.consumers if consumer.allocations.keys() & providers.keys()
    ]


def _wide_enough(record: InventoryRecord, amounts: Sequence[int]) -> InventoryRecord:
    """Return the inventory, or one that can just give all amounts, if this one cannot."""
    usage = sum(amounts)
    if usage <= record.capacity and all(units_allow(record, amount) for amount in amounts):
        return record
    return InventoryRecord(
        total=min(usage, MAX_INTEGER),
        # A little more than needed, for ratios may be kept in single precision.
        allocation_ratio=1.0 if usage <= MAX_INTEGER else 1.0001 * usage / MAX_INTEGER,
    )
