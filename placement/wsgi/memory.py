"""What the processes that answer requests do with memory."""

import ctypes
import gc
from contextlib import suppress

_ARENA_MAX = -8  # the number that GNU's mallopt() knows it by


def share_one_arena() -> None:
    """Have all threads take memory from one heap, where the C library is GNU's.

    By default each has a heap of its own, which keeps for it what its largest answer took. Python
    runs one thread at a time, so they hardly ever wait for each other at the one.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def freeze() -> None:
    """Keep what is there out of all collections: they would write to what forked workers share."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
