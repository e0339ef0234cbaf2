"""The term about the free capacity of a provider."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from placement.candidates.model import Refusal, Stocks
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

MAX_SHORTAGES = 10_000  # cached results of a request


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


class Shortages(dict[Stocks, int]):
    """Inventories of a provider -> bits of the reasons why they do not allow some of the amounts.

    PERF: hosts with equal bits, traits and aggregates have the same result, so most hosts need only
    this check.
    """

    def __init__(self, amounts: Iterable[tuple[str, int]]) -> None:
        """amounts: classes and units."""
        super().__init__()
        distinct = enumerate(dict.fromkeys(amounts))
        self._amounts = [(*amount, 1 << number * len(AMOUNT_CODES)) for number, amount in distinct]

    def __missing__(self, stocks: Stocks) -> int:
        mask = 0
        for name, units, bit in self._amounts:
            stock = stocks.get(name)
            if stock is None:
                mask |= bit
            else:
                # PERF: this is `fits`, inlined because hosts with different usages are frequent.
                capacity, used, least, most, step = stock
                if used + units > capacity or not least <= units <= most or units % step:
                    mask |= unfit_whole(stock, units, bit, 1)
        if len(self) >= MAX_SHORTAGES:
            self.clear()
        self[stocks] = mask
        return mask
