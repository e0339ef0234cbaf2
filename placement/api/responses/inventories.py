"""Responses about inventories and usages of a provider."""

from collections.abc import Mapping
from operator import attrgetter

from placement.api.members import AMOUNTS, CLASS_KEY, GENERATION_MEMBER, AtGeneration
from placement.api.shapes import Json, Object, Property, Table
from placement.inventory import InventoryRecord

_RECORD = {
    "total": Json({"type": "integer", "examples": [64]}),
    "reserved": Json({"type": "integer", "examples": [0]}),
    "min_unit": Json({"type": "integer", "examples": [1]}),
    "max_unit": Json({"type": "integer", "examples": [64]}),
    "step_size": Json({"type": "integer", "examples": [1]}),
    "allocation_ratio": Json({"type": "number", "examples": [16.0]}),
}

RECORD: Object[InventoryRecord] = Object(
    "InventoryRecord", *(Property(name, shape) for name, shape in _RECORD.items())
)
BY_CLASS = Table(CLASS_KEY, RECORD)
INVENTORY: Object[AtGeneration[InventoryRecord]] = Object(
    "Inventory",
    GENERATION_MEMBER,
    *(Property(name, shape, attrgetter(f"value.{name}")) for name, shape in _RECORD.items()),
)
INVENTORIES: Object[AtGeneration[Mapping[str, InventoryRecord]]] = Object(
    "Inventories",
    GENERATION_MEMBER,
    Property("inventories", BY_CLASS, attrgetter("value")),
)
USAGES: Object[AtGeneration[Mapping[str, int]]] = Object(
    "ProviderUsages", GENERATION_MEMBER, Property("usages", AMOUNTS, attrgetter("value"))
)
