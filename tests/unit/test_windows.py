"""Windows cover every root once, and there are few of them."""

import math

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.windows import PIECES, SMALLEST, Seen, first_size, random_runs, windows


def read(roots: list[int], matching: set[int], first: int | None) -> tuple[list[int], int]:
    """The roots read in the order read, and the number of windows."""
    seen, found, count = Seen(), [], 0
    for window in windows(first, seen):
        count += 1
        run = [root for root in roots if root > window.after]
        if window.size is not None:
            run = run[: window.size]
            seen.rows, seen.matches = len(run), len(matching.intersection(run))
            seen.last = run[-1] if run else window.after
        found += run
    return found, count


ROOTS = st.sets(st.integers(1, 3000), max_size=800).map(sorted)


@given(ROOTS, st.integers(1, 40), st.floats(0, 1))
def test_every_root_is_read_once(roots, limit, share) -> None:
    found, count = read(roots, set(roots[: int(len(roots) * share)]), first_size(limit))
    assert found == roots
    growth = math.log(max(len(roots), 1) / max(2 * limit, SMALLEST) + 1, 4)
    assert count <= growth + 2


@given(ROOTS)
def test_where_few_are_known_to_match_one_statement_reads_all(roots) -> None:
    assert read(roots, set(roots), None) == (roots, 1)


def test_without_a_limit_windows_grow_to_a_bound() -> None:
    roots = list(range(1, 100_001))
    assert read(roots, set(roots), first_size(None)) == (roots, 10)


def test_rare_matches_are_asked_for_at_once() -> None:
    _found, count = read(list(range(1, 10_001)), {9_000}, first_size(10))
    assert count == 2


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 4096))
def test_a_random_sample_begins_anywhere_among_the_roots(least, more, size) -> None:
    runs = random_runs(least, least + more, size)
    assert len(runs) == PIECES
    assert all(least <= run.after + 1 <= least + more for run in runs)
    assert size <= sum(run.size or 0 for run in runs) < size + PIECES
