"""The rule of what fits into an inventory, in Python.

`placement.db.fragments.fits` is the same rule in SQL; a property test holds the two equal.
"""

import math
from typing import NamedTuple

LARGEST = 2**63 - 1  # what the column `capacity` holds


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


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """Whole units that may be allocated: floor of (total - reserved) * ratio, within 64 bits."""
    # A product beyond 64 bits, or infinite, has no integer that a column could hold.
    exact = (total - reserved) * allocation_ratio
    if exact >= LARGEST:
        return LARGEST
    return max(math.floor(exact), -LARGEST)


def units_allow(stock: Stock, amount: int) -> bool:
    """`amount` keeps min_unit, max_unit and step_size."""
    return stock.min_unit <= amount <= stock.max_unit and amount % stock.step_size == 0


def fits(stock: Stock, amount: int) -> bool:
    """`amount` keeps the units and does not exceed what is free."""
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
