"""What inventories have at the most, or at the least, of what an amount failed."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from falcon_placement_client.inventory import Stock, sizes
from placement.candidates.explanation.profiles import Extreme, Fall, FallCause
from placement.candidates.model import Member
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

# Refusal code -> whether the most or the least is reported, and of which field of an inventory.
_MEASURES: Mapping[Refusal, tuple[bool, Callable[[Stock], int]]] = {
    Refusal.MIN_UNIT: (False, lambda stock: stock.min_unit),
    Refusal.MAX_UNIT: (True, lambda stock: stock.max_unit),
    Refusal.STEP_SIZE: (False, lambda stock: stock.step_size),
    Refusal.CAPACITY: (True, lambda stock: stock.capacity - stock.used),
}

# Codes after which a larger amount may fit.
_ADVISED = frozenset({Refusal.MIN_UNIT, Refusal.STEP_SIZE})


class Measure:
    """The extreme of one class at one fall, of the hosts that are alike."""

    __slots__ = (
        "_advised",
        "_most",
        "_of_stock",
        "_positions",
        "_units",
        "cause",
        "extreme",
        "name",
    )

    def __init__(self, fall: Fall, amount: Amount) -> None:
        code = fall.cause.by or fall.code
        self.cause: FallCause = fall.cause
        self.name, self._units = amount
        self.extreme: Extreme | None = None
        self._positions = fall.at_code
        self._most, self._of_stock = _MEASURES[code]
        self._advised = code in _ADVISED

    def note(self, members: Sequence[Member]) -> None:
        """Look at the inventories of a host; members: of its pool."""
        for position in self._positions:
            stock = members[position].stocks.get(self.name)
            if stock is None:
                continue
            there = self._of_stock(stock)
            known = self.extreme
            following = _next_amount(stock, self._units) if self._advised else None
            if known is None or following or (there > known.there) == self._most:
                self.extreme = wider(self._most, known, Extreme(there, following))


def measures(falls: Sequence[Fall]) -> Iterator[Measure]:
    """Yield what is to be noted of the hosts that have these falls."""
    for fall in falls:
        cause = fall.cause
        if (cause.by or fall.code) in _MEASURES:
            amounts = [term.value for term in cause.terms]
            for amount in amounts or [Amount(name, 0) for name in cause.classes]:
                assert isinstance(amount, Amount)
                yield Measure(fall, amount)


def wider_at(code: Refusal, known: Extreme | None, extreme: Extreme) -> Extreme:
    """Return the extreme of both, as far as one is known, of what a code measures."""
    most, _of_stock = _MEASURES[code]
    return wider(most, known, extreme)


def wider(most: bool, known: Extreme | None, extreme: Extreme) -> Extreme:
    """Return the extreme of both, as far as one is known; most: not the least."""
    if known is None:
        return extreme
    choose = max if most else min
    following = min(filter(None, (known.next, extreme.next)), default=None)
    return Extreme(choose(known.there, extreme.there), following)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the least amount above one asked that a stock would give; None: it gives none."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
