"""Bodies of inventories (contract resources.md section 2)."""

from placement.api.json_body import Schema
from placement.api.request_schemas.common import CLASS_NAME, GENERATION, by_class, closed
from placement.api.versioned import Versioned
from placement.vocabulary import MAX_INTEGER

AMOUNT = {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}
TOTAL = {"total": AMOUNT}
OPTIONAL = {
    "reserved": {**AMOUNT, "minimum": 0},
    "min_unit": AMOUNT,
    "max_unit": AMOUNT,
    "step_size": AMOUNT,
    "allocation_ratio": {"type": "number", "minimum": 0, "maximum": 3.40282e38},
}
STATED = {"resource_provider_generation": GENERATION}

RECORD = closed(TOTAL, {**OPTIONAL, **STATED})
SET = closed(
    {
        **STATED,
        "inventories": by_class(RECORD),
    }
)

CREATE = Versioned(
    {"1.0": Schema(closed({**TOTAL, "resource_class": CLASS_NAME}, {**OPTIONAL, **STATED}))}
)
UPDATE = Versioned({"1.0": Schema(closed({**TOTAL, **STATED}, OPTIONAL))})
REPLACE = Versioned({"1.0": Schema(SET)})
