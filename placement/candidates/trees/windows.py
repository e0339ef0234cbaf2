"""Which roots to read next, and when to ask the database for those that match.

A window is a run of roots in the order of ids, unfiltered; its cost is that of its length,
whatever the cloud. Checking a tree that is in memory is some five times cheaper than having the
database evaluate the conditions. Once a window shows that matches are rare, the database is asked
for all that is left, for then it can begin with what is rare.
"""

import random
from dataclasses import dataclass

from placement.candidates.tuning import SearchTuning


@dataclass(frozen=True, slots=True)
class Window:
    """The next `size` roots with an id above `after`; None: all of these that match."""

    after: int
    size: int | None


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What a window showed. last: the id of its last root. matches: how many could serve."""

    rows: int
    last: int
    matches: int


def is_rare(rows: int, matches: int, tuning: SearchTuning) -> bool:
    """Whether the database should be asked for the roots that match."""
    return matches * tuning.rare_match <= rows


def first_size(limit: int | None, tuning: SearchTuning) -> int:
    """Return the number of roots of the first window: few, for nobody knows yet who matches."""
    if limit is None:
        return tuning.first_window
    return min(max(tuning.smallest_window, 2 * limit), tuning.first_window)


def next_window(
    window: Window, result: WindowResult, missing: int | None, tuning: SearchTuning
) -> Window | None:
    """Return the window after one that was read, or None where all roots have been read.

    missing: how many more matches are wanted; None: all.
    """
    if window.size is None or result.rows < window.size:
        return None
    if is_rare(result.rows, result.matches, tuning):
        return Window(result.last, None)
    size = window.size * tuning.window_growth
    if missing is not None:
        # As many as it takes if matches go on as they were, and a tenth more.
        size = max(size, missing * result.rows * 11 // (result.matches * 10) + 1)
    return Window(result.last, min(size, tuning.largest_window))


def random_runs(least: int, most: int, size: int, tuning: SearchTuning) -> list[tuple[int, int]]:
    """Return runs (after, size) at random places among the ids from `least` to `most`.

    They have `size` roots in all, give a fair spread over the cloud and not a uniform sample,
    and may overlap.
    """
    part = -(-size // tuning.sample_runs)
    return [(random.randint(least, most) - 1, part) for _ in range(tuning.sample_runs)]
