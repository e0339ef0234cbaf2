"""The phases of a request with their durations, and the number of its statements.

Each request has a `RequestTimer`, which belongs to its thread. Phases do not overlap: while a
nested phase runs, the outer phase is paused. Therefore, the durations of all phases add up to the
duration of the request.
"""

import threading
from collections import deque
from enum import StrEnum
from time import perf_counter


class Phase(StrEnum):
    """A phase of a request."""

    # Validate the token, usually without a request to the identity service.
    AUTHENTICATION = "authentication"
    # Get a connection from the pool, and begin a transaction.
    BEGIN = "begin"
    # Translate names to ids, and read sharing providers.
    NAMES = "names"
    # Choose the next trees to search.
    WINDOWS = "windows"
    # Get the trees, from memory or from the database.
    TREES = "trees"
    SEARCH = "search"
    # Lock trees. The request may wait for other writers of these trees.
    LOCKS = "locks"
    # Execute statements outside of other phases.
    STATEMENTS = "statements"
    COMMIT = "commit"
    RENDERING = "rendering"
    # All other work.
    OTHER = "other"


class RequestTimer:
    """Measures the phases of one request.

    Attributes:
        statements: number of statements sent to the database, except begins and ends of
            transactions.
        marks: start times of phases, and end times with None instead of the phase.
    """

    __slots__ = ("_began", "_ended", "candidates", "marks", "statements")

    def __init__(self, max_marks: int | None = None) -> None:
        """Start the timer. It keeps the latest `max_marks` marks. None means no limit."""
        self.statements = 0
        # Number of candidates in the response. None if the request is no search.
        self.candidates: int | None = None
        # PERF: the marks are added up only for slow requests.
        self.marks: deque[tuple[Phase | None, float]] = deque(maxlen=max_marks)
        # Start time, on the clock `perf_counter`.
        self._began = perf_counter()
        # End time, or None while the request is being processed.
        self._ended: float | None = None

    def stop(self) -> None:
        """Stop the timer, unless it has already been stopped."""
        if self._ended is None:
            self._ended = perf_counter()

    def elapsed(self) -> float:
        """Return the seconds until now, or until the timer was stopped."""
        return (perf_counter() if self._ended is None else self._ended) - self._began

    def seconds(self) -> dict[Phase, float]:
        """Return the duration of each phase that occurred, in seconds."""
        phases = {Phase.OTHER: 0.0}
        phase, since = Phase.OTHER, self._began
        outer: list[Phase] = []
        for following, now in (*self.marks, (Phase.OTHER, self._began + self.elapsed())):
            phases[phase] = phases.get(phase, 0.0) + now - since
            since = now
            if following is None:
                phase = outer.pop()
                continue
            outer.append(phase)
            # The time of a statement counts for the phase around it, if there is one.
            if following is not Phase.STATEMENTS or phase is Phase.OTHER:
                phase = following
        return phases


class _Timers(threading.local):
    """The timer of each thread's request. Without a request, the timer keeps no marks."""

    def __init__(self) -> None:
        # Timer of the request that the thread is processing.
        self.current = RequestTimer(max_marks=0)


_timers = _Timers()


def begin() -> RequestTimer:
    """Start the timer of a request on this thread, and return the timer."""
    timer = _timers.current = RequestTimer()
    return timer


def end() -> None:
    """Remove the timer of this thread."""
    _timers.current = RequestTimer(max_marks=0)


def statements() -> int:
    """Return the number of statements that this thread has sent since `begin`, or since `end`."""
    return _timers.current.statements


def note_candidates(number: int) -> None:
    """Record the number of candidates in the response to the request of this thread."""
    _timers.current.candidates = number


class Timed:
    """A context manager that measures its block as a phase. Thread-safe.

    The block must not yield, because the time of the consumer would count as well.
    """

    __slots__ = ("_phase",)

    def __init__(self, phase: Phase) -> None:
        self._phase = phase

    def __enter__(self) -> None:
        _timers.current.marks.append((self._phase, perf_counter()))

    def __exit__(self, _kind: object, _error: object, _at: object) -> None:
        _timers.current.marks.append((None, perf_counter()))


class TimedStatement(Timed):
    """A context manager that measures its block as a statement, and counts the statement."""

    __slots__ = ()

    def __enter__(self) -> None:
        timer = _timers.current
        timer.statements += 1
        timer.marks.append((self._phase, perf_counter()))


# PERF: the object is created only once, because a request uses it a dozen times.
AUTHENTICATION = Timed(Phase.AUTHENTICATION)
BEGIN = Timed(Phase.BEGIN)
NAMES = Timed(Phase.NAMES)
WINDOWS = Timed(Phase.WINDOWS)
TREES = Timed(Phase.TREES)
SEARCH = Timed(Phase.SEARCH)
LOCKS = Timed(Phase.LOCKS)
COMMIT = Timed(Phase.COMMIT)
RENDERING = Timed(Phase.RENDERING)
STATEMENT = TimedStatement(Phase.STATEMENTS)
