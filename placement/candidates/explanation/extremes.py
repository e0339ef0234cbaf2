"""What inventories have at the most, or at the least, of what an amount failed."""

from collections.abc import Callable, Mapping

from placement.candidates.explanation.profiles import Cause, Extreme, Extremes, Fall
from placement.candidates.model import Pool
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.client.inventory import Stock, sizes

# Refusal code -> whether the least or the most is reported, and of which field of an inventory.
_MEASURES: Mapping[Refusal, tuple[Callable[[int, int], int], Callable[[Stock], int]]] = {
    Refusal.MIN_UNIT: (min, lambda stock: stock.min_unit),
    Refusal.MAX_UNIT: (max, lambda stock: stock.max_unit),
    Refusal.STEP_SIZE: (min, lambda stock: stock.step_size),
    Refusal.CAPACITY: (max, lambda stock: stock.capacity - stock.used),
}

# Codes after which a larger amount may fit.
_ADVISED = frozenset({Refusal.MIN_UNIT, Refusal.STEP_SIZE})


def note(extremes: Extremes, pool: Pool, fall: Fall) -> None:
    """Add what the inventories of a host have of what it failed."""
    cause = fall.cause
    measure = _MEASURES.get(cause.by or fall.code)
    if measure is None:
        return
    choose, of_stock = measure
    by_class = extremes.setdefault(cause, {})
    amounts = [term.value for term in cause.terms] or [Amount(name, 0) for name in cause.classes]
    for amount in amounts:
        assert isinstance(amount, Amount)
        name, units = amount
        there, following = by_class.get(name, (None, None))
        # PERF: every host comes here, with each provider that fell out.
        for position in fall.at_code:
            stock = pool.members[position].stocks.get(name)
            if stock is None:
                continue
            value = of_stock(stock)
            there = value if there is None else choose(there, value)
            if fall.code in _ADVISED:
                following = _least(following, _next_amount(stock, units))
        if there is not None:
            by_class[name] = Extreme(there, following)


def add(extremes: Extremes, code: Refusal, cause: Cause, more: Mapping[str, Extreme]) -> None:
    """Add what other hosts have of the classes of a cause."""
    by_class = extremes.setdefault(cause, {})
    for name, extreme in more.items():
        known = by_class.get(name)
        if known is not None:
            choose, _of_stock = _MEASURES[cause.by or code]
            following = _least(known.next, extreme.next)
            by_class[name] = Extreme(choose(known.there, extreme.there), following)
        else:
            by_class[name] = extreme


def _least(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two numbers; None where there is neither."""
    return min(filter(None, (one, other)), default=None)


def _next_amount(stock: Stock, units: int) -> int | None:
    """Return the least amount above one asked that a stock would give; None: it gives none."""
    amounts = sizes(stock, stock.room)
    steps = max(0, -(-(units - amounts.start) // amounts.step))
    return amounts[steps] if steps < len(amounts) else None
