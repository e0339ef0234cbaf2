"""Which roots to look at next, and when to ask for all that match (DESIGN section 5).

A window is a run of roots in the order of ids; its cost is that of its length, whatever the
cloud. Windows grow, and once one shows that matches are rare the engine is asked for all that
is left, for then it can start from what is rare.
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
PIECES = 4  # of a random sample


@dataclass(frozen=True, slots=True)
class Window:
    """Roots with after < id, `size` of them; None: all that match."""

    after: int
    size: int | None


@dataclass(slots=True)
class Seen:
    """What a window showed: told by the reader before it asks for the next one."""

    last: int = 0
    rows: int = 0
    matches: int = 0

    @property
    def rare(self) -> bool:
        """Whether the engine should be asked for those that match."""
        return self.matches * RARE <= self.rows


def first_size(limit: int | None) -> int:
    """Roots of the first window."""
    if limit is None or 2 * limit > LARGEST_FIRST:
        return UNBOUNDED_FIRST
    return max(SMALLEST, 2 * limit)


def windows(first: int | None, seen: Seen) -> Iterator[Window]:
    """Yield the windows that together cover all roots.

    first: the size of the first one, None when few roots are known to match. `seen` must tell of
    each window before the next one is asked for.
    """
    size, after = first, 0
    while size is not None:
        yield Window(after, size)
        if seen.rows < size:
            return
        after = seen.last
        size = None if seen.rare else min(size * GROWTH, LARGEST)
    yield Window(after, None)


def random_runs(least: int, most: int, size: int) -> list[Window]:
    """Windows at random places among the ids from `least` to `most`, of `size` roots together.

    They give a fair spread over the cloud, not a uniform sample; they may overlap.
    """
    part = -(-size // PIECES)
    return [Window(random.randint(least, most) - 1, part) for _ in range(PIECES)]
