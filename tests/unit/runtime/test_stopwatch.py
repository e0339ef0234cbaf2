"""Phases exclude each other, add up, and belong to one thread."""

import threading
import time

import pytest

from placement.runtime import stopwatch
from placement.runtime.stopwatch import Phase


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its only element."""
    now = [100.0]
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: now[0])
    return now


def test_a_phase_inside_of_another_stops_the_outer_one(clock: list[float]) -> None:
    course = stopwatch.begin()
    clock[0] += 1
    with stopwatch.SEARCH:
        clock[0] += 2
        with stopwatch.TREES:
            clock[0] += 4
        clock[0] += 8
    clock[0] += 16
    assert course.seconds() == {Phase.OTHER: 17, Phase.SEARCH: 10, Phase.TREES: 4}


def test_a_statement_is_counted_and_belongs_to_the_phase_around_it(clock: list[float]) -> None:
    course = stopwatch.begin()
    with stopwatch.STATEMENT:
        clock[0] += 1
    with stopwatch.TREES, stopwatch.STATEMENT:
        clock[0] += 2
    assert course.seconds() == {Phase.OTHER: 0, Phase.STATEMENTS: 1, Phase.TREES: 2}
    assert course.statements == 2


def test_a_phase_that_fails_is_over(clock: list[float]) -> None:
    course = stopwatch.begin()

    def fail() -> None:
        with stopwatch.SEARCH, stopwatch.STATEMENT:
            clock[0] += 1
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    clock[0] += 2
    assert course.seconds() == {Phase.OTHER: 2, Phase.SEARCH: 1}


def test_what_is_asked_before_the_end_goes_on(clock: list[float]) -> None:
    course = stopwatch.begin()
    with stopwatch.COMMIT:
        clock[0] += 1
        assert course.seconds()[Phase.COMMIT] == 1
        clock[0] += 1
    assert course.seconds()[Phase.COMMIT] == course.elapsed() == 2


def test_a_time_that_was_stopped_stays(clock: list[float]) -> None:
    course = stopwatch.begin()
    clock[0] += 1
    course.stop()
    clock[0] += 1
    course.stop()
    assert course.seconds() == {Phase.OTHER: 1}
    assert course.elapsed() == 1


def test_without_a_request_nothing_is_kept() -> None:
    course = stopwatch.begin()
    stopwatch.end()
    for _ in range(1000):  # as a command does that runs for hours
        with stopwatch.TREES, stopwatch.STATEMENT:
            pass
    assert len(stopwatch._timers.current.marks) == 0
    assert set(course.seconds()) == {Phase.OTHER}


def test_threads_have_separate_timers() -> None:
    course = stopwatch.begin()

    def work() -> None:
        with stopwatch.TREES, stopwatch.STATEMENT:
            time.sleep(0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert set(course.seconds()) == {Phase.OTHER}
    assert course.statements == 0
