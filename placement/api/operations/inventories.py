"""Inventories of a provider and their usages."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from placement.api import tags
from placement.api.bodies import CLASS_NAME, GENERATION, Schema, by_class, closed, sample
from placement.api.handler import NOW, Call, Reply, newest
from placement.api.history import Feature, Versioned
from placement.api.members import AMOUNTS, CLASS_KEY, GENERATION_MEMBER, AtGeneration
from placement.api.shapes import Json, Object, Property, Table
from placement.errors import InventoryNotFound
from placement.inventory import InventoryRecord
from placement.objects import inventories
from placement.vocabulary import INVENTORY_AMOUNTS, MAX_INTEGER

AMOUNT = {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}
TOTAL = {"total": sample(AMOUNT, 64)}
OPTIONAL = {
    "reserved": sample({**AMOUNT, "minimum": 0, "default": 0}, 0),
    "min_unit": sample({**AMOUNT, "default": 1}, 1),
    "max_unit": sample({**AMOUNT, "default": MAX_INTEGER}, 64),
    "step_size": sample({**AMOUNT, "default": 1}, 1),
    "allocation_ratio": sample(
        {"type": "number", "minimum": 0, "maximum": 3.40282e38, "default": 1.0}, 16.0
    ),
}
STATED = {"resource_provider_generation": GENERATION}

NEW_RECORD = closed(TOTAL, {**OPTIONAL, **STATED}, "NewInventory")
NEW_INVENTORIES = closed({**STATED, "inventories": by_class(NEW_RECORD)}, title="NewInventories")

CREATE = Versioned(
    {"1.0": Schema(closed({**TOTAL, "resource_class": CLASS_NAME}, {**OPTIONAL, **STATED}))}
)
UPDATE = Versioned({"1.0": Schema(closed({**TOTAL, **STATED}, OPTIONAL))})
REPLACE = Versioned({"1.0": Schema(NEW_INVENTORIES)})

_RECORD = {
    name: Json.of(schema["type"], schema["examples"][0])
    for name, schema in {**TOTAL, **OPTIONAL}.items()
}

RECORD: Object[InventoryRecord] = Object(
    "InventoryRecord", *(Property(name, shape) for name, shape in _RECORD.items())
)
BY_CLASS = Table(CLASS_KEY, RECORD)
INVENTORY: Object[AtGeneration[InventoryRecord]] = Object(
    "Inventory",
    GENERATION_MEMBER,
    *(Property(name, shape, attrgetter(f"value.{name}")) for name, shape in _RECORD.items()),
)
INVENTORIES: Object[AtGeneration[Mapping[str, InventoryRecord]]] = Object(
    "Inventories", GENERATION_MEMBER, Property("inventories", BY_CLASS, attrgetter("value"))
)
USAGES: Object[AtGeneration[Mapping[str, int]]] = Object(
    "ProviderUsages", GENERATION_MEMBER, Property("usages", AMOUNTS, attrgetter("value"))
)

# A capacity of 0 is allowed: all units are reserved.
MIN_CAPACITY = Versioned({"1.0": 1, Feature.ALL_RESERVED.value: 0})


def read_record(body: Mapping[str, Any]) -> InventoryRecord:
    """Return an inventory record. Missing members get their defaults."""
    # 5.0 and 5 are the same number in JSON.
    amounts = {name: int(body[name]) for name in INVENTORY_AMOUNTS if name in body}
    return InventoryRecord(**amounts, allocation_ratio=float(body.get("allocation_ratio", 1.0)))


def read_records(body: Mapping[str, Any]) -> dict[str, InventoryRecord]:
    """Return the inventories of a provider, by class."""
    return {name: read_record(inventory) for name, inventory in body["inventories"].items()}


def list_inventories(call: Call) -> Reply:
    """List the inventories of a provider, by resource class."""
    provider, rows, tag = tags.read_provider(call, inventories.read)
    records = {name: row.record for name, row in rows.items()}
    changed_at = newest([row.changed_at for row in rows.values()])
    content = AtGeneration(provider.generation, records)
    return Reply(200, content, changed_at=changed_at, tag=tag)


def show_inventory(call: Call) -> Reply:
    """Show a provider's inventory of one resource class."""
    name = call.path["resource_class"]
    provider, rows, tag = tags.read_provider(call, inventories.read)
    if name not in rows:
        raise InventoryNotFound(name, provider.uuid)
    row = rows[name]
    inventory = AtGeneration(provider.generation, row.record)
    return Reply(200, inventory, changed_at=row.changed_at or NOW, tag=tag)


def create_inventory(call: Call) -> Reply:
    """Create an inventory of a resource class that the provider does not have yet.

    A generation in the body is ignored.
    """
    record, name = read_record(call.body), call.body["resource_class"]
    generation = call.write(
        inventories.create,
        uuid=call.path["uuid"],
        resource_class=name,
        record=record,
        min_capacity=MIN_CAPACITY.at(call.version),
    )
    return Reply(
        201,
        AtGeneration(generation, record),
        location=f"/resource_providers/{call.path['uuid']}/inventories/{name}",
        changed_at=NOW,
    )


def replace_inventories(call: Call) -> Reply:
    """Replace all inventories of a provider."""
    records = read_records(call.body)
    generation = call.write(
        inventories.replace,
        uuid=call.path["uuid"],
        generation=call.body["resource_provider_generation"],
        records=records,
        min_capacity=MIN_CAPACITY.at(call.version),
    )
    return Reply(200, AtGeneration(generation, records), changed_at=NOW)


def update_inventory(call: Call) -> Reply:
    """Update a provider's inventory of one resource class."""
    record = read_record(call.body)
    generation = call.write(
        inventories.update,
        uuid=call.path["uuid"],
        resource_class=call.path["resource_class"],
        generation=call.body["resource_provider_generation"],
        record=record,
        min_capacity=MIN_CAPACITY.at(call.version),
    )
    return Reply(200, AtGeneration(generation, record), changed_at=NOW)


def delete_inventories(call: Call) -> Reply:
    """Delete all inventories of a provider, none of which may be in use."""
    call.write(inventories.delete_all, uuid=call.path["uuid"])
    return Reply(204)


def delete_inventory(call: Call) -> Reply:
    """Delete a provider's inventory of one resource class, which may not be in use."""
    call.write(
        inventories.delete, uuid=call.path["uuid"], resource_class=call.path["resource_class"]
    )
    return Reply(204)


def show_provider_usages(call: Call) -> Reply:
    """Show the usage of each inventory of a provider."""
    provider, rows, tag = tags.read_provider(call, inventories.read)
    used = {name: row.used for name, row in rows.items()}
    content = AtGeneration(provider.generation, used)
    return Reply(200, content, changed_at=NOW, tag=tag)
