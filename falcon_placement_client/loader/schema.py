"""The JSON schema of a cloud file."""

from typing import Any

from falcon_placement_client.loader.expansion import MAX_PROVIDERS
from falcon_placement_client.provider_data import MAX_NAME
from falcon_placement_client.vocabulary import CUSTOM_PREFIX
from falcon_placement_client.yamlfile.schema import (
    RESOURCE_CLASS,
    TRAITS,
    UUID,
    closed,
    inventories,
    names,
    whole,
)

AGGREGATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*\Z"


def _custom_names(noun: str) -> dict[str, Any]:
    """Return the schema of a list of names that a server can create."""
    pattern = rf"^{CUSTOM_PREFIX}[A-Z0-9_]+\Z"
    title = f"a custom {noun} ({CUSTOM_PREFIX} and capitals, digits and _)"
    return {"type": "array", "items": names(title, pattern, 255)}


_PROVIDER = closed(
    ["name"],
    name={"$ref": "#/$defs/name"},
    parent={"$ref": "#/$defs/name"},
    uuid=UUID,
    count=whole(1, MAX_PROVIDERS),
    index=names("a counter (small letters)", r"^[a-z][a-z0-9_]*\Z", 20),
    inventories=inventories({"minimum": 0}, ["total"]),
    traits=TRAITS,
    aggregates={"type": "array", "items": {"$ref": "#/$defs/aggregate"}},
    children={"type": "array", "items": {"$ref": "#/$defs/provider"}},
)
_AMOUNTS = {"type": "object", "additionalProperties": whole(1)}
_GROUP = {"type": "object", "properties": {"resources": _AMOUNTS}}
_CONSUMER = closed(
    ["uuid", "project", "user", "allocations"],
    uuid=UUID,
    project=names("text without NUL", r"^[^\x00]*\Z", 255),
    user=names("text without NUL", r"^[^\x00]*\Z", 255),
    type=names("a consumer type (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
    allocations={
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {**_AMOUNTS, "minProperties": 1, "propertyNames": RESOURCE_CLASS},
    },
    spread_group=closed(
        ["name", "max_per_host"],
        name=names("a group name (letters, digits, _ . : -)", r"^[A-Za-z0-9_.:-]+\Z", 64),
        max_per_host=whole(1),
    ),
    # The server validates the other members.
    request={
        "type": "object",
        "required": ["groups"],
        "properties": {"groups": {"type": "object", "additionalProperties": _GROUP}},
    },
)
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "description": "a cloud file, whose key providers lists the roots, as in etc/demo-cloud.yaml",
    **closed(
        ["providers"],
        aggregates={
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/aggregate"},
            "additionalProperties": UUID,
        },
        providers={"type": "array", "items": {"$ref": "#/$defs/provider"}},
        consumers={"type": "array", "items": {"$ref": "#/$defs/consumer"}},
        resource_classes=_custom_names("resource class"),
        traits=_custom_names("trait"),
    ),
    "$defs": {
        # Servers cannot store NUL. This check counts a literal brace twice, and `expansion` counts
        # it once.
        "name": names("text without NUL", r"^[^\x00]*\Z", 2 * MAX_NAME),
        "aggregate": names("an aggregate name (letters, digits, _ . : -)", AGGREGATE_PATTERN, 200),
        "provider": _PROVIDER,
        "consumer": _CONSUMER,
    },
}
