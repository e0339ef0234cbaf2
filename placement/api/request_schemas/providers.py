"""Bodies of resource providers (contract resources.md sections 1.2 and 1.4)."""

from placement.api.json_body import Schema
from placement.api.request_schemas.common import TEXT, UUID_LIKE, closed
from placement.api.versioned import Versioned

NAME = {**TEXT, "maxLength": 200}
PARENT = {**UUID_LIKE, "type": ["string", "null"]}

NESTED = {"parent_provider_uuid": PARENT}

NEW = {"name": {**NAME, "minLength": 1}}

CREATE = Versioned(
    {
        "1.0": Schema(closed(NEW, {"uuid": UUID_LIKE})),
        "1.14": Schema(closed(NEW, {"uuid": UUID_LIKE, **NESTED})),
    }
)

UPDATE = Versioned(
    {"1.0": Schema(closed({"name": NAME})), "1.14": Schema(closed({"name": NAME}, NESTED))}
)
