"""The deadline of a request: how long its work may take, in Python and in reads of the database.

It stands behind the bounds on work (`[placement] max_search_steps` and others), which are counted
and not measured. A thread has one deadline, that of the request it answers, so nothing hands it on.
Every statement looks at it before it is sent, every COMMIT before it is made, and loops over many
things in between. Time that a request waits for locks or for a connection does not count:
`[placement_database] write_timeout` and `pool_timeout` bound it.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from placement.errors import DeadlineExceeded


class _Current(threading.local):
    """The deadline of each thread's request; without one, nothing ends it."""

    # When it is reached, by `monotonic`.
    ends = math.inf
    # What `[placement] request_deadline` says, in seconds.
    seconds = 0.0


_current = _Current()


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Enter the work of a request, which may take so many seconds; 0: any number."""
    _current.seconds = seconds
    _current.ends = monotonic() + seconds if seconds else math.inf
    try:
        yield
    finally:
        lift()


def lift() -> None:
    """Let the request take any time from now on: what it returns is there, and has to be sent."""
    _current.ends = math.inf


def is_over() -> bool:
    """Whether the request has taken longer than it may."""
    return monotonic() > _current.ends


def check() -> None:
    """Raise DeadlineExceeded when the request has taken longer than it may."""
    if is_over():
        raise DeadlineExceeded(_current.seconds)


@contextmanager
def waiting() -> Iterator[None]:
    """Enter a block whose time does not count, and in which no check fails."""
    ends, started = _current.ends, monotonic()
    _current.ends = math.inf
    try:
        yield
    finally:
        _current.ends = ends + monotonic() - started
