"""Why a host is rejected, and the figures that explanations report about it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from placement.candidates.model import Member
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import STOCK_CONDITIONS, Amount
from placement.candidates.trace import Refusal
from placement.inventory import Stock, largest, sizes

# Code -> its number in the order in which conditions are evaluated.
ORDER = {code: number for number, code in enumerate(Refusal)}

# Positions of the sharing providers that the text names. Each has the first amount and the first
# other term that it fails, or nothing if the terms of the cause are the reason.
SharingFaults = Sequence[tuple[int, Sequence[StatedTerm]]]


class SpecialCase(Enum):
    """A special case of a code, which has words of its own."""

    # For each term, a provider satisfies it, but no provider satisfies all terms.
    APART = auto()
    # Only providers that cannot serve the group for another reason satisfy the terms.
    ELSEWHERE = auto()
    # Only the root satisfies the terms. It has none of the classes.
    ON_ROOT = auto()
    # Only sharing providers have enough capacity.
    SHARED = auto()
    # Only sharing providers satisfy the terms, or have the classes. They cannot serve the group.
    POOLS = auto()
    # Neither providers of the host nor sharing providers can serve the amounts.
    WITH_POOLS = auto()
    # Providers that earlier checks reject may satisfy a single condition on the inventory.
    ROOM = auto()
    # The amounts of the groups together exceed max_unit, but not the free capacity.
    MAX_UNIT = auto()
    # There are too few providers for the isolated groups, even without regard to capacity.
    ISOLATION = auto()
    # The amounts do not fit, even in parts.
    PARTS = auto()
    # A group for a provider above the providers is missing in a rule about subtrees.
    SIBLINGS = auto()
    # Too few devices do not already serve in another way.
    CARDS = auto()
    # Devices would have to serve in two ways.
    WAYS = auto()
    # No provider is outside of the subtree of other groups.
    OUTSIDE = auto()
    # The groups together exceed the free capacity of each subtree.
    SUBTREE_SUM = auto()


class RejectionCause(NamedTuple):
    """Why a group has no provider left, or all groups together no assignment, on many hosts."""

    # The terms of one code that the last providers fail. Empty if the code joins groups.
    terms: tuple[StatedTerm, ...] = ()
    # The amounts that unsuitable providers lack, the amounts that suitable providers have, or the
    # sums that do not fit. Units are 0 if no provider has an inventory of the class.
    amounts: tuple[Amount, ...] = ()
    # The special case of the code. None means the general case, which the code describes.
    case: SpecialCase | None = None
    # Suffixes of isolated groups that have too few providers.
    groups: tuple[str, ...] = ()
    # Number of providers that fit any of these groups.
    providers: int = 0
    # The terms that unsuitable providers with enough capacity fail.
    others: tuple[StatedTerm, ...] = ()
    # The classes that exclusive devices already serve, or would have to serve in two ways. If there
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
    # Index of the slot without a provider, or -1 if no single slot is the cause.
    slot: int = -1
    # Positions of the providers that the last of the terms rejects.
    providers: Sequence[int] = ()
    # Positions of all providers that are rejected at the code.
    at_code: Sequence[int] = ()
    # For sums below one provider: the positions below each possible provider.
    subtrees: Sequence[Sequence[int]] = ()
    # The sharing providers that the text names.
    sharing: SharingFaults = ()
    # Position -> the first term except amounts that the provider fails.
    unsuitable: Mapping[int, StatedTerm] = {}


def first_rejection(rejections: Iterable[Rejection]) -> Rejection | None:
    """Return the rejection with the first code, or None if there are no rejections."""
    return min(rejections, key=lambda rejection: ORDER[rejection.code], default=None)


class Near(NamedTuple):
    """An inventory with enough free units, and the reason why it does not allow the amount."""

    # Free units.
    free: int
    # The code of the field that refuses the amount.
    code: Refusal
    # The value of the field, in units of the class.
    value: int
    # The next larger amount that would fit, or None if none would.
    next: int | None
    # The first other term that the provider fails, or None if it is suitable.
    other: StatedTerm | None

    @property
    def rank(self) -> tuple[bool, int]:
        """The order of such inventories. That of a suitable provider is the nearest."""
        return self.other is None, self.free


class Extreme(NamedTuple):
    """The largest or smallest value of the inventory field that rejects an amount."""

    # The value of the field, in units of the class.
    value: int
    # The next larger amount that some inventory allows, or None if no inventory does.
    next: int | None = None
    # The parts of a sum with their providers, on the host with the extreme.
    parts: "Parts | None" = None
    # For max_unit: the most free units of the inventories.
    free: int = 0
    # The nearest inventory with enough free units, or None if no inventory has enough.
    near: Near | None = None


class Parts(NamedTuple):
    """The parts of an amount that the providers of a host can serve."""

    # Number of providers.
    providers: int
    # Common max_unit of the providers if it limits each part, or None.
    max_unit: int | None


class SharingFault(NamedTuple):
    """The reason why a sharing provider cannot serve a group."""

    # The first term that the provider fails.
    term: StatedTerm
    # The value of its inventory that rejects the amount, or None if the term is not an amount.
    value: int | None
    # The next larger amount that would fit, or None.
    next: int | None = None
    # The free units, if they are fewer than the value, or None.
    free: int | None = None
    # The first other term that the provider fails as well, or None.
    other: StatedTerm | None = None


# -- the figures of inventories ------------------------------------------------------------------


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

    __slots__ = (
        "_figure",
        "_positions",
        "_sets",
        "_units",
        "_unsuitable",
        "cause",
        "extreme",
        "name",
    )

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
        self._unsuitable = rejection.unsuitable
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
                self._add_near(members[position], stock, self._unsuitable.get(position))

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

    def _add_near(self, member: Member, stock: Stock, other: StatedTerm | None) -> None:
        """Add an inventory of a provider that has enough free units of all classes."""
        if self.cause.case is not SpecialCase.ROOM or self.extreme is None:
            return
        if not all(_has_free(member, amount) for amount in self.cause.amounts):
            return
        for code, allows in STOCK_CONDITIONS:
            if not allows(stock, self._units):
                figure = _FIGURES[code]
                value = figure.from_stock(stock, self._units)
                fitting = not figure.is_largest and other is None
                following = _next_amount(stock, self._units) if fitting else None
                near = Near(stock.free, code, value, following, other)
                self.extreme = self.extreme._replace(near=_nearest(near, self.extreme.near))
                return

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
    free, near = max(known.free, extreme.free), _nearest(known.near, extreme.near)
    return Extreme(choose(known.value, extreme.value), following, free=free, near=near)


def _nearest(one: Near | None, other: Near | None) -> Near | None:
    return max(filter(None, (one, other)), key=lambda near: near.rank, default=None)


def _has_free(member: Member, amount: Amount) -> bool:
    stock = member.stocks.get(amount.resource_class)
    return stock is not None and stock.free >= amount.units


def fault(terms: Sequence[StatedTerm], member: Member) -> SharingFault | None:
    """Return why a sharing provider cannot serve a group, or None if no term is given."""
    if not terms:
        return None
    term, other = terms[0], terms[1] if len(terms) > 1 else None
    figure, amount = _FIGURES.get(term.code), term.value
    if figure is None or not isinstance(amount, Amount):
        return SharingFault(term, None)
    stock = member.stocks[amount.resource_class]
    fitting = not figure.is_largest and other is None
    following = _next_amount(stock, amount.units) if fitting else None
    value, free = figure.from_stock(stock, amount.units), stock.free
    left = free if figure.has_free and free < value else None
    return SharingFault(term, value, following, left, other)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the smallest amount above `units` that an inventory allows, or None."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
