"""The memory settings of worker processes."""

import ctypes
import gc
from contextlib import suppress

_ARENA_MAX = -8  # M_ARENA_MAX of glibc's mallopt()


def share_one_arena() -> None:
    """Make all threads allocate from a single arena, if the C library is glibc.

    By default, each thread has a separate arena, which never returns the memory of its largest
    response. Python runs only one thread at a time, so threads rarely wait for each other in a
    single arena.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def freeze() -> None:
    """Freeze existing objects so that garbage collection does not dirty copy-on-write pages."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
