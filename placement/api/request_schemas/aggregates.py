"""Bodies of provider aggregates."""

from placement.api import samples
from placement.api.bodies import GENERATION, MAX_ITEMS, UUID_LIKE, closed, sample
from placement.api.json_body import Schema
from placement.api.versioned import Versioned

NEW_UUIDS = {
    "type": "array",
    "items": sample(UUID_LIKE, samples.AGGREGATE),
    "uniqueItems": True,
    "maxItems": MAX_ITEMS,
}

REPLACE = Versioned(
    {
        "1.1": Schema(NEW_UUIDS),
        "1.19": Schema(
            closed({"aggregates": NEW_UUIDS, "resource_provider_generation": GENERATION})
        ),
    }
)
