"""Bodies of provider aggregates (contract resources.md section 5)."""

from placement.api.json_body import Schema
from placement.api.request_schemas.common import GENERATION, MOST, UUID_LIKE, closed
from placement.api.versioned import Versioned

UUIDS = {"type": "array", "items": UUID_LIKE, "uniqueItems": True, "maxItems": MOST}

REPLACE = Versioned(
    {
        "1.1": Schema(UUIDS),
        "1.19": Schema(closed({"aggregates": UUIDS, "resource_provider_generation": GENERATION})),
    }
)
