"""Inventories of a provider and their usages (contract resources.md sections 2 and 6.1)."""

from functools import partial

from placement.api import commands
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature
from placement.api.render import inventories as render
from placement.api.versioned import Versioned
from placement.objects import inventories

# A capacity of nothing is an inventory that is all reserved.
LEAST_CAPACITY = Versioned({"1.0": 1, Feature.ALL_RESERVED.value: 0})


def list_inventories(call: Call) -> Reply:
    """All inventories of a provider."""
    with call.service.database.read() as conn:
        provider, found = inventories.of_provider(conn, call.path["uuid"])
    records = {name: row.record for name, row in found.items()}
    changed_at = newest([row.changed_at for row in found.values()])
    return Reply(200, render.many(records, provider.generation), changed_at=changed_at)


def show(call: Call) -> Reply:
    """One inventory."""
    with call.service.database.read() as conn:
        provider, row = inventories.get(conn, call.path["uuid"], call.path["resource_class"])
    body = render.one(row.record, provider.generation)
    return Reply(200, body, changed_at=row.changed_at or NOW)


def create(call: Call) -> Reply:
    """One more inventory; a stated generation is not looked at."""
    record, name = commands.record(call.body), call.body["resource_class"]
    generation = call.service.database.write(
        partial(
            inventories.create,
            uuid=call.path["uuid"],
            resource_class=name,
            record=record,
            least_capacity=LEAST_CAPACITY.at(call.version),
        )
    )
    return Reply(
        201,
        render.one(record, generation),
        location=f"/resource_providers/{call.path['uuid']}/inventories/{name}",
        changed_at=NOW,
    )


def replace(call: Call) -> Reply:
    """The whole set of a provider."""
    records = commands.records(call.body)
    generation = call.service.database.write(
        partial(
            inventories.replace,
            uuid=call.path["uuid"],
            generation=call.body["resource_provider_generation"],
            records=records,
            least_capacity=LEAST_CAPACITY.at(call.version),
        )
    )
    return Reply(200, render.many(records, generation), changed_at=NOW)


def update(call: Call) -> Reply:
    """One inventory that is there already."""
    record = commands.record(call.body)
    generation = call.service.database.write(
        partial(
            inventories.update,
            uuid=call.path["uuid"],
            resource_class=call.path["resource_class"],
            generation=call.body["resource_provider_generation"],
            record=record,
            least_capacity=LEAST_CAPACITY.at(call.version),
        )
    )
    return Reply(200, render.one(record, generation), changed_at=NOW)


def delete_all(call: Call) -> Reply:
    """The whole set goes."""
    call.service.database.write(partial(inventories.delete_all, uuid=call.path["uuid"]))
    return Reply(204)


def delete(call: Call) -> Reply:
    """One inventory goes."""
    call.service.database.write(
        partial(
            inventories.delete,
            uuid=call.path["uuid"],
            resource_class=call.path["resource_class"],
        )
    )
    return Reply(204)


def usages(call: Call) -> Reply:
    """What is used of each inventory."""
    with call.service.database.read() as conn:
        provider, used = inventories.usages(conn, call.path["uuid"])
    body = {"resource_provider_generation": provider.generation, "usages": used}
    return Reply(200, body, changed_at=NOW)
