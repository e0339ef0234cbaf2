"""Bodies of provider traits (contract resources.md section 4.1)."""

from placement.api.json_body import Schema
from placement.api.request_schemas.common import GENERATION, MOST, TEXT, closed
from placement.api.versioned import Versioned

REPLACE = Versioned(
    {
        "1.6": Schema(
            closed(
                {
                    "traits": {
                        "type": "array",
                        "maxItems": MOST,
                        "items": {**TEXT, "minLength": 1, "maxLength": 255},
                    },
                    "resource_provider_generation": GENERATION,
                }
            )
        )
    }
)
