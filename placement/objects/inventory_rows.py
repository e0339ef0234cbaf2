"""Inventories in the form in which they are stored."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy.engine import Connection

from placement.db.dialects import dialect_of
from placement.db.statements import inventories as statements
from placement.inventory import FIELDS, InventoryRecord, Stock

InventoryKey = tuple[int, int]  # (provider id, resource class id)

_values_of: Callable[[InventoryRecord], tuple[int | float, ...]] = attrgetter(*FIELDS)


@dataclass(frozen=True, slots=True)
class Inventory:
    """An inventory row: the record of a provider, and its usage."""

    id: int
    provider_id: int
    class_id: int
    class_name: str
    # Sum of the allocations.
    used: int
    record: InventoryRecord
    # Time of the last change. None if it was not selected, or in rows of very old databases.
    changed_at: datetime | None

    @property
    def key(self) -> InventoryKey:
        return (self.provider_id, self.class_id)

    @property
    def stock(self) -> Stock:
        """The values that determine whether an amount fits."""
        return self.record.stock(self.used)


def columns(record: InventoryRecord) -> dict[str, int | float]:
    """Return the columns of a record's row, with the derived capacity."""
    # PERF: `asdict` takes ten times as long, because it copies each value.
    values = dict(zip(FIELDS, _values_of(record), strict=True))
    values["capacity"] = record.capacity
    return values


def as_stored(conn: Connection, record: InventoryRecord) -> InventoryRecord:
    """Return the record with the ratio that the database will return."""
    ratio = dialect_of(conn).as_stored(record.allocation_ratio)
    if ratio == record.allocation_ratio:
        return record
    return replace_fields(record, allocation_ratio=ratio)


def read(conn: Connection, provider_ids: Collection[int]) -> dict[int, dict[str, Inventory]]:
    """Return provider id -> class -> inventory. The result has a key for every provider."""
    inventories: dict[int, dict[str, Inventory]] = {provider_id: {} for provider_id in provider_ids}
    for changed_at, *values in statements.for_providers(provider_ids).rows(conn):
        inventory = from_list(*values, changed_at=changed_at)
        inventories[inventory.provider_id][inventory.class_name] = inventory
    return inventories


def from_lists(provider_id: int, rows: Iterable[list[Any]]) -> dict[str, Inventory]:
    """Return class -> inventory, from the lists of a provider snapshot by class id."""
    inventories = [from_list(provider_id, *row) for row in sorted(rows)]
    return {inventory.class_name: inventory for inventory in inventories}


def from_list(
    provider_id: int,
    class_id: int,
    class_name: str,
    row_id: int,
    used: int,
    *fields: Any,
    changed_at: datetime | None = None,
) -> Inventory:
    """Return an inventory from the values of a JSON row.

    `fields` contains the fields of its record.
    """
    values = list(fields)
    values[-1] = float(values[-1])  # JSON may contain an integer
    record = InventoryRecord(*values)
    return Inventory(row_id, provider_id, class_id, class_name, used, record, changed_at)
