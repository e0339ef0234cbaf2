"""How often patterns fit together, against brute force."""

import random
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import pytest

from placement.candidates.budget import Budget, uncharged
from placement.candidates.headroom.packing import (
    MAX_ROWS,
    Packing,
    PackingProblem,
    largest_sum,
    pack,
    pack_greedily,
)
from placement.candidates.headroom.simplex import Pattern, relax

UPPER = 10**6


def best(patterns: Sequence[Pattern], free: Sequence[int]) -> int:
    """The largest number of patterns, by trying all."""

    @cache
    def most(first: int, left: tuple[int, ...]) -> int:
        numbers = [0]
        for number in range(first, len(patterns)):
            rest = list(left)
            for row, units in patterns[number]:
                rest[row] -= units
            if min(rest) >= 0:
                numbers.append(1 + most(number, tuple(rest)))
        return max(numbers)

    return most(0, tuple(free))


def solved(patterns: Sequence[Pattern], free: Sequence[int]) -> Packing:
    return pack(PackingProblem(patterns, free), Packing({}, 0, UPPER), uncharged)


def any_problem(rng: random.Random) -> tuple[list[Pattern], list[int]]:
    rows = rng.randint(1, 5)
    free = [rng.randint(0, 9) for _ in range(rows)]
    patterns = {
        tuple(
            (row, rng.randint(1, 4))
            for row in sorted(rng.sample(range(rows), rng.randint(1, rows)))
        )
        for _ in range(rng.randint(1, 8))
    }
    return sorted(patterns), free


def test_the_packing_is_the_best_one_and_fits() -> None:
    rng = random.Random(5)
    for _ in range(400):
        patterns, free = any_problem(rng)
        packing = solved(patterns, free)
        assert (packing.lower, packing.upper) == (best(patterns, free),) * 2
        assert sum(packing.times.values()) == packing.lower
        for row, units in enumerate(free):
            used = sum(
                dict(patterns[number]).get(row, 0) * times
                for number, times in packing.times.items()
            )
            assert used <= units


def test_the_bound_of_the_relaxation_is_never_too_low() -> None:
    rng = random.Random(6)
    for _ in range(400):
        patterns, free = any_problem(rng)
        fitting, _numbers = PackingProblem(patterns, free).fitting()
        if fitting.patterns:
            upper = relax(fitting.patterns, fitting.free, uncharged).upper
            assert upper >= best(patterns, free)


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_ways_are_decided_within_the_bound_on_work(seed: int) -> None:
    """Four groups on eleven devices: 1,001 ways to choose different devices for equal groups."""
    rng = random.Random(seed)
    devices = range(14)
    ways = [tuple((device, 1) for device in chosen) for chosen in combinations(devices, 4)]
    assert len(ways) == 1001
    free = [rng.randint(1, 40) for _ in devices]
    budget = Budget(2_000_000)
    packing = pack(PackingProblem(ways, free), Packing({}, 0, UPPER), budget.spend)
    assert packing.is_exact
    number = packing.lower
    # The number of consumers whose four devices are all different has a closed form.
    assert sum(min(number, units) for units in free) >= 4 * number
    assert sum(min(number + 1, units) for units in free) < 4 * (number + 1)


def test_a_bound_on_work_leaves_an_interval() -> None:
    rng = random.Random(7)
    patterns = [tuple((row, rng.randint(3, 9)) for row in range(6)) for _ in range(30)]
    free = [100] * 6
    exact = solved(patterns, free)
    for steps in (1, 10, 100, 1000):
        budget = Budget(steps)
        packing = pack(PackingProblem(patterns, free), Packing({}, 0, UPPER), budget.spend)
        assert packing.lower <= exact.lower <= packing.upper


def test_a_greedy_packing_fits() -> None:
    problem = PackingProblem([((0, 2), (1, 1)), ((1, 3),)], [7, 9])
    packing = pack_greedily(problem, UPPER, uncharged)
    assert packing.lower == 3 + 2


@pytest.mark.parametrize(
    ("amounts", "most", "expected"),
    [({2}, 7, 6), ({4, 6}, 15, 14), ({5, 7}, 13, 12), ({5, 7}, 4, 0), (set(), 9, 0), ({3}, -1, 0)],
)
def test_the_largest_sum_of_amounts(amounts: set[int], most: int, expected: int) -> None:
    assert largest_sum(amounts, most) == expected


def test_a_problem_of_very_many_rows_keeps_its_interval() -> None:
    patterns = [((row, 1),) for row in range(MAX_ROWS + 1)]
    start = Packing({}, 0, UPPER)
    assert pack(PackingProblem(patterns, [1] * len(patterns)), start, uncharged) == start
