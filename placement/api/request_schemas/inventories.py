"""Bodies of inventories."""

from placement.api.bodies import CLASS_NAME, GENERATION, by_class, closed, sample
from placement.api.json_body import Schema
from placement.api.versioned import Versioned
from placement.vocabulary import MAX_INTEGER

AMOUNT = {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}
TOTAL = {"total": sample(AMOUNT, 64)}
OPTIONAL = {
    "reserved": sample({**AMOUNT, "minimum": 0}, 0),
    "min_unit": sample(AMOUNT, 1),
    "max_unit": sample(AMOUNT, 64),
    "step_size": sample(AMOUNT, 1),
    "allocation_ratio": sample({"type": "number", "minimum": 0, "maximum": 3.40282e38}, 16.0),
}
STATED = {"resource_provider_generation": GENERATION}

NEW_RECORD = closed(TOTAL, {**OPTIONAL, **STATED}, "NewInventory")
NEW_INVENTORIES = closed({**STATED, "inventories": by_class(NEW_RECORD)}, title="NewInventories")

CREATE = Versioned(
    {"1.0": Schema(closed({**TOTAL, "resource_class": CLASS_NAME}, {**OPTIONAL, **STATED}))}
)
UPDATE = Versioned({"1.0": Schema(closed({**TOTAL, **STATED}, OPTIONAL))})
REPLACE = Versioned({"1.0": Schema(NEW_INVENTORIES)})
