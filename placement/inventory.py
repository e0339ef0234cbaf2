"""Inventories, their capacity, and the allocations that fit into them.

The client contains this module, too: its imports from its own package are relative.
`placement.db.fragments.fits` is the same rule in SQL, and a property test compares it with `fits`.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from .vocabulary import MAX_INTEGER

MAX_CAPACITY = 2**63 - 1  # maximum of the column `capacity`


class Stock(NamedTuple):
    """The inventory of a provider for one class. All amounts are in units of the class."""

    # Total number of units that may be allocated.
    capacity: int
    # Number of allocated units.
    used: int
    # Minimum amount of one allocation.
    min_unit: int
    # Maximum amount of one allocation.
    max_unit: int
    # Divisor of the amount of each allocation.
    step_size: int

    @property
    def free(self) -> int:
        """Units that are not allocated, or 0 if the usage exceeds the capacity."""
        return max(0, self.capacity - self.used)

    @property
    def room(self) -> int:
        """Free units, at most `max_unit`. Negative if the usage exceeds the capacity."""
        return min(self.capacity - self.used, self.max_unit)


@dataclass(frozen=True, slots=True)
class InventoryRecord:
    """An inventory in the form of requests, with the default values of the service."""

    #: Total units of the resource class.
    total: int
    #: Units that are reserved for other purposes.
    reserved: int = 0
    #: Minimum amount of one allocation.
    min_unit: int = 1
    #: Maximum amount of one allocation.
    max_unit: int = MAX_INTEGER
    #: Divisor of the amount of each allocation.
    step_size: int = 1
    #: Factor by which unreserved units may be overcommitted.
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Number of whole units that may be allocated."""
        return capacity(self.total, self.reserved, self.allocation_ratio)

    def stock(self, used: int) -> Stock:
        """Return the values that determine which allocations fit, for this usage."""
        return Stock(self.capacity, used, self.min_unit, self.max_unit, self.step_size)

    def not_default(self) -> dict[str, int | float]:
        """Return the total, and the other members whose values differ from their defaults."""
        default = InventoryRecord(self.total)
        return {
            name: value
            for name, value in asdict(self).items()
            if name == "total" or value != getattr(default, name)
        }


FIELDS = tuple(InventoryRecord.__dataclass_fields__)


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """Return the units that may be allocated: (total - reserved) * ratio, truncated to an integer.

    The result is limited to 64 bits.
    """
    exact = (total - reserved) * allocation_ratio
    # An infinite product cannot be converted to an integer.
    if abs(exact) >= MAX_CAPACITY:
        return MAX_CAPACITY if exact > 0 else -MAX_CAPACITY
    return int(exact)


def units_allow(stock: Stock | InventoryRecord, amount: int) -> bool:
    """Return whether min_unit, max_unit and step_size allow an allocation of `amount`."""
    return stock.min_unit <= amount <= stock.max_unit and amount % stock.step_size == 0


def fits(stock: Stock, amount: int) -> bool:
    """Return whether the units allow `amount` and enough units are free."""
    # PERF: a search evaluates this for each host. A call or an attribute access would double the
    # time.
    capacity, used, least, most, step = stock
    return used + amount <= capacity and least <= amount <= most and not amount % step


def sizes(stock: Stock, most: int) -> range:
    """Return the amounts from 1 to `most` that fit, as a range."""
    step = stock.step_size
    smallest = -(-max(1, stock.min_unit) // step) * step
    return range(smallest, min(stock.room, most) + 1, step)


def largest(stock: Stock, most: int = MAX_CAPACITY) -> int:
    """Return the largest amount up to `most` that fits, or 0 if no amount fits."""
    amounts = sizes(stock, most)
    return amounts[-1] if amounts else 0
