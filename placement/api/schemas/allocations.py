"""Bodies of allocations (contract allocations.md sections 3 and 4)."""

from placement.api.body import Schema
from placement.api.schemas.common import (
    CLASS_NAME,
    END,
    GENERATION,
    OWNER,
    UUID_KEY,
    UUID_LIKE,
    closed,
)
from placement.api.versioned import Versioned

RESOURCES = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {f"^[A-Z0-9_]+{END}": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}

BY_PROVIDER = {
    "type": "object",
    "patternProperties": {UUID_KEY: closed({"resources": RESOURCES}, {"generation": GENERATION})},
    "additionalProperties": False,
}

# Accepted because candidates carry them; their content has no effect.
MAPPINGS = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID_LIKE}
    },
}

CONSUMER = closed(
    {
        "allocations": BY_PROVIDER,
        "project_id": OWNER,
        "user_id": OWNER,
        "consumer_generation": {"type": ["integer", "null"]},
        "consumer_type": CLASS_NAME,
    },
    {"mappings": MAPPINGS},
)

BY_CONSUMER = {
    "type": "object",
    "patternProperties": {UUID_KEY: CONSUMER},
    "additionalProperties": False,
}

REPLACE = Versioned({"1.38": Schema(CONSUMER)})
MANAGE = Versioned({"1.38": Schema({**BY_CONSUMER, "minProperties": 1})})
