"""Read and write the inventories of a provider."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from sqlalchemy.engine import Connection

from placement.db.statements import provider_snapshots as statements
from placement.db.statements.provider_snapshots import ProviderSnapshot
from placement.errors import (
    InventoryExists,
    InventoryMissing,
    NoInventoryToDelete,
    ResourceClassNotFound,
    SingleInventoryInUse,
    UnknownResourceClasses,
)
from placement.inventory import InventoryRecord
from placement.objects import catalog, inventory_rows, provider_snapshot, providers
from placement.objects.inventory_change import (
    InventoryChange,
    NewInventory,
    check_capacity,
    inventory_change,
)
from placement.objects.inventory_rows import Inventory, as_stored
from placement.objects.providers import Provider
from placement.objects.tree_state import TreeChange


def read(conn: Connection, provider: Provider) -> dict[str, Inventory]:
    return inventory_rows.read(conn, [provider.id])[provider.id]


def replace(
    conn: Connection,
    uuid: str,
    generation: int,
    records: Mapping[str, InventoryRecord],
    *,
    min_capacity: int = 0,
) -> int:
    """Replace all inventories of the provider. Return its new generation.

    Args:
        generation: the generation that the client read.
        records: class -> record.
        min_capacity: minimum capacity of a record.

    Raises:
        ProviderNotFound, ProviderGenerationConflict, BadCapacity, UnknownInventoryClasses,
        InventoryInUse: the first failed check, in this order.
    """

    def decide(provider: ProviderSnapshot) -> InventoryChange:
        providers.check_generation(provider, generation)
        inventories = {provider.id: _inventories_of(provider)}
        class_ids = _class_ids(provider, records)
        return inventory_change(conn, inventories, {provider.id: records}, class_ids, min_capacity)

    return _write(conn, uuid, records, decide)


def create(
    conn: Connection,
    uuid: str,
    resource_class: str,
    record: InventoryRecord,
    *,
    min_capacity: int = 0,
) -> int:
    """Add one inventory to the provider. Return the new generation of the provider.

    Raises:
        ProviderNotFound, BadCapacity, UnknownResourceClasses, InventoryExists
    """

    def decide(provider: ProviderSnapshot) -> InventoryChange:
        check_capacity(conn, {resource_class: record}, min_capacity)
        class_ids = _class_ids(provider, [resource_class])
        if not class_ids:
            hint = catalog.hint(conn, "resource_class", [resource_class])
            raise UnknownResourceClasses([resource_class], hint=hint)
        if resource_class in _inventories_of(provider):
            raise InventoryExists(resource_class, provider.uuid)
        class_id = class_ids[resource_class]
        stored_record = as_stored(conn, record)
        inventory = NewInventory(provider.id, class_id, resource_class, stored_record)
        return InventoryChange(created=(inventory,))

    return _write(conn, uuid, [resource_class], decide)


def update(
    conn: Connection,
    uuid: str,
    resource_class: str,
    generation: int,
    record: InventoryRecord,
    *,
    min_capacity: int = 0,
) -> int:
    """Replace one inventory of the provider. Return the new generation of the provider.

    Raises:
        ProviderNotFound, ProviderGenerationConflict, BadCapacity, ResourceClassNotFound,
        InventoryMissing
    """

    def decide(provider: ProviderSnapshot) -> InventoryChange:
        providers.check_generation(provider, generation)
        check_capacity(conn, {resource_class: record}, min_capacity)
        if not _class_ids(provider, [resource_class]):
            raise ResourceClassNotFound(resource_class)
        inventory = _inventories_of(provider).get(resource_class)
        if inventory is None:
            raise InventoryMissing(resource_class, provider.uuid)
        return InventoryChange(updated={inventory.id: as_stored(conn, record)})

    return _write(conn, uuid, [resource_class], decide)


def delete_all(conn: Connection, uuid: str) -> None:
    """Delete all inventories of the provider.  Raises ProviderNotFound, InventoryInUse."""

    def decide(provider: ProviderSnapshot) -> InventoryChange:
        return InventoryChange(deleted=tuple(_inventories_of(provider).values()))

    _write(conn, uuid, (), decide, member="")


def delete(conn: Connection, uuid: str, resource_class: str) -> None:
    """Delete one inventory of the provider.

    Raises:
        ProviderNotFound, NoInventoryToDelete, SingleInventoryInUse
    """

    def decide(provider: ProviderSnapshot) -> InventoryChange:
        inventory = _inventories_of(provider).get(resource_class)
        if inventory is None:
            raise NoInventoryToDelete(resource_class, provider.uuid)
        if inventory.used:
            raise SingleInventoryInUse(resource_class, provider.uuid)
        return InventoryChange(deleted=(inventory,))

    _write(conn, uuid, (), decide)


def _inventories_of(provider: ProviderSnapshot) -> dict[str, Inventory]:
    return inventory_rows.from_lists(provider.id, provider.parts)


def _class_ids(provider: ProviderSnapshot, class_names: Collection[str]) -> dict[str, int]:
    return catalog.match(class_names, provider.entries)


def _write(
    conn: Connection,
    uuid: str,
    class_names: Collection[str],
    decide: Callable[[ProviderSnapshot], InventoryChange],
    member: str = "inventories",
) -> int:
    """Change the inventories of one provider. Return its new generation.

    Raises:
        ProviderNotFound, the errors of `decide`, InventoryInUse
    """

    def change_of(provider: ProviderSnapshot) -> TreeChange:
        change = provider_snapshot.change_of(provider)
        change.inventories.append(decide(provider))
        change.inventories[0].refuse_in_use({provider.id: provider.uuid}, member=member)
        return change

    reader = partial(statements.with_inventories, class_names=class_names)
    provider, _ = provider_snapshot.write(conn, uuid, reader, change_of)
    return provider.generation + 1
