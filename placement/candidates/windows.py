"""Which roots to look at next, and when to ask for all the rest at once (DESIGN section 5).

A window is a run of roots in the order of ids; its cost is that of its length, whatever the
cloud. Windows grow, and once one shows that matches are rare the engine is asked for all that
is left, for then it can start from the rarest condition by itself.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

SMALLEST = 32
LARGEST_FIRST = 4096
UNBOUNDED_FIRST = 64  # where everything is wanted: enough to see whether matches are rare
LARGEST = 16384
GROWTH = 4
RARE = 16  # one match in so many roots, or fewer, is rare


@dataclass(frozen=True, slots=True)
class Window:
    """Roots with after < id <= up_to (None: no bound); `size` None: all that match."""

    after: int
    up_to: int | None
    size: int | None


@dataclass(slots=True)
class Seen:
    """What a window showed: told by the reader before it asks for the next one."""

    last: int = 0
    rows: int = 0
    matches: int = 0


def first_size(limit: int | None) -> int:
    """Roots of the first window."""
    if limit is None or 2 * limit > LARGEST_FIRST:
        return UNBOUNDED_FIRST
    return max(SMALLEST, 2 * limit)


def windows(
    first: int | None, ranges: list[tuple[int, int | None]], seen: Seen
) -> Iterator[Window]:
    """Yield the windows that together cover the ranges of ids (after, up_to].

    first: the size of the first one, None when few roots are known to match. Ranges take turns,
    so that an early end has seen something of each. `seen` must tell of each window before the
    next one is asked for.
    """
    size = first
    open_ranges = list(ranges)
    while open_ranges:
        unfinished: list[tuple[int, int | None]] = []
        for after, up_to in open_ranges:
            yield Window(after, up_to, size)
            if size is not None and seen.rows == size:
                unfinished.append((seen.last, up_to))
            if size is not None:
                rare = seen.matches * RARE <= seen.rows
                size = None if rare else min(size * GROWTH, LARGEST)
        open_ranges = unfinished


def random_ranges(last: int, pieces: int = 4) -> list[tuple[int, int | None]]:
    """Cut the ids up to `last` at random places into ranges, in random order.

    Reading some of each gives a fair spread over the cloud, not a uniform sample.
    """
    cuts = sorted({random.randint(0, last) for _ in range(pieces)})
    ranges: list[tuple[int, int | None]] = list(zip(cuts, [*cuts[1:], None], strict=True))
    if cuts[0] > 0:
        ranges.append((0, cuts[0]))
    random.shuffle(ranges)
    return ranges
