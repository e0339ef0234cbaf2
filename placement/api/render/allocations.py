"""Allocations as clients see them (contract allocations.md section 2, resources.md section 7)."""

from collections.abc import Mapping
from typing import Any

from placement.api.microversion import Microversion
from placement.api.versioned import growing
from placement.objects.allocations import ConsumerAllocations, ProviderAllocations
from placement.vocabulary import UNKNOWN_CONSUMER_TYPE

CONSUMER = growing(
    {
        "1.0": ("allocations",),
        "1.12": ("project_id", "user_id"),
        "1.28": ("consumer_generation",),
        "1.38": ("consumer_type",),
    }
)
ON_PROVIDER = growing({"1.0": ("resources",), "1.28": ("consumer_generation",)})


def of_consumer(holding: ConsumerAllocations, version: Microversion) -> Mapping[str, Any]:
    """What a consumer holds; a consumer without allocations shows nothing else."""
    if not holding.by_provider:
        return {"allocations": {}}
    members = {
        "allocations": {
            uuid: {"generation": held.generation, "resources": held.resources}
            for uuid, held in holding.by_provider.items()
        },
        "project_id": holding.project,
        "user_id": holding.user,
        "consumer_generation": holding.generation,
        "consumer_type": holding.consumer_type or UNKNOWN_CONSUMER_TYPE,
    }
    return {name: members[name] for name in CONSUMER.at(version)}


def on_provider(
    holdings: Mapping[str, ConsumerAllocations], generation: int, version: Microversion
) -> Mapping[str, Any]:
    """What consumers hold on one provider."""
    shown = ON_PROVIDER.at(version)
    return {
        "resource_provider_generation": generation,
        "allocations": {
            consumer: {name: members[name] for name in shown}
            for consumer, holding in holdings.items()
            for held in holding.by_provider.values()
            for members in [_on_one(held, holding)]
        },
    }


def _on_one(held: ProviderAllocations, holding: ConsumerAllocations) -> Mapping[str, Any]:
    return {"resources": held.resources, "consumer_generation": holding.generation}
