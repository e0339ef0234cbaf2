"""The term about the free capacity of a provider."""

from collections.abc import Callable
from typing import NamedTuple

from placement.candidates.model import Refusal
from placement.inventory import Stock, fits, sizes

# Returns whether a stock allows an amount. All these conditions together are equivalent to `fits`.
StockCondition = Callable[[Stock, int], bool]

STOCK_CONDITIONS: tuple[tuple[Refusal, StockCondition], ...] = (
    (Refusal.MIN_UNIT, lambda stock, amount: amount >= stock.min_unit),
    (Refusal.MAX_UNIT, lambda stock, amount: amount <= stock.max_unit),
    (Refusal.STEP_SIZE, lambda stock, amount: amount % stock.step_size == 0),
    (Refusal.CAPACITY, fits),
)

AMOUNT_KEYWORD = "resources"
# If a host is rejected at one of these codes, no provider has enough capacity.
AMOUNT_CODES = (Refusal.NO_INVENTORY, *(code for code, _allows in STOCK_CONDITIONS))


class Amount(NamedTuple):
    """The provider has an inventory of the class with sufficient free capacity.

    Unlike other terms, an amount can be divided. Each slot of the unsuffixed group requests one
    class, and several providers may serve parts of its amount.
    """

    resource_class: str
    units: int


def unfit_whole(stock: Stock, units: int, missing: int, step: int) -> int:
    """Return the bits of the reasons why a stock cannot serve the whole amount.

    If the units refuse the amount, but no near amount that they allow is free, the only reason is
    the capacity.

    Args:
        stock: the inventory.
        units: the amount.
        missing: bit of the first of `AMOUNT_CODES`.
        step: distance between the bits of consecutive codes.
    """
    mask, bit = 0, missing
    for _code, allows in STOCK_CONDITIONS:
        bit <<= step
        if not allows(stock, units):
            mask |= bit
    return mask if has_near(stock, units) else bit


def has_near(stock: Stock, units: int) -> bool:
    """Return whether the next smaller or larger amount that the units allow is free.

    Above max_unit, this is any amount. If the units allow no amount at all, they are the reason.
    """
    amounts = sizes(stock, stock.room)
    if not amounts:
        return amounts.start > stock.max_unit
    return units > stock.max_unit or amounts[-1] > units - stock.step_size


def unfit_for_a_part(stock: Stock, units: int, missing: int, step: int) -> int:
    """Return the bit of the first reason why a stock cannot serve a part of the amount, or 0."""
    parts = sizes(stock, units)
    if parts:
        return 0
    code = Refusal.CAPACITY
    if parts.start > stock.max_unit or parts.start <= stock.room:
        code = Refusal.MIN_UNIT if stock.min_unit > units else Refusal.STEP_SIZE
        if parts.start <= units:
            code = Refusal.MAX_UNIT
    return missing << (step * AMOUNT_CODES.index(code))
