"""The term about the room that a provider has."""

from collections.abc import Callable
from typing import NamedTuple

from falcon_placement_client.inventory import Stock, fits, sizes
from placement.candidates.trace import Refusal

# Whether a stock allows an amount. Together they say what `fits` says.
StockCondition = Callable[[Stock, int], bool]

STOCK_CONDITIONS: tuple[tuple[Refusal, StockCondition], ...] = (
    (Refusal.MIN_UNIT, lambda stock, amount: amount >= stock.min_unit),
    (Refusal.MAX_UNIT, lambda stock, amount: amount <= stock.max_unit),
    (Refusal.STEP_SIZE, lambda stock, amount: amount % stock.step_size == 0),
    (Refusal.CAPACITY, fits),
)

AMOUNT_KEYWORD = "resources"
AMOUNT_CODES = (Refusal.NO_INVENTORY, *(code for code, _allows in STOCK_CONDITIONS))


class Amount(NamedTuple):
    """The provider has an inventory of the class that has room for the units.

    Unlike other terms it is divided: slots of the unsuffixed group ask for one class each, and
    several providers may serve parts.
    """

    resource_class: str
    units: int


def unfit_whole(stock: Stock, units: int, missing: int, step: int) -> int:
    """Return the bits of the reasons why a stock cannot serve the whole.

    missing: the bit of the first of `AMOUNT_CODES`. step: from there to that of the next one.
    """
    mask, bit = 0, missing
    for _code, allows in STOCK_CONDITIONS:
        bit <<= step
        if not allows(stock, units):
            mask |= bit
    return mask


def unfit_for_a_part(stock: Stock, units: int, missing: int, step: int) -> int:
    """Return the same of the first reason why it cannot serve even the smallest part, if any."""
    parts = sizes(stock, units)
    if parts:
        return 0
    code = Refusal.CAPACITY
    if parts.start > units:
        code = Refusal.MIN_UNIT
    elif parts.start > stock.max_unit:
        code = Refusal.MAX_UNIT
    return missing << (step * AMOUNT_CODES.index(code))
