"""The largest or smallest value of the inventory field that rejects an amount."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from placement.candidates.explanation.causes import (
    Extreme,
    Parts,
    Rejection,
    RejectionCause,
    SharingFault,
    SpecialCase,
)
from placement.candidates.model import Member
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.inventory import Stock, largest, sizes


class InventoryFigure(NamedTuple):
    """The inventory value to report for a code."""

    # Returns the value of one inventory, for the requested units.
    from_stock: Callable[[Stock, int], int]
    # Whether to report the largest value. False means the smallest, and the next amount that fits.
    is_largest: bool = True
    # Whether to add up the values of all providers of a host.
    is_sum: bool = False
    # Whether to report the most free units as well.
    has_free: bool = False


def _free(stock: Stock, _units: int) -> int:
    return stock.free


def _max_unit(stock: Stock, _units: int) -> int:
    return stock.max_unit


# Special case or, for other cases, code -> the value to report.
_FIGURES: Mapping[Refusal | SpecialCase | None, InventoryFigure] = {
    Refusal.MIN_UNIT: InventoryFigure(lambda stock, _units: stock.min_unit, is_largest=False),
    Refusal.MAX_UNIT: InventoryFigure(_max_unit, has_free=True),
    Refusal.STEP_SIZE: InventoryFigure(lambda stock, _units: stock.step_size, is_largest=False),
    Refusal.CAPACITY: InventoryFigure(_free),
    SpecialCase.ROOM: InventoryFigure(largest),
    SpecialCase.WITH_POOLS: InventoryFigure(largest),
    Refusal.CAPACITY_SUM: InventoryFigure(_free, is_sum=True),
    SpecialCase.MAX_UNIT: InventoryFigure(_max_unit),
    SpecialCase.PARTS: InventoryFigure(largest, is_sum=True),
    SpecialCase.SUBTREE_SUM: InventoryFigure(_free, is_sum=True),
}


class Measure:
    """The extreme of one class for one rejection, over all hosts of an evaluation."""

    __slots__ = ("_figure", "_positions", "_sets", "_units", "cause", "extreme", "name")

    def __init__(self, rejection: Rejection, figure: InventoryFigure, amount: Amount) -> None:
        # The cause to which the extreme belongs.
        self.cause: RejectionCause = rejection.cause
        # The class, and the requested units.
        self.name, self._units = amount
        # The extreme so far, or None if no inventory has been measured.
        self.extreme: Extreme | None = None
        # Positions in the pool of the providers rejected at the code.
        self._positions = rejection.at_code
        # For sums: the sets of positions whose values are added up.
        self._sets = rejection.subtrees or (rejection.at_code,)
        self._figure = figure

    def add(self, members: Sequence[Member]) -> None:
        """Add the inventories of a host. members: all providers of its pool."""
        figure = self._figure
        if figure.is_sum:
            for positions in self._sets:
                self._add_sum([members[position].stocks.get(self.name) for position in positions])
            return
        for position in self._positions:
            stock = members[position].stocks.get(self.name)
            if stock is not None:
                self._add_value(figure.from_stock(stock, self._units), stock)

    def _add_sum(self, stocks: Sequence[Stock | None]) -> None:
        values = [
            (value, stock.max_unit)
            for stock in stocks
            if stock is not None and (value := self._figure.from_stock(stock, self._units))
        ]
        total = sum([value for value, _max_unit in values])
        if self.extreme is None or total > self.extreme.value:
            limits = {max_unit for _value, max_unit in values}
            is_limited = len(limits) == 1 and all(value == most for value, most in values)
            parts = Parts(len(values), limits.pop() if is_limited else None)
            self.extreme = Extreme(total, parts=parts)

    def merged(self, known: Extreme | None) -> Extreme:
        """Return the extreme of these hosts and of others, or None for no others."""
        assert self.extreme is not None
        return _merge(self._figure, known, self.extreme)

    def _add_value(self, value: int, stock: Stock) -> None:
        """Add the value of an inventory."""
        figure, known = self._figure, self.extreme
        following = None if figure.is_largest else _next_amount(stock, self._units)
        free = stock.free if figure.has_free else 0
        if (
            known is None
            or following
            or free > known.free
            or (value > known.value) == figure.is_largest
        ):
            self.extreme = _merge(figure, known, Extreme(value, following, free=free))


def measures(rejections: Sequence[Rejection]) -> Iterator[Measure]:
    """Yield the measures for hosts with the given rejections."""
    for rejection in rejections:
        figure = _FIGURES.get(rejection.cause.case) or _FIGURES.get(rejection.code)
        if figure is not None:
            cause = rejection.cause
            amounts = cause.amounts or [term.value for term in cause.terms]
            for amount in amounts:
                assert isinstance(amount, Amount)
                yield Measure(rejection, figure, amount)


def _merge(figure: InventoryFigure, known: Extreme | None, extreme: Extreme) -> Extreme:
    if known is None:
        return extreme
    if figure.is_sum:
        return max(known, extreme, key=lambda each: each.value)
    choose = max if figure.is_largest else min
    following = min(filter(None, (known.next, extreme.next)), default=None)
    free = max(known.free, extreme.free)
    return Extreme(choose(known.value, extreme.value), following, free=free)


def fault(term: StatedTerm | None, member: Member) -> SharingFault | None:
    """Return why a sharing provider cannot serve a group, or None if no term is given."""
    if term is None:
        return None
    figure, amount = _FIGURES.get(term.code), term.value
    if figure is None or not isinstance(amount, Amount):
        return SharingFault(term, None)
    stock = member.stocks[amount.resource_class]
    following = None if figure.is_largest else _next_amount(stock, amount.units)
    value, free = figure.from_stock(stock, amount.units), stock.free
    return SharingFault(term, value, following, free if figure.has_free and free < value else None)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the smallest amount above `units` that an inventory allows, or None."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
