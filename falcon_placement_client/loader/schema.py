"""The JSON schema of a cloud file."""

from typing import Any

from falcon_placement_client.loader.expansion import MAX_NAME_LENGTH, MAX_PROVIDERS
from falcon_placement_client.loader.naming import UUID_PATTERN
from falcon_placement_client.vocabulary import CUSTOM_PREFIX
from falcon_placement_client.yamlfile.schema import names, whole

AGGREGATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*\Z"


def _custom_names(noun: str) -> dict[str, Any]:
    """Return the schema of a list of names that a server can create."""
    pattern = rf"^{CUSTOM_PREFIX}[A-Z0-9_]+\Z"
    title = f"a custom {noun} ({CUSTOM_PREFIX} and capitals, digits and _)"
    return {"type": "array", "items": names(title, pattern, 255)}


# This is "if" instead of "anyOf", so that messages refer to the form in the file.
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["providers"],
    "properties": {
        "aggregates": {
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/aggregate"},
            "additionalProperties": {"$ref": "#/$defs/uuid"},
        },
        "providers": {"type": "array", "items": {"$ref": "#/$defs/provider"}},
        "consumers": {"type": "array", "items": {"$ref": "#/$defs/consumer"}},
        "resource_classes": _custom_names("resource class"),
        "traits": _custom_names("trait"),
    },
    "$defs": {
        "uuid": names("a UUID", UUID_PATTERN, 36),
        # Servers cannot store NUL. This check counts a literal brace twice, and `expansion` counts
        # it once.
        "name": names("text without NUL", r"^[^\x00]*\Z", 2 * MAX_NAME_LENGTH),
        "resource_class": names("a resource class (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
        "aggregate": names("an aggregate name (letters, digits, _ . : -)", AGGREGATE_PATTERN, 200),
        "provider": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {
                "name": {"$ref": "#/$defs/name"},
                "parent": {"$ref": "#/$defs/name"},
                "uuid": {"$ref": "#/$defs/uuid"},
                "count": whole(1, MAX_PROVIDERS),
                "index": names("a counter (small letters)", r"^[a-z][a-z0-9_]*\Z", 20),
                "inventories": {
                    "type": "object",
                    "propertyNames": {"$ref": "#/$defs/resource_class"},
                    "additionalProperties": {
                        "if": {"type": "object"},
                        "then": {"$ref": "#/$defs/inventory"},
                        "else": whole(1),
                    },
                },
                "traits": {
                    "type": "array",
                    "items": names("a trait (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
                },
                "aggregates": {"type": "array", "items": {"$ref": "#/$defs/aggregate"}},
                "children": {"type": "array", "items": {"$ref": "#/$defs/provider"}},
            },
        },
        "inventory": {
            "type": "object",
            "additionalProperties": False,
            "required": ["total"],
            "properties": {
                "total": whole(1),
                "reserved": whole(0),
                "min_unit": whole(1),
                "max_unit": whole(1),
                "step_size": whole(1),
                "allocation_ratio": {
                    "type": "number",
                    "minimum": 0,
                    "maximum": 3.40282e38,
                },
            },
        },
        "consumer": {
            "type": "object",
            "additionalProperties": False,
            "required": ["uuid", "project", "user", "allocations"],
            "properties": {
                "uuid": {"$ref": "#/$defs/uuid"},
                "project": names("text without NUL", r"^[^\x00]*\Z", 255),
                "user": names("text without NUL", r"^[^\x00]*\Z", 255),
                "type": names("a consumer type (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255),
                "allocations": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {
                        "type": "object",
                        "minProperties": 1,
                        "propertyNames": {"$ref": "#/$defs/resource_class"},
                        "additionalProperties": whole(1),
                    },
                },
                "spread_group": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "max_per_host"],
                    "properties": {
                        "name": names(
                            "a group name (letters, digits, _ . : -)", r"^[A-Za-z0-9_.:-]+\Z", 64
                        ),
                        "max_per_host": whole(1),
                    },
                },
                # The server validates the other members.
                "request": {
                    "type": "object",
                    "required": ["groups"],
                    "properties": {
                        "groups": {
                            "type": "object",
                            "additionalProperties": {
                                "type": "object",
                                "properties": {
                                    "resources": {
                                        "type": "object",
                                        "additionalProperties": whole(1),
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
