"""Body of the reshaper (contract reshaper.md section 1)."""

from placement.api.body import Schema
from placement.api.schemas import allocations, inventories
from placement.api.schemas.common import UUID_KEY, closed
from placement.api.versioned import Versioned

INVENTORIES = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {UUID_KEY: inventories.SET},
    "additionalProperties": False,
}

RESHAPE = Versioned(
    {"1.38": Schema(closed({"inventories": INVENTORIES, "allocations": allocations.BY_CONSUMER}))}
)
