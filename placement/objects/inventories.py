"""Inventories of a provider: reading and writing them."""

import math
from collections.abc import Collection, Mapping

from sqlalchemy.engine import Connection

from placement.errors import (
    BadCapacity,
    InventoryExists,
    InventoryMissing,
    InventoryNotFound,
    NoInventoryToDelete,
    ResourceClassNotFound,
    SingleInventoryInUse,
    UnknownResourceClasses,
)
from placement.objects import inventory_rows, locking, providers
from placement.objects.inventory_change import InventoryChange, NewInventory, inventory_change
from placement.objects.inventory_rows import Inventory, Record, as_stored
from placement.objects.locking import LockedProvider
from placement.objects.providers import Provider

# -- reading --------------------------------------------------------------------------------


def of_provider(conn: Connection, uuid: str) -> tuple[Provider, dict[str, Inventory]]:
    """Return a provider and its inventories by class.  Raises ProviderNotFound."""
    provider = providers.get(conn, uuid)
    return provider, _read(conn, provider.id)


def get(conn: Connection, uuid: str, resource_class: str) -> tuple[Provider, Inventory]:
    """Return one inventory.  Raises ProviderNotFound, InventoryNotFound."""
    provider, inventories = of_provider(conn, uuid)
    if resource_class not in inventories:
        raise InventoryNotFound(resource_class, provider.uuid)
    return provider, inventories[resource_class]


def usages(conn: Connection, uuid: str) -> tuple[Provider, Mapping[str, int]]:
    """Return a provider and class -> what is used of it.  Raises ProviderNotFound."""
    provider, inventories = of_provider(conn, uuid)
    return provider, {name: inventory.used for name, inventory in inventories.items()}


def _read(conn: Connection, provider_id: int) -> dict[str, Inventory]:
    """Return the inventories of one provider by class."""
    return inventory_rows.read(conn, [provider_id])[provider_id]


# -- writing --------------------------------------------------------------------------------


def replace(
    conn: Connection,
    uuid: str,
    generation: int,
    records: Mapping[str, Record],
    *,
    least_capacity: int = 0,
) -> int:
    """Replace all inventories of the provider; return its new generation.

    least_capacity: the smallest that a record may have. Raises, in this order: ProviderNotFound,
    ProviderGenerationConflict, BadCapacity, UnknownInventoryClasses, InventoryInUse.
    """
    provider, class_ids = _lock(conn, uuid, records)
    providers.check_generation(provider, generation)
    check_capacity(records, least_capacity)
    inventories = {provider.id: _read(conn, provider.id)}
    change = inventory_change(conn, inventories, {provider.id: records}, class_ids)
    return _write(conn, provider, change)


def create(
    conn: Connection,
    uuid: str,
    resource_class: str,
    record: Record,
    *,
    least_capacity: int = 0,
) -> int:
    """Add one inventory to the provider; return its new generation.

    Raises ProviderNotFound, BadCapacity, UnknownResourceClasses, InventoryExists.
    """
    provider, class_ids = _lock(conn, uuid, [resource_class])
    check_capacity({resource_class: record}, least_capacity)
    if not class_ids:
        raise UnknownResourceClasses([resource_class])
    if resource_class in _read(conn, provider.id):
        raise InventoryExists(resource_class, provider.uuid)
    class_id = class_ids[resource_class]
    inventory = NewInventory(provider.id, class_id, resource_class, as_stored(conn, record))
    return _write(conn, provider, InventoryChange(created=(inventory,)))


def update(
    conn: Connection,
    uuid: str,
    resource_class: str,
    generation: int,
    record: Record,
    *,
    least_capacity: int = 0,
) -> int:
    """Replace one inventory of the provider; return its new generation.

    Raises ProviderNotFound, ProviderGenerationConflict, BadCapacity, ResourceClassNotFound,
    InventoryMissing.
    """
    provider, class_ids = _lock(conn, uuid, [resource_class])
    providers.check_generation(provider, generation)
    check_capacity({resource_class: record}, least_capacity)
    if not class_ids:
        raise ResourceClassNotFound(resource_class)
    inventory = _read(conn, provider.id).get(resource_class)
    if inventory is None:
        raise InventoryMissing(resource_class, provider.uuid)
    change = InventoryChange(updated={inventory.id: as_stored(conn, record)})
    return _write(conn, provider, change)


def delete_all(conn: Connection, uuid: str) -> None:
    """Delete all inventories of the provider.  Raises ProviderNotFound, InventoryInUse."""
    provider, _ids = locking.lock_provider(conn, uuid)
    inventories = _read(conn, provider.id)
    _write(conn, provider, InventoryChange(deleted=tuple(inventories.values())))


def delete(conn: Connection, uuid: str, resource_class: str) -> None:
    """Delete one inventory of the provider.

    Raises ProviderNotFound, NoInventoryToDelete, SingleInventoryInUse.
    """
    provider, _ids = locking.lock_provider(conn, uuid)
    inventory = _read(conn, provider.id).get(resource_class)
    if inventory is None:
        raise NoInventoryToDelete(resource_class, provider.uuid)
    if inventory.used:
        raise SingleInventoryInUse(resource_class, provider.uuid)
    _write(conn, provider, InventoryChange(deleted=(inventory,)))


def _lock(
    conn: Connection, uuid: str, class_names: Collection[str]
) -> tuple[LockedProvider, Mapping[str, int]]:
    """Lock the provider's tree; return the provider, and the ids of those classes that exist."""
    provider, ids = locking.lock_provider(conn, uuid, {"resource_class": class_names})
    return provider, ids["resource_class"]


def _write(conn: Connection, provider: LockedProvider, change: InventoryChange) -> int:
    """Change the inventories of one provider; return its new generation."""
    change.refuse_in_use({provider.id: provider.uuid})
    change.insert_and_update(conn)
    change.delete(conn)
    providers.bump_generations(conn, {provider.id: 1})
    return provider.generation + 1


def check_capacity(records: Mapping[str, Record], least_capacity: int = 0) -> None:
    """Raise BadCapacity for a record whose capacity, cut to an integer, is too small."""
    for name, record in records.items():
        capacity = math.trunc((record.total - record.reserved) * record.allocation_ratio)
        if capacity < least_capacity:
            raise BadCapacity(name, record.total, record.reserved, capacity, least_capacity)
