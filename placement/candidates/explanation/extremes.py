"""The largest or smallest figure of the inventories that an amount fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from falcon_placement_client.inventory import Stock, sizes
from placement.candidates.explanation.manners import Manner
from placement.candidates.explanation.profiles import Extreme, Fall, FallCause
from placement.candidates.model import Member
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal


class Figure(NamedTuple):
    """What to report of the inventories of a class."""

    # Returns the figure of one inventory, for the units that the request asks for.
    of_stock: Callable[[Stock, int], int]
    # Whether to report the largest or the smallest.
    is_largest: bool = True
    # Whether the figures of a host's providers add up.
    is_sum: bool = False
    # Whether a larger amount may fit.
    is_advised: bool = False


def _free(stock: Stock, _units: int) -> int:
    return max(0, stock.capacity - stock.used)


def _largest_part(stock: Stock, units: int) -> int:
    parts = sizes(stock, units)
    return parts[-1] if parts else 0


def _max_unit(stock: Stock, _units: int) -> int:
    return stock.max_unit


_FIGURES: Mapping[Refusal, Figure] = {
    Refusal.MIN_UNIT: Figure(lambda stock, _units: stock.min_unit, False, is_advised=True),
    Refusal.MAX_UNIT: Figure(_max_unit),
    Refusal.STEP_SIZE: Figure(lambda stock, _units: stock.step_size, False, is_advised=True),
    Refusal.CAPACITY: Figure(_free),
}
# Of groups whose sum does not fit.
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
    """The extreme of one class at one fall, over the hosts of a verdict."""

    __slots__ = ("_figure", "_positions", "_units", "cause", "extreme", "name")

    def __init__(self, fall: Fall, figure: Figure, amount: Amount) -> None:
        self.cause: FallCause = fall.cause
        self.name, self._units = amount
        self.extreme: Extreme | None = None
        self._positions = fall.at_code
        self._figure = figure

    def note(self, members: Sequence[Member]) -> None:
        """Look at the inventories of a host; members: of its pool."""
        figure, total = self._figure, 0
        for position in self._positions:
            stock = members[position].stocks.get(self.name)
            if stock is None:
                continue
            there = figure.of_stock(stock, self._units)
            if figure.is_sum:
                total += there
            else:
                self._widen(there, stock)
        if figure.is_sum:
            self._widen(total)

    def _widen(self, there: int, stock: Stock | None = None) -> None:
        """Take a figure into account; stock: the one that has it, which may give advice."""
        figure, known = self._figure, self.extreme
        following = None
        if stock is not None and figure.is_advised:
            following = _next_amount(stock, self._units)
        if known is None or following or (there > known.there) == figure.is_largest:
            self.extreme = _wider(figure, known, Extreme(there, following))


def measures(falls: Sequence[Fall]) -> Iterator[Measure]:
    """Yield what to note of the hosts that have these falls."""
    for fall in falls:
        figure = _figure(fall.code, fall.cause.manner)
        if figure is not None:
            amounts = [term.value for term in fall.cause.terms] or fall.cause.amounts
            for amount in amounts:
                assert isinstance(amount, Amount)
                yield Measure(fall, figure, amount)


def wider_at(
    code: Refusal, manner: Manner | None, known: Extreme | None, extreme: Extreme
) -> Extreme:
    """Return the extreme of both, as far as one is known, of the figure of a code."""
    figure = _figure(code, manner)
    assert figure is not None
    return _wider(figure, known, extreme)


def _wider(figure: Figure, known: Extreme | None, extreme: Extreme) -> Extreme:
    if known is None:
        return extreme
    choose = max if figure.is_largest else min
    following = min(filter(None, (known.next, extreme.next)), default=None)
    return Extreme(choose(known.there, extreme.there), following)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the least amount above one asked that a stock would give; None: it gives none."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
