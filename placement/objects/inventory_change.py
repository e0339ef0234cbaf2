"""Changes of inventories: the rows that a write inserts, updates and deletes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Self

from sqlalchemy.engine import Connection

from placement.db.statements import inventories as statements
from placement.errors import BadCapacity, InventoryInUse, UnknownInventoryClasses
from placement.inventory import InventoryRecord, Stock
from placement.objects import catalog
from placement.objects.inventory_rows import Inventory, InventoryKey, as_stored, columns, read

Inventories = Mapping[int, Mapping[str, Inventory]]  # provider id -> class -> inventory
NO_DELTAS: Mapping[InventoryKey, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewInventory:
    """An inventory that a write inserts."""

    provider_id: int
    class_id: int
    class_name: str
    record: InventoryRecord

    @property
    def key(self) -> InventoryKey:
        return (self.provider_id, self.class_id)

    def columns(self) -> dict[str, int | float]:
        keys = {"resource_provider_id": self.provider_id, "resource_class_id": self.class_id}
        return {**keys, **columns(self.record)}


@dataclass(frozen=True, slots=True)
class InventoryChange:
    """The inventories that a write inserts, updates and deletes."""

    created: tuple[NewInventory, ...] = ()
    # Inventory id -> new record.
    updated: Mapping[int, InventoryRecord] = field(default_factory=dict)
    deleted: tuple[Inventory, ...] = ()

    @classmethod
    def union(cls, changes: Iterable[Self]) -> Self:
        """Return the change that makes several changes of different providers."""
        created: list[NewInventory] = []
        updated: dict[int, InventoryRecord] = {}
        deleted: list[Inventory] = []
        for change in changes:
            created += change.created
            updated |= change.updated
            deleted += change.deleted
        return cls(tuple(created), updated, tuple(deleted))

    def insert_and_update(self, conn: Connection, *, are_new: bool = False) -> None:
        """Insert and update rows. Raise Restart if a class no longer exists.

        `are_new` means that this transaction has created the providers, so that they have no
        allocations.
        """
        # A custom class may have been deleted or renamed after its id was read.
        class_names: dict[int, str] = {}
        new_rows: list[dict[str, int | float]] = []
        for row in self.created:
            class_names[row.class_id] = row.class_name
            new_rows.append(row.columns())
        catalog.lock_classes(conn, class_names)
        create = statements.create_unused if are_new else statements.create
        create(new_rows).execute(conn)
        changed_rows = {row_id: columns(record) for row_id, record in self.updated.items()}
        statements.update(changed_rows).execute(conn)

    def delete(self, conn: Connection) -> None:
        """Delete rows. Raise Unmatched if an inventory has allocations."""
        statements.delete_unused([row.id for row in self.deleted]).execute(conn)

    def created_ids(self, conn: Connection) -> dict[InventoryKey, int]:
        if not self.created:
            return {}
        inventories = read(conn, {row.provider_id for row in self.created})
        return {row.key: inventories[row.provider_id][row.class_name].id for row in self.created}

    def stocks(self, inventories: Inventories) -> dict[InventoryKey, Stock]:
        """Return the stocks between `insert_and_update` and `delete`, with the usage as read."""
        stocks = {row.key: row.record.stock(0) for row in self.created}
        for by_class in inventories.values():
            for row in by_class.values():
                stocks[row.key] = self.updated.get(row.id, row.record).stock(row.used)
        return stocks

    def refuse_in_use(
        self,
        provider_uuids: Mapping[int, str],
        deltas: Mapping[InventoryKey, int] = NO_DELTAS,
        member: str = "inventories",
    ) -> None:
        """Raise InventoryInUse for the first provider that would lose an inventory in use.

        The error contains all such classes of the provider.

        Args:
            provider_uuids: id -> uuid, in the order of the request.
            deltas: changes of `used` before the inventories are deleted.
            member: path of the member without these inventories, where {} is the UUID, or empty.
        """
        in_use = [row for row in self.deleted if row.used + deltas.get(row.key, 0)]
        provider_ids = {row.provider_id for row in in_use}
        for provider_id, uuid in provider_uuids.items():
            if provider_id in provider_ids:
                names = [row.class_name for row in in_use if row.provider_id == provider_id]
                raise InventoryInUse(names, uuid, member.format(uuid))


def inventory_change(
    conn: Connection,
    inventories: Inventories,
    records: Mapping[int, Mapping[str, InventoryRecord]],
    class_ids: Mapping[str, int],
    min_capacity: int = 0,
) -> InventoryChange:
    """Compare the existing inventories with the requested records, by provider id and class.

    Raises:
        BadCapacity: the capacity of a record is less than `min_capacity`.
        UnknownInventoryClasses: a class of the records does not exist.
    """
    for records_by_class in records.values():
        check_capacity(conn, records_by_class, min_capacity)
    _refuse_unknown_classes(conn, records.values(), class_ids)
    created: list[NewInventory] = []
    updated: dict[int, InventoryRecord] = {}
    deleted: list[Inventory] = []
    for provider_id, records_by_class in records.items():
        rows = inventories[provider_id]
        for name, record in records_by_class.items():
            # Ratios are rounded like in the database. Otherwise, every write would count as a
            # change.
            stored_record = as_stored(conn, record)
            if name not in rows:
                created.append(NewInventory(provider_id, class_ids[name], name, stored_record))
            elif rows[name].record != stored_record:
                updated[rows[name].id] = stored_record
        deleted += [row for name, row in rows.items() if name not in records_by_class]
    return InventoryChange(tuple(created), updated, tuple(deleted))


def check_capacity(
    conn: Connection, records: Mapping[str, InventoryRecord], min_capacity: int = 0
) -> None:
    """Raise BadCapacity if the capacity of a record is too small.

    Every write of inventories calls this function. The database may round the ratio, so the stored
    capacity is checked as well.
    """
    for name, record in records.items():
        capacity = min(record.capacity, as_stored(conn, record).capacity)
        if capacity < min_capacity:
            raise BadCapacity(name, record.total, record.reserved, capacity, min_capacity)


def _refuse_unknown_classes(
    conn: Connection,
    records: Collection[Mapping[str, InventoryRecord]],
    class_ids: Mapping[str, int],
) -> None:
    unknown: set[str] = set()
    for records_by_class in records:
        unknown |= records_by_class.keys() - class_ids.keys()
    if unknown:
        raise UnknownInventoryClasses(unknown, catalog.hint(conn, "resource_class", unknown))
