"""Where the time of a request goes, and how many statements it takes.

A request has one `Course`, which belongs to its thread. Its phases exclude each other: while one
phase runs inside of another, the outer one stands still. So the seconds add up to the request's.
"""

import threading
from collections import deque
from enum import StrEnum
from time import perf_counter


class Phase(StrEnum):
    """What a request spends its time on."""

    BEGIN = "begin"  # a connection of the pool, and a transaction on it
    NAMES = "names"  # names become ids; sharing providers are read
    WINDOWS = "windows"  # which trees to look at
    TREES = "trees"  # the trees, from memory or from the database
    SEARCH = "search"
    LOCKS = "locks"  # the write that locks trees, which waits for other writers of them
    STATEMENTS = "statements"  # those in no other phase
    COMMIT = "commit"
    RENDERING = "rendering"
    OTHER = "other"  # what is in no other phase


class Course:
    """The phases of one request so far.

    statements: how many were sent to the database, but for those that only begin or end
    transactions.
    """

    __slots__ = ("_began", "_ended", "marks", "statements")

    def __init__(self, most: int | None = None) -> None:
        """most: marks that are kept."""
        self.statements = 0
        # PERF: when a phase begins, and None when it ends; they are added up for slow requests.
        self.marks: deque[tuple[Phase | None, float]] = deque(maxlen=most)
        self._began = perf_counter()
        self._ended: float | None = None

    def stop(self) -> None:
        """Stop the time, if it has not been."""
        if self._ended is None:
            self._ended = perf_counter()

    def elapsed(self) -> float:
        """Return the seconds until now, or until the time was stopped."""
        return (perf_counter() if self._ended is None else self._ended) - self._began

    def seconds(self) -> dict[Phase, float]:
        """Return phase -> seconds, of those that there were."""
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
            # A statement belongs to the phase around it, where there is one.
            if following is not Phase.STATEMENTS or phase is Phase.OTHER:
                phase = following
        return phases


class _Courses(threading.local):
    """The course of each thread's request; without one, nothing is kept."""

    def __init__(self) -> None:
        self.current = Course(most=0)


_courses = _Courses()


def begin() -> Course:
    """Begin a request on this thread."""
    course = _courses.current = Course()
    return course


def end() -> None:
    """End the request of this thread."""
    _courses.current = Course(most=0)


def statements() -> int:
    """Return how many statements this thread has sent, for its request or without one."""
    return _courses.current.statements


class Timed:
    """Times the block of a `with` as a phase; any number of threads may use one object.

    The block must not yield: what its consumer does would count too.
    """

    __slots__ = ("_phase",)

    def __init__(self, phase: Phase) -> None:
        self._phase = phase

    def __enter__(self) -> None:
        _courses.current.marks.append((self._phase, perf_counter()))

    def __exit__(self, _kind: object, _error: object, _at: object) -> None:
        _courses.current.marks.append((None, perf_counter()))


class TimedStatement(Timed):
    """Times the block of a `with` as a statement, and counts it."""

    __slots__ = ()

    def __enter__(self) -> None:
        course = _courses.current
        course.statements += 1
        course.marks.append((self._phase, perf_counter()))


# PERF: made once; a request needs a dozen.
BEGIN = Timed(Phase.BEGIN)
NAMES = Timed(Phase.NAMES)
WINDOWS = Timed(Phase.WINDOWS)
TREES = Timed(Phase.TREES)
SEARCH = Timed(Phase.SEARCH)
LOCKS = Timed(Phase.LOCKS)
COMMIT = Timed(Phase.COMMIT)
RENDERING = Timed(Phase.RENDERING)
STATEMENT = TimedStatement(Phase.STATEMENTS)
