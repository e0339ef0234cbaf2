"""The largest number of consumers that one host can take, as a packing of patterns.

Each consumer takes one of several patterns. A greedy packing is a lower bound. The linear
relaxation is an upper bound, and rounded down it is often a better packing. If the bounds differ,
branch and bound finds the largest packing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd
from typing import NamedTuple

from placement.candidates.budget import BudgetSpentError, Charge
from placement.candidates.headroom.simplex import EPSILON, Pattern, relax

# Maximum room of a row, in multiples of the divisor of its amounts, for which the reachable sums
# are computed.
MAX_SUMS = 4096

# Maximum number of rows of a problem that is solved exactly. The relaxation needs memory for the
# square of this number.
MAX_ROWS = 500

# Number of times that a pattern is taken, by its index.
Times = Mapping[int, int]


class Packing(NamedTuple):
    """A packing, and a bound on the best one."""

    # How often each pattern is taken.
    times: Times
    # The number of patterns that were packed.
    lower: int
    # The number that no packing exceeds.
    upper: int

    @property
    def is_exact(self) -> bool:
        """Whether the packing is known to be the best."""
        return self.lower == self.upper


class PackingProblem(NamedTuple):
    """Patterns that share the room of some rows."""

    # The patterns to pack, each any number of times.
    patterns: Sequence[Pattern]
    # Row -> units.
    room: Sequence[int]

    def fitting(self) -> "tuple[PackingProblem, Sequence[int]]":
        """Return the problem of the patterns that fit at least once, and their indexes."""
        numbers = [
            number for number, pattern in enumerate(self.patterns) if _times(pattern, self.room)
        ]
        patterns = [self.patterns[number] for number in numbers]
        return PackingProblem(patterns, tightened(patterns, self.room)), numbers


def pack_greedily(problem: PackingProblem, most: int, spend: Charge) -> Packing:
    """Take patterns while any fits, starting with the patterns that have the most room.

    Args:
        problem: the patterns and their room.
        most: a number that no packing exceeds.
        spend: charges the work.

    Raises:
        BudgetSpentError: the bound on work was reached.
    """
    room = list(problem.room)
    patterns = problem.patterns
    cost = sum(map(len, patterns))
    times: Counter[int] = Counter()
    total = 0
    open_patterns: Sequence[int] = range(len(patterns))
    while open_patterns and total < most:
        spend(cost)
        fits = [(_times(patterns[number], room), -number) for number in open_patterns]
        number_of_times, negated = max(fits)
        if number_of_times == 0:
            break
        # Take half of them, because other patterns may have more room then.
        taken = min(most - total, max(1, number_of_times // 2))
        _take(room, patterns[-negated], taken)
        times[-negated] += taken
        total += taken
        open_patterns = [-negated for count, negated in reversed(fits) if count]
    return Packing(times, total, most)


def pack(problem: PackingProblem, start: Packing, spend: Charge) -> Packing:
    """Improve a packing until it is known to be the best, or the bound on work is reached.

    Problems of more than `MAX_ROWS` rows are not improved.

    Args:
        problem: the patterns and their room.
        start: a packing.
        spend: charges the work.
    """
    best = start
    if len(problem.room) > MAX_ROWS:
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
    """A subset of the packings, in which some patterns are taken already and others are limited."""

    # The patterns; a limited one uses a row of its own, whose room is its limit.
    patterns: Sequence[Pattern]
    # Row -> units that the taken patterns leave.
    room: Sequence[int]
    # Patterns taken, by index.
    taken: Counter[int]


def _search(problem: PackingProblem, needed: int, spend: Charge) -> Times | int:
    """Return a packing of at least so many patterns, or an upper bound below this number.

    Depth-first branch and bound. One branch limits how often a pattern is taken, and the other
    takes it more often.
    """
    highest = 0
    nodes = [_Node(problem.patterns, problem.room, Counter())]
    while nodes:
        node = nodes.pop()
        before = node.taken.total()
        fits = [_times(pattern, node.room) for pattern in node.patterns]
        spend(len(fits))
        numbers = [number for number, count in enumerate(fits) if count]
        if not numbers:
            highest = max(highest, before)
            if before >= needed:
                return node.taken
            continue
        patterns = [node.patterns[number] for number in numbers]
        relaxation = relax(patterns, node.room, spend)
        upper = before + relaxation.upper
        if upper < needed:
            highest = max(highest, upper)
            continue
        taken = node.taken.copy()
        room = list(node.room)
        for number, times in zip(numbers, relaxation.times, strict=True):
            count = int(times + EPSILON)
            count = min(count, _times(node.patterns[number], room))
            _take(room, node.patterns[number], count)
            taken[number] += count
        rest = pack_greedily(PackingProblem(node.patterns, room), upper - taken.total(), spend)
        taken.update(rest.times)
        if taken.total() >= needed:
            return taken
        nodes += _branches(node, numbers, relaxation.times)
    return min(highest, needed - 1)


def _branches(node: _Node, numbers: Sequence[int], times: Sequence[float]) -> list[_Node]:
    """Return two nodes that together have all packings of a node. The second is tried first."""
    # The pattern whose number of times is farthest from whole numbers, otherwise any.
    fraction, index = max(
        (min(count - int(count), 1 - count + int(count)), index)
        for index, count in enumerate(times)
    )
    if fraction < EPSILON:
        index = max(range(len(times)), key=times.__getitem__)
    number, limit = numbers[index], int(times[index])
    pattern = node.patterns[number]
    limited = list(node.patterns)
    limited[number] = (*pattern, (len(node.room), 1))
    at_most = _Node(limited, [*node.room, limit], node.taken)
    room, taken = list(node.room), node.taken.copy()
    if _times(pattern, room) <= limit:
        return [at_most]
    _take(room, pattern, limit + 1)
    taken[number] += limit + 1
    return [at_most, _Node(node.patterns, room, taken)]


def _times(pattern: Pattern, room: Sequence[int]) -> int:
    """Return how often a pattern fits if no other pattern is taken."""
    return min([room[row] // units for row, units in pattern])


def _take(room: list[int], pattern: Pattern, times: int) -> None:
    for row, units in pattern:
        room[row] -= units * times


def tightened(patterns: Sequence[Pattern], room: Sequence[int]) -> list[int]:
    """Return the most of each row that any packing can use."""
    amounts: list[set[int]] = [set() for _row in room]
    for pattern in patterns:
        for row, units in pattern:
            amounts[row].add(units)
    return [largest_sum(amounts[row], units) for row, units in enumerate(room)]


def largest_sum(amounts: set[int], most: int) -> int:
    """Return the largest sum of the amounts, each taken any number of times, up to a bound."""
    if not amounts or most <= 0:
        return 0
    divisor = gcd(*amounts)
    if len(amounts) == 1 or most // divisor > MAX_SUMS:
        return most // divisor * divisor
    limit = most // divisor
    sums = 1  # bit n: the sum n is reachable
    for amount in amounts:
        step = amount // divisor
        while step <= limit:
            sums |= sums << step
            step *= 2
    sums &= (1 << (limit + 1)) - 1
    return (sums.bit_length() - 1) * divisor
