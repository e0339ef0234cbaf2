"""Bodies of resource providers."""

from placement.api import samples
from placement.api.bodies import TEXT, UUID_LIKE, closed, sample
from placement.api.json_body import Schema
from placement.api.versioned import Versioned

NAME = sample({**TEXT, "maxLength": 200}, samples.PROVIDER_NAME)
NEW_UUID = sample(UUID_LIKE, samples.PROVIDER)
PARENT = sample({**UUID_LIKE, "type": ["string", "null"]}, samples.PARENT)

NESTED = {"parent_provider_uuid": PARENT}

NEW = {"name": {**NAME, "minLength": 1}}

CREATE = Versioned(
    {
        "1.0": Schema(closed(NEW, {"uuid": NEW_UUID})),
        "1.14": Schema(closed(NEW, {"uuid": NEW_UUID, **NESTED})),
    }
)

UPDATE = Versioned(
    {"1.0": Schema(closed({"name": NAME})), "1.14": Schema(closed({"name": NAME}, NESTED))}
)
