"""Bodies of allocations (contract allocations.md sections 3 and 4)."""

from placement.api.json_body import Schema
from placement.api.request_schemas.common import (
    CLASS_NAME,
    GENERATION,
    MOST,
    OWNER,
    UUID_LIKE,
    by_class,
    by_uuid,
    closed,
)
from placement.api.versioned import Versioned

RESOURCES = {**by_class({"type": "integer", "minimum": 1}), "minProperties": 1}

BY_PROVIDER = {
    **by_uuid(closed({"resources": RESOURCES}, {"generation": GENERATION})),
    "maxProperties": MOST,
}

# Accepted because candidates carry them; their content has no effect.
MAPPINGS = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]{1,64}": {"type": "array", "minItems": 1, "items": UUID_LIKE}
    },
}

LIST = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST,
    "items": closed({"resource_provider": closed({"uuid": UUID_LIKE}), "resources": RESOURCES}),
}

# What each version added to what a consumer says of itself.
OWNED = {"project_id": OWNER, "user_id": OWNER}
GUARDED = {**OWNED, "consumer_generation": {"type": ["integer", "null"]}}
TYPED = {**GUARDED, "consumer_type": CLASS_NAME}
MAPPED = {"mappings": MAPPINGS}

CONSUMER = Versioned(
    {
        "1.13": closed({"allocations": BY_PROVIDER, **OWNED}),
        "1.28": closed({"allocations": BY_PROVIDER, **GUARDED}),
        "1.34": closed({"allocations": BY_PROVIDER, **GUARDED}, MAPPED),
        "1.38": closed({"allocations": BY_PROVIDER, **TYPED}, MAPPED),
    }
)


REPLACE = Versioned(
    {
        "1.0": Schema(closed({"allocations": LIST})),
        "1.8": Schema(closed({"allocations": LIST, **OWNED})),
        "1.12": Schema(closed({"allocations": {**BY_PROVIDER, "minProperties": 1}, **OWNED})),
        **CONSUMER.map(Schema, since="1.28").table,
    }
)
MANAGE = CONSUMER.map(lambda consumer: Schema({**by_uuid(consumer), "minProperties": 1}))
