"""Bodies of resource providers (contract resources.md sections 1.2 and 1.4)."""

from placement.api.body import Schema
from placement.api.schemas.common import TEXT, UUID_LIKE, closed
from placement.api.versioned import Versioned

NAME = {**TEXT, "maxLength": 200}
PARENT = {"anyOf": [UUID_LIKE, {"type": "null"}]}

CREATE = Versioned(
    {
        "1.14": Schema(
            closed(
                {"name": {**NAME, "minLength": 1}},
                {"uuid": UUID_LIKE, "parent_provider_uuid": PARENT},
            )
        )
    }
)

UPDATE = Versioned({"1.14": Schema(closed({"name": NAME}, {"parent_provider_uuid": PARENT}))})
