"""The body of a reshape."""

from placement.api import samples
from placement.api.bodies import by_uuid, closed
from placement.api.json_body import Schema
from placement.api.operations import inventories
from placement.api.request_schemas import allocations

INVENTORIES = {**by_uuid(inventories.NEW_INVENTORIES, samples.PROVIDER), "minProperties": 1}

RESHAPE = allocations.NEW_CONSUMER.map(
    lambda consumer: Schema(
        closed({"inventories": INVENTORIES, "allocations": by_uuid(consumer, samples.CONSUMER)})
    ),
    since="1.30",
)
