"""The term about the room that a provider has."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from placement.candidates.trace import Refusal
from placement.objects.capacity import Stock, fits, sizes

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

    def refusals(self, stock: Stock) -> Iterator[int]:
        """Yield the number in `AMOUNT_CODES` of each reason why a stock cannot serve the whole."""
        for number, (_code, allows) in enumerate(STOCK_CONDITIONS, 1):
            if not allows(stock, self.units):
                yield number

    def refusals_of_parts(self, stock: Stock) -> Iterator[int]:
        """Yield the same of the first reason why it cannot serve even the smallest part."""
        parts = sizes(stock, self.units)
        if parts:
            return
        code = Refusal.CAPACITY
        if parts.start > self.units:
            code = Refusal.MIN_UNIT
        elif parts.start > stock.max_unit:
            code = Refusal.MAX_UNIT
        yield AMOUNT_CODES.index(code)
