"""Providers whose allocations exceed their inventories, for example after a reduction.

A server does not accept such allocations again. Therefore, the inventories of these providers are
enlarged temporarily while the consumers are loaded.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from falcon_placement_client.inventory import InventoryRecord, units_allow
from falcon_placement_client.loader.cloud import Cloud, CloudConsumer
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.vocabulary import MAX_INTEGER

Key = tuple[str, str]  # uuid of a provider, resource class


def overcommitted_providers(cloud: Cloud) -> dict[str, ProviderData]:
    """Return uuid -> provider with larger inventories, for providers that are too small."""
    amounts: dict[Key, list[int]] = defaultdict(list)
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


def consumers_of(cloud: Cloud, providers: Mapping[str, ProviderData]) -> list[CloudConsumer]:
    """Return the consumers that use any of the providers."""
    return [
        consumer for consumer in cloud.consumers if consumer.allocations.keys() & providers.keys()
    ]


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
