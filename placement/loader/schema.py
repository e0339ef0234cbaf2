"""The JSON schema of a cloud file."""

from typing import Any

from placement.loader.expansion import LONGEST_NAME, MAX_PROVIDERS
from placement.loader.naming import UUID_PATTERN
from placement.yamlfile.schema import names, whole

AGGREGATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*\Z"

# Branching on the type, not "anyOf": messages then speak of the form that was written.
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
    },
    "$defs": {
        "uuid": names("a UUID", UUID_PATTERN, 36),
        "aggregate": names("an aggregate name (letters, digits, _ . : -)", AGGREGATE_PATTERN, 200),
        "provider": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {
                "name": names("a name on one line", r"^[^\x00-\x1f\x7f]*\Z", LONGEST_NAME),
                "uuid": {"$ref": "#/$defs/uuid"},
                "count": whole(1, MAX_PROVIDERS),
                "index": names("a counter (small letters)", r"^[a-z][a-z0-9_]*\Z", 20),
                "inventories": {
                    "type": "object",
                    "propertyNames": names(
                        "a resource class (capitals, digits and _)", r"^[A-Z0-9_]+\Z", 255
                    ),
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
                    "exclusiveMinimum": 0,
                    "maximum": 3.40282e38,
                },
            },
        },
    },
}
