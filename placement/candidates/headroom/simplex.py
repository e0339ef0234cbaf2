"""The linear relaxation of a packing problem. It limits the number of patterns that fit.

The solution uses floating-point numbers. The bound is computed from the prices of the solution in
integers, so rounding errors cannot make it wrong.
"""

from collections.abc import Sequence
from typing import NamedTuple

from placement.candidates.budget import Charge

# (row, units) pairs that one consumer uses. All units are above 0.
Pattern = tuple[tuple[int, int], ...]

# Differences below this value count as zero.
EPSILON = 1e-9

# Factor by which prices are multiplied before they are rounded to integers.
PRICE_SCALE = 1 << 40

# Cost of one entry of a pattern, and of one entry of the inverse basis, in an iteration.
ENTRIES_PER_UNIT = 2


class FractionalPacking(NamedTuple):
    """The optimal fractional packing, or the best fractional packing that was found."""

    # Number of times that each pattern is used.
    times: Sequence[float]
    # Upper bound of the number of patterns in any packing that uses each pattern a whole number of
    # times.
    upper: int


def relax(patterns: Sequence[Pattern], free: Sequence[int], spend: Charge) -> FractionalPacking:
    """Maximize the number of patterns. Each pattern can be used any fractional number of times.

    This is the revised simplex method. The first basis has a slack variable for each row.

    Args:
        patterns: at least one; each fits into the free units once.
        free: row -> free units.
        spend: charges the work.

    Raises:
        BudgetSpentError: the limit on work was reached.
    """
    rows = len(free)
    # Rows are scaled by their free units, so that all numbers have the same order of magnitude.
    scaled = [[(row, units / free[row]) for row, units in pattern] for pattern in patterns]
    cost = (sum(map(len, patterns)) + rows * rows) // ENTRIES_PER_UNIT
    basis = _Basis(rows)
    prices = basis.prices()
    for _iteration in range(20 + 10 * rows):
        spend(cost)
        prices = basis.prices()
        entering = _entering(scaled, prices)
        if entering is None:
            break
        column = [(-1 - entering, 1.0)] if entering < 0 else scaled[entering]
        if not basis.enter(entering, column):
            # Only possible after rounding errors, because each pattern uses units of some row.
            break
    return FractionalPacking(basis.times(len(patterns)), _upper(patterns, free, prices))


class _Basis:
    """The variables that may be above 0. There is one for each row."""

    def __init__(self, rows: int) -> None:
        """Begin with the slack variables."""
        # Pattern of each row, or -1 - row for a slack variable.
        self._variables = [-1 - row for row in range(rows)]
        # Value of each variable.
        self._values = [1.0] * rows
        # The inverse of the matrix of their columns, row by row.
        self._inverse = [
            [1.0 if row == column else 0.0 for column in range(rows)] for row in range(rows)
        ]

    def prices(self) -> list[float]:
        """Return the price of each row."""
        prices = [0.0] * len(self._values)
        for variable, line in zip(self._variables, self._inverse, strict=True):
            if variable >= 0:
                prices = [a + b for a, b in zip(prices, line, strict=True)]
        return prices

    def times(self, patterns: int) -> list[float]:
        """Return the number of times of each pattern."""
        times = [0.0] * patterns
        for variable, value in zip(self._variables, self._values, strict=True):
            if variable >= 0:
                times[variable] = max(0.0, value)
        return times

    def enter(self, variable: int, column: Sequence[tuple[int, float]]) -> bool:
        """Replace the variable that becomes 0 first. Return whether there is such a variable."""
        direction = [sum(line[row] * units for row, units in column) for line in self._inverse]
        leaving = _leaving(self._values, direction)
        if leaving is None:
            return False
        _pivot(self._inverse, self._values, direction, leaving)
        self._variables[leaving] = variable
        return True


def _entering(scaled: Sequence[Sequence[tuple[int, float]]], prices: Sequence[float]) -> int | None:
    """Return the pattern or slack variable (-1 - row) that improves most, or None if optimal."""
    best, entering = EPSILON, None
    for row, price in enumerate(prices):
        if -price > best:
            best, entering = -price, -1 - row
    for number, pattern in enumerate(scaled):
        gain = 1.0 - sum([prices[row] * units for row, units in pattern])
        if gain > best:
            best, entering = gain, number
    return entering


def _leaving(values: Sequence[float], direction: Sequence[float]) -> int | None:
    """Return the row of the variable that becomes 0 first."""
    best, leaving = 0.0, None
    for row, slope in enumerate(direction):
        if slope > EPSILON:
            ratio = values[row] / slope
            if leaving is None or ratio < best:
                best, leaving = ratio, row
    return leaving


def _pivot(
    inverse: list[list[float]], values: list[float], direction: Sequence[float], leaving: int
) -> None:
    """Replace the variable in a row of the basis."""
    slope = direction[leaving]
    pivot_row = inverse[leaving] = [entry / slope for entry in inverse[leaving]]
    step = values[leaving] / slope
    for row, factor in enumerate(direction):
        if row != leaving and factor:
            inverse[row] = [a - factor * b for a, b in zip(inverse[row], pivot_row, strict=True)]
            values[row] = max(0.0, values[row] - factor * step)
    values[leaving] = step


def _upper(patterns: Sequence[Pattern], free: Sequence[int], prices: Sequence[float]) -> int:
    """Return an upper bound that follows from any prices of the rows, whether optimal or not.

    If each pattern costs at least m at these prices, the number of patterns that fit is at most the
    price of all free units divided by m.
    """
    # Prices refer to scaled rows. A price for each unit is therefore divided by the free units.
    whole = [
        int(max(0.0, price) * PRICE_SCALE) * (1 << 64) // units if units else 0
        for price, units in zip(prices, free, strict=True)
    ]
    least = min(sum([whole[row] * units for row, units in pattern]) for pattern in patterns)
    if least <= 0:
        return sum(free)  # no pattern uses less than one unit
    return sum([price * units for price, units in zip(whole, free, strict=True)]) // least
