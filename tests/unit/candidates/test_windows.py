"""Windows cover every root once, and there are few of them."""

import math

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.trees.roots import (
    Window,
    WindowResult,
    first_size,
    next_window,
    random_runs,
)
from placement.candidates.tuning import DEFAULT_TUNING as TUNING


def read(
    roots: list[int], matching: set[int], limit: int | None, size: int | None
) -> tuple[list[int], int]:
    """The roots read in the order read, and the number of windows; `size` is of the first one."""
    read: list[int] = []
    count = matches = 0
    window: Window | None = Window(0, size)
    while window is not None:
        count += 1
        run = [root for root in roots if root > window.after][: window.size]
        served = len(matching.intersection(run))
        matches += served
        result = WindowResult(len(run), run[-1] if run else window.after, served)
        read += run
        missing = None if limit is None else limit - matches
        window = next_window(window, result, missing, TUNING)
    return read, count


ROOTS = st.sets(st.integers(1, 3000), max_size=800).map(sorted)


@given(ROOTS, st.integers(1, 40), st.floats(0, 1))
def test_every_root_is_read_once(roots: list[int], limit: int, share: float) -> None:
    matching = set(roots[: int(len(roots) * share)])
    everything, count = read(roots, matching, limit, first_size(limit, TUNING))
    assert everything == roots
    growth = math.log(max(len(roots), 1) / TUNING.smallest_window + 1, TUNING.window_growth)
    assert count <= growth + 2


@given(ROOTS)
def test_where_few_are_known_to_match_one_statement_reads_all(roots: list[int]) -> None:
    assert read(roots, set(roots), None, None) == (roots, 1)


def test_without_a_limit_windows_grow_to_a_bound() -> None:
    roots = list(range(1, 100_001))
    assert read(roots, set(roots), None, first_size(None, TUNING)) == (roots, 10)


def test_with_a_limit_the_second_window_is_as_large_as_the_matches_promise() -> None:
    first = Window(0, first_size(1000, TUNING))
    every = next_window(first, WindowResult(64, 64, 64), 1000 - 64, TUNING)
    assert every == Window(64, 1030)
    half = next_window(first, WindowResult(64, 64, 32), 1000 - 32, TUNING)
    assert half == Window(64, 2130)


def test_rare_matches_are_asked_for_at_once() -> None:
    _roots, count = read(list(range(1, 10_001)), {9_000}, 10, first_size(10, TUNING))
    assert count == 2


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 4096))
def test_a_random_sample_begins_anywhere_among_the_roots(least: int, more: int, size: int) -> None:
    runs = random_runs(least, least + more, size, TUNING)
    assert len(runs) == TUNING.sample_runs
    assert all(least <= after + 1 <= least + more for after, _length in runs)
    assert size <= sum(length for _after, length in runs) < size + TUNING.sample_runs
