"""What inventories have at the most, or at the least, of what an amount failed."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from placement.candidates.explanation.profiles import Cause, Extreme, Extremes, Fall
from placement.candidates.model import Pool
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
    amounts = [(term.resource_class, term.amount) for term in cause.terms]
    for name, amount in amounts or [(name, None) for name in cause.classes]:
        members = [pool.members[position] for position in fall.at_code]
        stocks = [member.stocks[name] for member in members if name in member.stocks]
        following = None
        if fall.code in _ADVISED and amount is not None:
            following = _next_amount(stocks, amount)
        extreme = Extreme(reduce(choose, map(of_stock, stocks)), following)
        add(extremes, fall.code, cause, name, extreme)


def add(extremes: Extremes, code: Refusal, cause: Cause, name: str, extreme: Extreme) -> None:
    """Add an extreme of a class to those of the hosts before."""
    by_class = extremes.setdefault(cause, {})
    known = by_class.get(name)
    if known is not None:
        choose, _of_stock = _MEASURES[cause.by or code]
        following = min(filter(None, (known.next, extreme.next)), default=None)
        extreme = Extreme(choose(known.there, extreme.there), following)
    by_class[name] = extreme


def _next_amount(stocks: Iterable[Stock], amount: int) -> int | None:
    """Return the least amount from one on that some stock would give; None: none would."""
    amounts = [sizes(stock, stock.room) for stock in stocks]
    larger = [each[max(0, -(-(amount - each.start) // each.step)) :] for each in amounts]
    return min((each[0] for each in larger if each), default=None)
