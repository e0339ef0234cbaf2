"""Where the time of a request goes, and how many statements it takes.

A request has one `Course`, which belongs to its thread. Its phases exclude each other: while one
phase runs inside of another, the outer one stands still. So the seconds add up to the request's.
"""

import threading
from enum import StrEnum
from time import perf_counter


class Phase(StrEnum):
    """What a request spends its time on."""

    BEGIN = "begin"  # a connection of the pool, and a transaction on it
    NAMES = "names"  # names become ids; sharing providers are read
    WINDOWS = "windows"  # which trees to look at
    TREES = "trees"  # the trees, from memory or from the database
    SEARCH = "search"
    LOCKS = "locks"  # the first write, which waits for other writers of the same trees
    STATEMENTS = "statements"  # those in no other phase
    COMMIT = "commit"
    RENDERING = "rendering"
    OTHER = "other"  # what is in no other phase


class Course:
    """The phases of one request so far.

    statements: how many were sent to the database, but for those that only begin or end
    transactions.
    """

    __slots__ = ("_outer", "_phase", "_seconds", "_since", "statements")

    def __init__(self) -> None:
        self.statements = 0
        self._phase = Phase.OTHER
        self._outer: list[Phase] = []
        self._seconds: dict[Phase, float] = {}
        self._since = perf_counter()

    def enter(self, phase: Phase) -> None:
        """Let a phase begin, inside of the present one."""
        self._outer.append(self._phase)
        self._turn_to(phase)

    def leave(self) -> None:
        """Let the phase end, and the one around it go on."""
        self._turn_to(self._outer.pop())

    def enter_statement(self) -> None:
        """Count a statement; its time is that of the phase around it, where there is one."""
        self.statements += 1
        phase = self._phase
        self.enter(Phase.STATEMENTS if phase is Phase.OTHER else phase)

    def seconds(self) -> dict[Phase, float]:
        """Return phase -> seconds until now, of those that there were."""
        self._turn_to(self._phase)
        return self._seconds

    def _turn_to(self, phase: Phase) -> None:
        now = perf_counter()
        seconds = self._seconds
        seconds[self._phase] = seconds.get(self._phase, 0.0) + now - self._since
        self._since = now
        self._phase = phase


class _Courses(threading.local):
    """The course of each thread: of its request, or of all that it does without one."""

    def __init__(self) -> None:
        self.current = Course()


_courses = _Courses()


def begin() -> Course:
    """Begin a request on this thread."""
    course = _courses.current = Course()
    return course


class Timed:
    """Times the block of a `with` as a phase; any number of threads may use one object.

    The block must not yield: what its consumer does would count too.
    """

    __slots__ = ("_phase",)

    def __init__(self, phase: Phase) -> None:
        self._phase = phase

    def __enter__(self) -> None:
        _courses.current.enter(self._phase)

    def __exit__(self, *_error: object) -> None:
        _courses.current.leave()


class TimedStatement:
    """Times the block of a `with` as a statement."""

    __slots__ = ()

    def __enter__(self) -> None:
        _courses.current.enter_statement()

    def __exit__(self, *_error: object) -> None:
        _courses.current.leave()


# PERF: made once; a request needs a dozen.
BEGIN = Timed(Phase.BEGIN)
NAMES = Timed(Phase.NAMES)
WINDOWS = Timed(Phase.WINDOWS)
TREES = Timed(Phase.TREES)
SEARCH = Timed(Phase.SEARCH)
LOCKS = Timed(Phase.LOCKS)
COMMIT = Timed(Phase.COMMIT)
RENDERING = Timed(Phase.RENDERING)
STATEMENT = TimedStatement()
