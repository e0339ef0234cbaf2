"""The deadline of a request. It limits the work in Python and in reads of the database.

It complements the limits on work (`[placement] max_search_steps` and others), which count steps
instead of time. Each thread has one deadline, for its current request, so it is not passed as an
argument. It is checked before each statement and each COMMIT, and in loops over many items. Waiting
for locks or for a connection does not count: `[placement_database] write_timeout` and
`pool_timeout` limit it. A request that repeats its reads after a failure of the database includes
its waits (`count_waits`).
"""

import math
import threading
from time import monotonic

from placement.errors import DeadlineExceeded


class _Current(threading.local):
    """The deadline of the request that a thread is processing, if there is one."""

    # Value of `monotonic` at which the deadline is reached.
    ends = math.inf
    # The maximum duration of the work, in seconds.
    seconds = 0.0
    # Whether time spent waiting counts.
    counts_waits = False


_current = _Current()


class limit:  # noqa: N801
    """The work for a request. It may take a number of seconds. 0 means no limit."""

    # PERF: each request uses one of these objects. A generator would take three times as long.
    __slots__ = ("_seconds",)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        seconds = _current.seconds = self._seconds
        _current.ends = monotonic() + seconds if seconds else math.inf
        _current.counts_waits = False

    def __exit__(self, _kind: object, _error: object, _at: object) -> None:
        lift()


def lift() -> None:
    """Remove the deadline, because the response is complete and only needs to be sent."""
    _current.ends = math.inf


def count_waits() -> None:
    """Include the waits of the request in its deadline from now on."""
    _current.counts_waits = True


def is_set() -> bool:
    return _current.ends != math.inf


def is_over() -> bool:
    return monotonic() > _current.ends


def check() -> None:
    """Raise DeadlineExceeded if the request has exceeded its deadline."""
    if is_over():
        raise DeadlineExceeded(_current.seconds)


class waiting:  # noqa: N801
    """A block in which the request waits. Checks do not fail within the block.

    The time of the block does not count for the deadline, except after `count_waits`. Each block
    needs a separate object.
    """

    # PERF: a request uses up to a dozen of these objects. A generator would take twice as long.
    __slots__ = ("_ends", "_started")

    def __enter__(self) -> None:
        self._ends, self._started = _current.ends, monotonic()
        _current.ends = math.inf

    def __exit__(self, _kind: object, _error: object, _at: object) -> None:
        waited = 0.0 if _current.counts_waits else monotonic() - self._started
        _current.ends = self._ends + waited
