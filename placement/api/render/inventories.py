"""Inventories as clients see them (contract resources.md section 2.2)."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from placement.objects.inventory_rows import Record


def one(record: Record, generation: int) -> Mapping[str, Any]:
    """A single inventory."""
    return {"resource_provider_generation": generation, **asdict(record)}


def many(records: Mapping[str, Record], generation: int) -> Mapping[str, Any]:
    """The inventories of a provider."""
    return {
        "resource_provider_generation": generation,
        "inventories": {name: asdict(record) for name, record in records.items()},
    }
