"""Inventories, their capacity, and the allocations that fit into them.

The service and its clients share this module, which therefore imports only constants.
`placement.db.fragments.fits` is the same rule in SQL; a property test compares them.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from falcon_placement_client.vocabulary import MAX_INTEGER

MAX_CAPACITY = 2**63 - 1  # maximum of the column `capacity`


class Stock(NamedTuple):
    """The inventory of a provider for one class, in units of the class."""

    # Units that may be allocated in total.
    capacity: int
    # Allocated units.
    used: int
    # Minimum of one allocation.
    min_unit: int
    # Maximum of one allocation.
    max_unit: int
    # Divisor of each allocation.
    step_size: int

    @property
    def room(self) -> int:
        """Free units, which are negative if the usage exceeds the capacity."""
        return min(self.capacity - self.used, self.max_unit)


@dataclass(frozen=True, slots=True)
class InventoryRecord:
    """An inventory in the form of requests, with the service's defaults."""

    #: Total units of the resource class.
    total: int
    #: Units that are reserved for other purposes.
    reserved: int = 0
    #: Minimum of one allocation.
    min_unit: int = 1
    #: Maximum of one allocation.
    max_unit: int = MAX_INTEGER
    #: Divisor of each allocation.
    step_size: int = 1
    #: Factor by which unreserved units may be overcommitted.
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Whole units that may be allocated."""
        return capacity(self.total, self.reserved, self.allocation_ratio)

    def stock(self, used: int) -> Stock:
        """Return the values that determine which allocations fit, with this usage."""
        return Stock(self.capacity, used, self.min_unit, self.max_unit, self.step_size)

    def not_default(self) -> dict[str, int | float]:
        """Return the total, and each other member that differs from its default."""
        default = InventoryRecord(self.total)
        return {
            name: value
            for name, value in asdict(self).items()
            if name == "total" or value != getattr(default, name)
        }


FIELDS = tuple(InventoryRecord.__dataclass_fields__)


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """Return the units that may be allocated: (total - reserved) * ratio, truncated to an integer.

    The result is limited to what 64 bits can hold.
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
    # PERF: evaluated for each host of a search. A call or an attribute access doubles the time.
    capacity, used, least, most, step = stock
    return used + amount <= capacity and least <= amount <= most and not amount % step


def sizes(stock: Stock, most: int) -> range:
    """Return the amounts from 1 to `most` that fit, as a range."""
    step = stock.step_size
    smallest = -(-max(1, stock.min_unit) // step) * step
    return range(smallest, min(stock.room, most) + 1, step)


def largest(stock: Stock) -> int:
    """Return the largest amount that fits, or 0 if there is none."""
    amounts = sizes(stock, stock.room)
    return amounts[-1] if amounts else 0
