"""The maximum number of consumers that one host can serve, as a packing of patterns.

Each consumer uses one of several patterns. A greedy packing is a lower bound. The linear relaxation
is an upper bound, and its rounded solution is often a better packing. If the bounds differ, branch
and bound finds the largest packing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd
from typing import NamedTuple

from placement.candidates.budget import BudgetSpentError, Charge
from placement.candidates.headroom.simplex import EPSILON, Pattern, relax

# Maximum number of free units of a row for which the reachable sums are computed, in multiples of
# the divisor of its amounts.
MAX_SUMS = 4096

# Maximum number of rows of a problem that is solved exactly. The relaxation needs memory for the
# square of this number.
MAX_ROWS = 500

# Pattern, by index -> the number of times that it is used.
Times = Mapping[int, int]


class Packing(NamedTuple):
    """A packing, and an upper bound for the best packing."""

    # How many times each pattern is used.
    times: Times
    # The number of patterns in the packing.
    lower: int
    # The number of patterns that no packing can exceed.
    upper: int

    @property
    def is_exact(self) -> bool:
        """Whether the packing is known to be the best."""
        return self.lower == self.upper


class PackingProblem(NamedTuple):
    """Patterns that compete for the units of the same rows."""

    # The patterns to pack. Each can be used any number of times.
    patterns: Sequence[Pattern]
    # Row -> free units.
    free: Sequence[int]

    def fitting(self) -> "tuple[PackingProblem, Sequence[int]]":
        """Return the problem with only the patterns that fit at least once, and their indexes."""
        numbers = [
            number for number, pattern in enumerate(self.patterns) if _times(pattern, self.free)
        ]
        patterns = [self.patterns[number] for number in numbers]
        return PackingProblem(patterns, tightened(patterns, self.free)), numbers


def pack_greedily(problem: PackingProblem, most: int, spend: Charge) -> Packing:
    """Use patterns until none fits, starting with the patterns that fit the most times.

    Args:
        problem: the patterns and the free units.
        most: a number that no packing exceeds.
        spend: charges the work.

    Raises:
        BudgetSpentError: the limit on work was reached.
    """
    free = list(problem.free)
    patterns = problem.patterns
    cost = sum(map(len, patterns))
    times: Counter[int] = Counter()
    total = 0
    open_patterns: Sequence[int] = range(len(patterns))
    while open_patterns and total < most:
        spend(cost)
        fits = {number: _times(patterns[number], free) for number in open_patterns}
        best = max(open_patterns, key=fits.__getitem__)
        if fits[best] == 0:
            break
        # Use half of them, because other patterns may fit more times afterwards.
        taken = min(most - total, max(1, fits[best] // 2))
        _take(free, patterns[best], taken)
        times[best] += taken
        total += taken
        open_patterns = [number for number, count in fits.items() if count]
    return Packing(times, total, most)


def pack(problem: PackingProblem, start: Packing, spend: Charge) -> Packing:
    """Improve a packing until it is known to be the best, or until the limit on work is reached.

    Problems of more than `MAX_ROWS` rows are not improved.

    Args:
        problem: the patterns and the free units.
        start: a packing.
        spend: charges the work.
    """
    best = start
    if len(problem.free) > MAX_ROWS:
        return start
    fitting, numbers = problem.fitting()
    try:
        if not numbers:
            return Packing({}, 0, 0)
        while best.lower < best.upper:
            more = _search(fitting, best.lower + 1, spend)
            if isinstance(more, int):
                best = best._replace(upper=min(best.upper, max(more, best.lower)))
            else:
                times = {numbers[number]: count for number, count in more.items() if count}
                best = Packing(times, sum(times.values()), best.upper)
    except BudgetSpentError:
        pass
    return best


class _Node(NamedTuple):
    """A subset of the packings.

    Some patterns are already used, and the use of others is limited.
    """

    # The patterns. A pattern with a limit has an additional row, with the limit as free units.
    patterns: Sequence[Pattern]
    # Row -> units that remain after the used patterns.
    free: Sequence[int]
    # Used patterns, by index.
    taken: Counter[int]


def _search(problem: PackingProblem, needed: int, spend: Charge) -> Times | int:
    """Return a packing of at least this number of patterns, or an upper bound below this number.

    The search is a depth-first branch and bound. One branch limits the number of times that a
    pattern is used, and the other branch uses it more often.
    """
    highest = 0
    nodes = [_Node(problem.patterns, problem.free, Counter())]
    while nodes:
        node = nodes.pop()
        before = node.taken.total()
        fits = [_times(pattern, node.free) for pattern in node.patterns]
        spend(len(fits))
        numbers = [number for number, count in enumerate(fits) if count]
        if not numbers:
            highest = max(highest, before)
            if before >= needed:
                return node.taken
            continue
        patterns = [node.patterns[number] for number in numbers]
        relaxation = relax(patterns, node.free, spend)
        upper = before + relaxation.upper
        if upper < needed:
            highest = max(highest, upper)
            continue
        taken = node.taken.copy()
        free = list(node.free)
        for number, times in zip(numbers, relaxation.times, strict=True):
            count = int(times + EPSILON)
            count = min(count, _times(node.patterns[number], free))
            _take(free, node.patterns[number], count)
            taken[number] += count
        rest = pack_greedily(PackingProblem(node.patterns, free), upper - taken.total(), spend)
        taken.update(rest.times)
        if taken.total() >= needed:
            return taken
        nodes += _branches(node, numbers, relaxation.times)
    return min(highest, needed - 1)


def _branches(node: _Node, numbers: Sequence[int], times: Sequence[float]) -> list[_Node]:
    """Return two nodes that together contain all packings of a node.

    The second one is tried first.
    """
    # The pattern whose count is farthest from a whole number. If all counts are whole, any pattern.
    fraction, index = max(
        (min(count - int(count), 1 - count + int(count)), index)
        for index, count in enumerate(times)
    )
    if fraction < EPSILON:
        index = max(range(len(times)), key=times.__getitem__)
    number, limit = numbers[index], int(times[index])
    pattern = node.patterns[number]
    limited = list(node.patterns)
    limited[number] = (*pattern, (len(node.free), 1))
    at_most = _Node(limited, [*node.free, limit], node.taken)
    free, taken = list(node.free), node.taken.copy()
    if _times(pattern, free) <= limit:
        return [at_most]
    _take(free, pattern, limit + 1)
    taken[number] += limit + 1
    return [at_most, _Node(node.patterns, free, taken)]


def _times(pattern: Pattern, free: Sequence[int]) -> int:
    """Return how many times a pattern fits if no other pattern is used."""
    return min([free[row] // units for row, units in pattern])


def _take(free: list[int], pattern: Pattern, times: int) -> None:
    for row, units in pattern:
        free[row] -= units * times


def tightened(patterns: Sequence[Pattern], free: Sequence[int]) -> list[int]:
    """Return the maximum use of each row in any packing."""
    amounts: list[set[int]] = [set() for _row in free]
    for pattern in patterns:
        for row, units in pattern:
            amounts[row].add(units)
    return [largest_sum(amounts[row], units) for row, units in enumerate(free)]


def largest_sum(amounts: set[int], most: int) -> int:
    """Return the largest sum up to a bound, if each amount can be used any number of times."""
    if not amounts or most <= 0:
        return 0
    divisor = gcd(*amounts)
    if len(amounts) == 1 or most // divisor > MAX_SUMS:
        return most // divisor * divisor
    limit = most // divisor
    sums = 1  # bit n is set if the sum n is reachable
    for amount in amounts:
        step = amount // divisor
        while step <= limit:
            sums |= sums << step
            step *= 2
    sums &= (1 << (limit + 1)) - 1
    return (sums.bit_length() - 1) * divisor
