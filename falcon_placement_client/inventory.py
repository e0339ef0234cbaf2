"""An inventory: how much a provider has of a resource class, and what fits into it.

The service and its clients share this module, so it imports nothing but constants.
`placement.db.fragments.fits` is the same rule in SQL; a property test holds the two equal.
"""

from dataclasses import asdict, dataclass
from typing import NamedTuple

from falcon_placement_client.vocabulary import MAX_INTEGER

MAX_CAPACITY = 2**63 - 1  # what the column `capacity` holds


class Stock(NamedTuple):
    """What a provider has of one class: amounts and units of that class."""

    capacity: int
    used: int
    min_unit: int
    max_unit: int
    step_size: int

    @property
    def room(self) -> int:
        """The most that requests placed here together may take; negative when over-committed."""
        return min(self.capacity - self.used, self.max_unit)


@dataclass(frozen=True, slots=True)
class InventoryRecord:
    """What a client states of one inventory; what it leaves out is as these defaults say."""

    #: All that there is. Amounts are whole units of the resource class.
    total: int
    #: What of it is not given out.
    reserved: int = 0
    #: The least that one consumer may get.
    min_unit: int = 1
    #: The most that one consumer may get.
    max_unit: int = MAX_INTEGER
    #: The number that divides each amount.
    step_size: int = 1
    #: How many times what is not reserved is given out.
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Whole units that may be allocated."""
        return capacity(self.total, self.reserved, self.allocation_ratio)

    def stock(self, used: int) -> Stock:
        """Return what the rule of fitting reads, with this much used."""
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
    """Return the whole units that may be allocated: (total - reserved) * ratio, cut to an integer.

    What no 64 bits hold is the nearest number that they do.
    """
    exact = (total - reserved) * allocation_ratio
    # An infinite product has no integer at all.
    if abs(exact) >= MAX_CAPACITY:
        return MAX_CAPACITY if exact > 0 else -MAX_CAPACITY
    return int(exact)


def units_allow(stock: Stock | InventoryRecord, amount: int) -> bool:
    """Return whether one consumer may get `amount`, by min_unit, max_unit and step_size."""
    return stock.min_unit <= amount <= stock.max_unit and amount % stock.step_size == 0


def fits(stock: Stock, amount: int) -> bool:
    """Return whether the units allow `amount`, and it does not exceed what is free."""
    # PERF: each host of a search is asked. A call, or a member by its name, takes as long as this.
    capacity, used, least, most, step = stock
    return used + amount <= capacity and least <= amount <= most and not amount % step


def sizes(stock: Stock, most: int) -> range:
    """Return the amounts, up to `most`, that fit: the smallest first, 0 is none of them."""
    step = stock.step_size
    smallest = -(-max(1, stock.min_unit) // step) * step
    return range(smallest, min(stock.room, most) + 1, step)


def largest(stock: Stock) -> int:
    """Return the largest amount that fits; 0 where none does."""
    amounts = sizes(stock, stock.room)
    return amounts[-1] if amounts else 0
