"""Body of the reshaper (contract reshaper.md section 1)."""

from placement.api.json_body import Schema
from placement.api.request_schemas import allocations, inventories
from placement.api.request_schemas.common import by_uuid, closed

INVENTORIES = {**by_uuid(inventories.SET), "minProperties": 1}

RESHAPE = allocations.CONSUMER.map(
    lambda consumer: Schema(closed({"inventories": INVENTORIES, "allocations": by_uuid(consumer)})),
    since="1.30",
)
