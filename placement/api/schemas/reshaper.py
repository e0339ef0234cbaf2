"""Body of the reshaper (contract reshaper.md section 1)."""

from placement.api.body import Schema
from placement.api.schemas import allocations, inventories
from placement.api.schemas.common import UUID_KEY, closed

INVENTORIES = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {UUID_KEY: inventories.SET},
    "additionalProperties": False,
}

RESHAPE = allocations.CONSUMER.map(
    lambda consumer: Schema(
        closed({"inventories": INVENTORIES, "allocations": allocations.by_consumer(consumer)})
    ),
    since="1.30",
)
