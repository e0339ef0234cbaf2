"""Whole trees of providers as clients see them."""

from collections.abc import Mapping, Sequence
from typing import Any

from placement.api import samples
from placement.api.members import CHANGING, UUID_KEY
from placement.api.operations.inventories import BY_CLASS
from placement.api.shapes import Array, Json, Object, Property, Shape, Table, ready
from placement.objects.provider_parts import Part
from placement.objects.provider_trees import ProviderOutcome, ProviderTree, TreeOutcome

_UUID = Json({"type": "string", "format": "uuid", "examples": [samples.PROVIDER]})
_PARENT = Json({"type": ["string", "null"], "format": "uuid", "examples": [samples.PARENT]})
_GENERATION = Json({"type": "integer", "examples": [6]})
_PROPERTIES: Mapping[str, Shape] = {
    "uuid": _UUID,
    "name": Json({"type": "string", "examples": [samples.PROVIDER_NAME]}),
    "parent_provider_uuid": _PARENT,
    "generation": _GENERATION,
    "inventories": ready(BY_CLASS),
    "traits": Json({"type": "array", "items": {"type": "string", "examples": [samples.TRAIT]}}),
    "aggregates": Json(
        {"type": "array", "items": {"type": "string", "examples": [samples.AGGREGATE]}}
    ),
}


def _rows(tree: ProviderTree) -> Sequence[Mapping[str, Any]]:
    return [
        {
            "uuid": member.uuid,
            "name": member.name,
            "parent_provider_uuid": member.parent_uuid,
            "generation": member.generation,
            "inventories": tree.parts[Part.INVENTORIES][member.id],
            "traits": tree.parts[Part.TRAITS][member.id],
            "aggregates": tree.parts[Part.AGGREGATES][member.id],
        }
        for member in tree.members
    ]


_PROVIDER: Object[Mapping[str, Any]] = Object(
    "TreeMember", *(Property(name, shape) for name, shape in _PROPERTIES.items())
)


TREE: Object[ProviderTree] = Object(
    "ProviderTree",
    Property("providers", ready(Array(_PROVIDER)), _rows),
    Property("changing", CHANGING, lambda tree: tree.changing or None),
    optional=["changing"],
)
_OUTCOME: Object[ProviderOutcome] = Object(
    "TreeChange",
    Property("generation", _GENERATION),
    Property(
        "change",
        Json(
            {"type": "string", "enum": ["created", "updated", "unchanged"], "examples": ["updated"]}
        ),
    ),
)
WRITTEN: Object[TreeOutcome] = Object(
    "WrittenTree",
    Property("providers", Table(UUID_KEY, _OUTCOME)),
    Property("deleted", Array(_UUID)),
)
