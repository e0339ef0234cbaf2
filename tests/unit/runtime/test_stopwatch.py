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
