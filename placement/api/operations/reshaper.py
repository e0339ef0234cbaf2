"""`/reshaper`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from placement.api import samples
from placement.api.bodies import Schema, by_uuid, check_uuids, closed
from placement.api.handler import Call, Reply
from placement.api.operations import inventories
from placement.api.operations.allocations import NEW_CONSUMER, read_claims
from placement.api.operations.inventories import read_records
from placement.objects import holds
from placement.objects import reshape as reshaper
from placement.objects.reshape import ProviderInventories, ReshapeCommand

INVENTORIES = {**by_uuid(inventories.NEW_INVENTORIES, samples.PROVIDER), "minProperties": 1}

RESHAPE = NEW_CONSUMER.map(
    lambda consumer: Schema(
        closed({"inventories": INVENTORIES, "allocations": by_uuid(consumer, samples.CONSUMER)})
    ),
    since="1.30",
)


def read_command(body: Mapping[str, Any]) -> ReshapeCommand:
    """Return the inventories and claims that are replaced together.  Raises BadBody."""
    check_uuids(body["inventories"], "inventories")
    inventories = {
        provider: ProviderInventories(
            int(member["resource_provider_generation"]), read_records(member)
        )
        for provider, member in body["inventories"].items()
    }
    return ReshapeCommand(inventories, read_claims(body["allocations"], "allocations"))


def reshape(call: Call) -> Reply:
    """Replace inventories of providers and allocations of consumers together.

    Services use this operation to move inventories to other providers of a tree while they are in
    use. All changes are made in one transaction.
    """
    traits = call.service.settings.candidates.traits
    work = partial(reshaper.reshape, command=read_command(call.body), special_traits=traits)
    holds.retry_with_room(call.service.database, lambda primary: primary.write(work))
    return Reply(204)
