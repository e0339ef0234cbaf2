"""Why a host is rejected, and the figures that explanations report about it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from placement.candidates.model import Member, Refusal
from placement.candidates.request import StatedTerm
from placement.candidates.terms import Amount
from placement.inventory import Stock, largest

# Code -> its number in the order in which conditions are evaluated.
ORDER = {code: number for number, code in enumerate(Refusal)}


class SpecialCase(Enum):
    """A special case of a code, which has words of its own."""

    # For each term, a provider satisfies it, but no provider satisfies all terms.
    APART = auto()
    # Only providers that cannot serve the group for another reason satisfy the terms.
    ELSEWHERE = auto()
    # Providers that earlier checks reject may satisfy a single condition on the inventory.
    ROOM = auto()
    # The amounts do not fit, even in parts.
    PARTS = auto()
    # The free units suffice for the sum, but not those that max_unit allows.
    LIMITED = auto()
    # The allowed free units suffice for the sum, but no division among the providers fits.
    DIVIDED = auto()
    # Providers satisfy the rule about subtrees, but with too little room.
    AMOUNTS = auto()
    # The providers of a rule about subtrees are only below others.
    ABOVE = auto()
    # Devices would have to serve in two ways.
    WAYS = auto()


class RejectionCause(NamedTuple):
    """Why a group has no provider left, or all groups together no assignment, on many hosts."""

    # The terms of one code that the last providers fail. If the code joins groups: the rules that
    # no assignment satisfies, or empty.
    terms: tuple[StatedTerm, ...] = ()
    # The amounts that unsuitable providers lack, the amounts that suitable providers have, or the
    # sums that do not fit. Units are 0 if no provider has an inventory of the class.
    amounts: tuple[Amount, ...] = ()
    # The special case of the code. None means the general case, which the code describes.
    case: SpecialCase | None = None
    # Suffixes of the groups that have too few providers.
    groups: tuple[str, ...] = ()
    # Number of providers that fit any of these groups.
    providers: int = 0
    # The terms that unsuitable providers with enough capacity fail.
    others: tuple[StatedTerm, ...] = ()
    # The classes that devices already serve, or would have to serve in two ways. If there
    # are any, the text states them whatever the code is.
    classes: tuple[str, ...] = ()


class Rejection(NamedTuple):
    """The code at which a group loses its last provider, or all groups their last assignment."""

    # The code of the last condition that a provider or assignment fails.
    code: Refusal
    # Suffix of the group, or None for the root and for codes that join groups.
    group: str | None
    # The cause of the rejection.
    cause: RejectionCause = RejectionCause()
    # Positions of the providers that the last of the terms rejects.
    providers: Sequence[int] = ()
    # Positions of all providers that are rejected at the code.
    at_code: Sequence[int] = ()
    # Further amounts for which no provider has room, if the code concerns the units of amounts.
    others: Sequence[StatedTerm] = ()


class Extreme(NamedTuple):
    """The largest or smallest value of the inventory field that rejects an amount."""

    # The value of the field, in units of the class.
    value: int
    # The most free units of the inventories.
    free: int = 0
    # The largest max_unit of the inventories.
    max_unit: int = 0
    # UUID of the sharing provider that has the value, or empty.
    pool: str = ""


# -- the figures of inventories ------------------------------------------------------------------


class InventoryFigure(NamedTuple):
    """The inventory value to report for a code."""

    # Returns the value of one inventory, for the requested units.
    from_stock: Callable[[Stock, int], int]
    # Whether to report the largest value. False means the smallest.
    is_largest: bool = True
    # Whether to add up the values of all providers of a host.
    is_sum: bool = False

    def merge(self, known: Extreme | None, other: Extreme) -> Extreme:
        """Return the extreme of the inventories of two sets of hosts; None means no hosts."""
        if known is None:
            return other
        # Among equal values, that of a sharing provider comes first.
        sign = 1 if self.is_largest else -1
        extreme = max(known, other, key=lambda each: (sign * each.value, each.pool))
        free, max_unit = max(known.free, other.free), max(known.max_unit, other.max_unit)
        return extreme._replace(free=free, max_unit=max_unit)


# Special case or, for other cases, code -> the value to report.
_FIGURES: Mapping[Refusal | SpecialCase | None, InventoryFigure] = {
    Refusal.MIN_UNIT: InventoryFigure(lambda stock, _units: stock.min_unit, is_largest=False),
    Refusal.MAX_UNIT: InventoryFigure(lambda stock, _units: stock.max_unit),
    Refusal.STEP_SIZE: InventoryFigure(lambda stock, _units: stock.step_size, is_largest=False),
    Refusal.CAPACITY: InventoryFigure(lambda stock, _units: stock.free),
    SpecialCase.ROOM: InventoryFigure(largest),
    Refusal.CAPACITY_SUM: InventoryFigure(lambda stock, _units: stock.free, is_sum=True),
    SpecialCase.PARTS: InventoryFigure(largest, is_sum=True),
    # The sharing provider with the most free units, among the providers outside of these places.
    **dict.fromkeys(
        (Refusal.NOT_IN_AGGREGATE, Refusal.IN_TREE, Refusal.SUBTREE),
        InventoryFigure(lambda stock, _units: stock.free),
    ),
}


class Measure:
    """The extreme of one class for one rejection, over all hosts of an evaluation."""

    __slots__ = ("_positions", "_units", "cause", "extreme", "figure", "name")

    def __init__(self, rejection: Rejection, figure: InventoryFigure, amount: Amount) -> None:
        # The cause to which the extreme belongs.
        self.cause: RejectionCause = rejection.cause
        # The class, and the requested units.
        self.name, self._units = amount
        # The extreme so far, or None if no inventory has been measured.
        self.extreme: Extreme | None = None
        # Positions in the pool of the providers rejected at the code.
        self._positions = rejection.at_code
        # The value to measure.
        self.figure = figure

    def add(self, members: Sequence[Member], local: int) -> None:
        """Add the inventories of a host.

        Args:
            members: All providers of its pool.
            local: The number of those that are in its tree.
        """
        figure, units = self.figure, self._units
        values: list[Extreme] = []
        for position in self._positions:
            member = members[position]
            stock = member.stocks.get(self.name)
            if stock is not None:
                value, pool = figure.from_stock(stock, units), member.uuid * (position >= local)
                values.append(Extreme(value, stock.free, stock.max_unit, pool))
        if figure.is_sum:
            max_unit = max([each.max_unit for each in values], default=0)
            values = [Extreme(sum([each.value for each in values]), max_unit=max_unit)]
        for each in values:
            self.extreme = figure.merge(self.extreme, each)


def measures(rejections: Sequence[Rejection]) -> Iterator[Measure]:
    """Yield the measures for hosts with the given rejections."""
    for rejection in rejections:
        cause = rejection.cause
        figure = _FIGURES.get(cause.case) or _FIGURES.get(rejection.code)
        pairs = [
            (amount, figure) for amount in cause.amounts or [each.value for each in cause.terms]
        ]
        pairs += [(term.value, _FIGURES.get(term.code)) for term in rejection.others]
        for amount, figure in pairs:
            if figure is not None and isinstance(amount, Amount):
                yield Measure(rejection, figure, amount)
