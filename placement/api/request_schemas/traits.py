"""Bodies of provider traits."""

from placement.api import samples
from placement.api.bodies import GENERATION, MAX_ITEMS, TEXT, closed, sample
from placement.api.json_body import Schema
from placement.api.versioned import Versioned

NEW_NAMES = {
    "type": "array",
    "maxItems": MAX_ITEMS,
    "items": sample({**TEXT, "minLength": 1, "maxLength": 255}, samples.TRAIT),
}

REPLACE = Versioned(
    {"1.6": Schema(closed({"traits": NEW_NAMES, "resource_provider_generation": GENERATION}))}
)
