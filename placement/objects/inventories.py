"""Inventories of a provider (contract resources.md section 2)."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from dataclasses import replace as replace_fields
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.dialects import dialect_of
from placement.db.statements import inventories as statements
from placement.errors import (
    BadCapacity,
    InventoryExists,
    InventoryInUse,
    InventoryMissing,
    InventoryNotFound,
    NoInventoryToDelete,
    ResourceClassNotFound,
    SingleInventoryInUse,
    UnknownInventoryClasses,
    UnknownResourceClasses,
)
from placement.objects import capacity, catalog, locking, providers
from placement.objects.capacity import Stock
from placement.objects.locking import LockedProvider
from placement.objects.providers import Provider
from placement.vocabulary import MAX_INTEGER


@dataclass(frozen=True, slots=True)
class Record:
    """What a client says of one inventory: amounts in units of the class."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INTEGER
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Whole units that may be allocated."""
        return capacity.capacity(self.total, self.reserved, self.allocation_ratio)


@dataclass(frozen=True, slots=True)
class Inventory:
    """A row: a record on a provider, with what is used of it."""

    id: int
    provider_id: int
    class_id: int
    class_name: str
    used: int
    record: Record
    changed_at: datetime | None

    @property
    def stock(self) -> Stock:
        """What the fit rule looks at."""
        return stock(self.record, self.used)


def stock(record: Record, used: int) -> Stock:
    """What the fit rule looks at, of a record with this much used."""
    return Stock(record.capacity, used, record.min_unit, record.max_unit, record.step_size)


def _from_row(row: Any) -> Inventory:
    return Inventory(
        row.id,
        row.provider_id,
        row.class_id,
        row.class_name,
        int(row.used),
        Record(
            row.total,
            row.reserved,
            row.min_unit,
            row.max_unit,
            row.step_size,
            float(row.allocation_ratio),
        ),
        row.changed_at,
    )


def of_providers(
    conn: Connection, provider_ids: Collection[int]
) -> dict[int, dict[str, Inventory]]:
    """Return provider id -> class -> inventory."""
    found: dict[int, dict[str, Inventory]] = {provider_id: {} for provider_id in provider_ids}
    for row in statements.of_providers(provider_ids).rows(conn):
        found[row.provider_id][row.class_name] = _from_row(row)
    return found


def of_provider(conn: Connection, uuid: str) -> tuple[Provider, dict[str, Inventory]]:
    """Return a provider and its inventories by class.  Raises ProviderNotFound."""
    provider = providers.get(conn, uuid)
    return provider, of_providers(conn, [provider.id])[provider.id]


def get(conn: Connection, uuid: str, resource_class: str) -> tuple[Provider, Inventory]:
    """Return one inventory.  Raises ProviderNotFound, InventoryNotFound."""
    provider, present = of_provider(conn, uuid)
    if resource_class not in present:
        raise InventoryNotFound(resource_class, provider.uuid)
    return provider, present[resource_class]


def check_capacity(records: Mapping[str, Record], least: int = 0) -> None:
    """Raise BadCapacity for an inventory whose capacity, cut to an integer, is below `least`."""
    for name, record in records.items():
        capacity = math.trunc((record.total - record.reserved) * record.allocation_ratio)
        if capacity < least:
            raise BadCapacity(name, record.total, record.reserved, capacity, least)


@dataclass(frozen=True, slots=True)
class Change:
    """How the inventories of providers become others: what to insert, update and delete."""

    created: tuple[tuple[int, int, str, Record], ...]  # (provider id, class id and name, record)
    updated: Mapping[int, Record]  # inventory id -> record
    removed: tuple[Inventory, ...]

    def write_wanted(self, conn: Connection) -> None:
        """Insert and update; what is to go stays."""
        catalog.lock_classes(conn, {class_id: name for _, class_id, name, _ in self.created})
        rows = [
            {"resource_provider_id": provider_id, "resource_class_id": class_id, **_columns(record)}
            for provider_id, class_id, _name, record in self.created
        ]
        statements.create(rows).execute(conn)
        changed = {row_id: _columns(record) for row_id, record in self.updated.items()}
        statements.update(changed).execute(conn)

    def delete_unwanted(self, conn: Connection) -> None:
        """Delete what is to go; nothing may be allocated against it."""
        statements.delete_unused([inventory.id for inventory in self.removed]).execute(conn)


def _columns(record: Record) -> dict[str, Any]:
    return {**asdict(record), "capacity": record.capacity}


def _kept(conn: Connection, record: Record) -> Record:
    return replace_fields(
        record, allocation_ratio=dialect_of(conn).as_stored(record.allocation_ratio)
    )


def change(
    conn: Connection,
    present: Mapping[int, Mapping[str, Inventory]],
    wanted: Mapping[int, Mapping[str, Record]],
    class_ids: Mapping[str, int],
) -> Change:
    """Compare what providers have with what they shall have, by provider id and class.

    Raises UnknownInventoryClasses when a wanted class has no id.
    """
    unknown = {name for records in wanted.values() for name in records} - class_ids.keys()
    if unknown:
        raise UnknownInventoryClasses(unknown)
    created: list[tuple[int, int, str, Record]] = []
    updated: dict[int, Record] = {}
    removed: list[Inventory] = []
    for provider_id, records in wanted.items():
        has = present[provider_id]
        for name, stated in records.items():
            record = _kept(conn, stated)
            if name not in has:
                created.append((provider_id, class_ids[name], name, record))
            elif has[name].record != record:
                updated[has[name].id] = record
        removed += [inventory for name, inventory in has.items() if name not in records]
    return Change(tuple(created), updated, tuple(removed))


def refuse_in_use(inventories: Iterable[Inventory], uuid: str) -> None:
    """Raise InventoryInUse, naming the classes that still have allocations, in the order given."""
    busy = [inventory.class_name for inventory in inventories if inventory.used]
    if busy:
        raise InventoryInUse(busy, uuid)


def _lock(
    conn: Connection, uuid: str, class_names: Iterable[str]
) -> tuple[LockedProvider, Mapping[str, int]]:
    """Own the provider's tree; return it, and the ids of those classes that there are."""
    provider, ids = locking.lock_provider(conn, uuid, {"resource_class": set(class_names)})
    return provider, ids["resource_class"]


def _write(conn: Connection, provider: LockedProvider, steps: Change) -> int:
    """Change the inventories of one provider and return its new generation."""
    refuse_in_use(steps.removed, provider.uuid)
    steps.write_wanted(conn)
    steps.delete_unwanted(conn)
    providers.bump_generations(conn, {provider.id: 1})
    return provider.generation + 1


def replace(
    conn: Connection, uuid: str, generation: int, records: Mapping[str, Record], least: int = 0
) -> int:
    """Make the records the whole set of the provider; return its new generation.

    least: the smallest capacity that a record may have. Raises ProviderNotFound,
    ProviderGenerationConflict, BadCapacity, UnknownInventoryClasses, InventoryInUse; checked in
    this order.
    """
    provider, ids = _lock(conn, uuid, records)
    providers.check_generation(provider, generation)
    check_capacity(records, least)
    present = of_providers(conn, [provider.id])
    return _write(conn, provider, change(conn, present, {provider.id: records}, ids))


def create(conn: Connection, uuid: str, resource_class: str, record: Record, least: int = 0) -> int:
    """Add one inventory to the provider; return its new generation.

    Raises ProviderNotFound, BadCapacity, UnknownResourceClasses, InventoryExists.
    """
    provider, class_ids = _lock(conn, uuid, [resource_class])
    check_capacity({resource_class: record}, least)
    if not class_ids:
        raise UnknownResourceClasses([resource_class])
    if resource_class in of_providers(conn, [provider.id])[provider.id]:
        raise InventoryExists(resource_class, provider.uuid)
    created = (provider.id, class_ids[resource_class], resource_class, _kept(conn, record))
    return _write(conn, provider, Change((created,), {}, ()))


def update(
    conn: Connection,
    uuid: str,
    resource_class: str,
    generation: int,
    record: Record,
    least: int = 0,
) -> int:
    """Replace one inventory of the provider; return its new generation.

    Raises ProviderNotFound, ProviderGenerationConflict, BadCapacity, ResourceClassNotFound,
    InventoryMissing.
    """
    provider, class_ids = _lock(conn, uuid, [resource_class])
    providers.check_generation(provider, generation)
    check_capacity({resource_class: record}, least)
    if not class_ids:
        raise ResourceClassNotFound(resource_class)
    row = of_providers(conn, [provider.id])[provider.id].get(resource_class)
    if row is None:
        raise InventoryMissing(resource_class, provider.uuid)
    return _write(conn, provider, Change((), {row.id: _kept(conn, record)}, ()))


def delete_all(conn: Connection, uuid: str) -> None:
    """Take all inventories from the provider.  Raises ProviderNotFound, InventoryInUse."""
    provider, _ids = locking.lock_provider(conn, uuid)
    present = of_providers(conn, [provider.id])
    _write(conn, provider, change(conn, present, {provider.id: {}}, {}))


def delete(conn: Connection, uuid: str, resource_class: str) -> None:
    """Take one inventory from the provider.

    Raises ProviderNotFound, NoInventoryToDelete, SingleInventoryInUse.
    """
    provider, _ids = locking.lock_provider(conn, uuid)
    row = of_providers(conn, [provider.id])[provider.id].get(resource_class)
    if row is None:
        raise NoInventoryToDelete(resource_class, provider.uuid)
    if row.used:
        raise SingleInventoryInUse(resource_class, provider.uuid)
    _write(conn, provider, Change((), {}, (row,)))


def usages(conn: Connection, uuid: str) -> tuple[Provider, Mapping[str, int]]:
    """Return a provider and what is used of each of its inventories.

    Raises ProviderNotFound.
    """
    provider, present = of_provider(conn, uuid)
    return provider, {name: row.used for name, row in present.items()}
