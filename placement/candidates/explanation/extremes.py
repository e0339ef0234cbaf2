"""The largest or smallest value of the inventory field that rejects an amount."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from falcon_placement_client.inventory import Stock, sizes
from placement.candidates.explanation.evaluation import Extreme, Rejection, RejectionCause
from placement.candidates.explanation.manners import Manner
from placement.candidates.model import Member
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal


class Figure(NamedTuple):
    """The inventory value to report for a code."""

    # Returns the value of one inventory, for the requested units.
    from_stock: Callable[[Stock, int], int]
    # Whether to report the largest value. False means the smallest.
    is_largest: bool = True
    # Whether to add up the values of all providers of a host.
    is_sum: bool = False
    # Whether a larger amount may fit. If so, this amount is reported as well.
    is_advised: bool = False


def _free(stock: Stock, _units: int) -> int:
    return max(0, stock.capacity - stock.used)


def _largest_part(stock: Stock, units: int) -> int:
    parts = sizes(stock, units)
    return parts[-1] if parts else 0


def _max_unit(stock: Stock, _units: int) -> int:
    return stock.max_unit


# Code -> the value to report.
_FIGURES: Mapping[Refusal, Figure] = {
    Refusal.MIN_UNIT: Figure(lambda stock, _units: stock.min_unit, False, is_advised=True),
    Refusal.MAX_UNIT: Figure(_max_unit),
    Refusal.STEP_SIZE: Figure(lambda stock, _units: stock.step_size, False, is_advised=True),
    Refusal.CAPACITY: Figure(_free),
}
# The same for groups whose sum does not fit, by the special case.
_FIGURES_OF_SUMS: Mapping[Manner | None, Figure] = {
    None: Figure(_free, is_sum=True),
    Manner.MAX_UNIT: Figure(_max_unit),
    Manner.PARTS: Figure(_largest_part, is_sum=True),
}


def _figure(code: Refusal, manner: Manner | None) -> Figure | None:
    if code is Refusal.CAPACITY_SUM:
        return _FIGURES_OF_SUMS.get(manner)
    return _FIGURES.get(code)


class Measure:
    """The extreme of one class for one rejection, over all hosts of an evaluation."""

    __slots__ = ("_figure", "_positions", "_units", "cause", "extreme", "name")

    def __init__(self, rejection: Rejection, figure: Figure, amount: Amount) -> None:
        # The cause to which the extreme belongs.
        self.cause: RejectionCause = rejection.cause
        # The class, and the requested units.
        self.name, self._units = amount
        # The extreme so far, or None if no inventory has been measured.
        self.extreme: Extreme | None = None
        # Positions in the pool of the providers rejected at the code.
        self._positions = rejection.at_code
        self._figure = figure

    def add(self, members: Sequence[Member]) -> None:
        """Add the inventories of a host. members: all providers of its pool."""
        figure, total = self._figure, 0
        for position in self._positions:
            stock = members[position].stocks.get(self.name)
            if stock is None:
                continue
            value = figure.from_stock(stock, self._units)
            if figure.is_sum:
                total += value
            else:
                self._add_value(value, stock)
        if figure.is_sum:
            self._add_value(total)

    def _add_value(self, value: int, stock: Stock | None = None) -> None:
        """Add a value. `stock` is its inventory, unless the value is a sum."""
        figure, known = self._figure, self.extreme
        following = None
        if stock is not None and figure.is_advised:
            following = _next_amount(stock, self._units)
        if known is None or following or (value > known.value) == figure.is_largest:
            self.extreme = _merge(figure, known, Extreme(value, following))


def measures(rejections: Sequence[Rejection]) -> Iterator[Measure]:
    """Yield the measures for hosts with the given rejections."""
    for rejection in rejections:
        figure = _figure(rejection.code, rejection.cause.manner)
        if figure is not None:
            amounts = [term.value for term in rejection.cause.terms] or rejection.cause.amounts
            for amount in amounts:
                assert isinstance(amount, Amount)
                yield Measure(rejection, figure, amount)


def merge_extremes(
    code: Refusal, manner: Manner | None, known: Extreme | None, extreme: Extreme
) -> Extreme:
    """Return the extreme of two values of a code, or the other value if one is None."""
    figure = _figure(code, manner)
    assert figure is not None
    return _merge(figure, known, extreme)


def _merge(figure: Figure, known: Extreme | None, extreme: Extreme) -> Extreme:
    if known is None:
        return extreme
    choose = max if figure.is_largest else min
    following = min(filter(None, (known.next, extreme.next)), default=None)
    return Extreme(choose(known.value, extreme.value), following)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the smallest amount above `units` that an inventory allows, or None."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
