"""Allocations as clients see them (contract allocations.md section 2, resources.md section 7)."""

from collections.abc import Mapping
from typing import Any

from placement.objects.allocations import Holding

NO_TYPE = "unknown"


def of_consumer(holding: Holding) -> Mapping[str, Any]:
    """What a consumer holds; a consumer without allocations shows nothing else."""
    if not holding.by_provider:
        return {"allocations": {}}
    return {
        "allocations": {
            uuid: {"generation": held.generation, "resources": held.resources}
            for uuid, held in holding.by_provider.items()
        },
        "project_id": holding.project,
        "user_id": holding.user,
        "consumer_generation": holding.generation,
        "consumer_type": holding.consumer_type or NO_TYPE,
    }


def on_provider(holdings: Mapping[str, Holding], generation: int) -> Mapping[str, Any]:
    """What consumers hold on one provider."""
    return {
        "resource_provider_generation": generation,
        "allocations": {
            consumer: {"resources": held.resources, "consumer_generation": holding.generation}
            for consumer, holding in holdings.items()
            for held in holding.by_provider.values()
        },
    }
