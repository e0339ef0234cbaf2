"""Windows cover every root once, and there are few of them."""

import math

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.windows import SMALLEST, Seen, first_size, random_ranges, windows


def read(roots: list[int], matching: set[int], first: int | None, ranges) -> tuple[list[int], int]:
    """The roots read in the order read, and the number of windows."""
    seen, found, count = Seen(), [], 0
    for window in windows(first, ranges, seen):
        count += 1
        run = [
            root
            for root in roots
            if root > window.after and (window.up_to is None or root <= window.up_to)
        ]
        if window.size is not None:
            run = run[: window.size]
            seen.rows, seen.matches = len(run), len(matching.intersection(run))
            seen.last = run[-1] if run else window.after
        found += run
    return found, count


ROOTS = st.sets(st.integers(1, 3000), max_size=800).map(sorted)


@given(ROOTS, st.integers(1, 40), st.floats(0, 1), st.booleans())
def test_every_root_is_read_once(roots, limit, share, randomly) -> None:
    matching = set(roots[: int(len(roots) * share)])
    ranges = random_ranges(max(roots, default=0)) if randomly else [(0, None)]
    found, count = read(roots, matching, first_size(limit), ranges)
    assert sorted(found) == roots
    if not randomly:
        growth = math.log(max(len(roots), 1) / max(2 * limit, SMALLEST) + 1, 4)
        assert count <= growth + 2


@given(ROOTS)
def test_where_few_are_known_to_match_one_statement_reads_all(roots) -> None:
    found, count = read(roots, set(roots), None, [(0, None)])
    assert (found, count) == (roots, 1)


def test_without_a_limit_windows_grow_to_a_bound() -> None:
    roots = list(range(1, 100_001))
    found, count = read(roots, set(roots), first_size(None), [(0, None)])
    assert (found, count) == (roots, 10)


def test_rare_matches_are_asked_for_at_once() -> None:
    roots = list(range(1, 10_001))
    _found, count = read(roots, {9_000}, first_size(10), [(0, None)])
    assert count == 2
