"""The body of a reshape."""

from placement.api import samples
from placement.api.json_body import Schema
from placement.api.request_schemas import allocations, inventories
from placement.api.request_schemas.common import by_uuid, closed

INVENTORIES = {**by_uuid(inventories.SET, samples.PROVIDER), "minProperties": 1}

RESHAPE = allocations.CONSUMER.map(
    lambda consumer: Schema(
        closed({"inventories": INVENTORIES, "allocations": by_uuid(consumer, samples.CONSUMER)})
    ),
    since="1.30",
)
