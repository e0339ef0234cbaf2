"""The deadline of a request, by a clock that the test moves."""

import threading

import pytest

from placement.errors import DeadlineExceeded
from placement.runtime import budget, deadline
from placement.runtime.budget import Budget, BudgetSpentError


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(deadline, "monotonic", clock)
    return clock


def test_work_may_take_the_seconds_of_the_option_and_no_more(clock: Clock) -> None:
    with deadline.limit(5.0):
        clock.now += 5
        deadline.check()
        clock.now += 0.1
        with pytest.raises(DeadlineExceeded, match=r"5 seconds.*\[placement\]request_deadline"):
            deadline.check()
    deadline.check()


@pytest.mark.parametrize("seconds", [0, 0.0])
def test_0_is_no_deadline(clock: Clock, seconds: float) -> None:
    with deadline.limit(seconds):
        clock.now += 10**6
        deadline.check()


def test_a_request_that_fails_leaves_no_deadline_to_the_next(clock: Clock) -> None:
    with pytest.raises(ValueError, match="failed"), deadline.limit(5.0):
        raise ValueError("failed")
    clock.now += 6
    deadline.check()


def test_time_that_a_request_waits_does_not_count(clock: Clock) -> None:
    with deadline.limit(5.0):
        clock.now += 4
        with deadline.waiting():
            clock.now += 60
            deadline.check()
        clock.now += 1
        deadline.check()
        clock.now += 0.1
        assert deadline.is_over()


def test_waiting_in_a_block_that_waits_counts_once(clock: Clock) -> None:
    with deadline.limit(5.0):
        with deadline.waiting():
            with deadline.waiting():
                clock.now += 10
            clock.now += 10
            deadline.check()
        clock.now += 5
        assert not deadline.is_over()
        clock.now += 0.1
        assert deadline.is_over()


def test_waiting_counts_for_a_request_that_says_so(clock: Clock) -> None:
    with deadline.limit(5.0):
        deadline.count_waits()
        with deadline.waiting():
            clock.now += 6
            deadline.check()
        assert deadline.is_over()
    with deadline.limit(5.0):
        with deadline.waiting():
            clock.now += 6
        assert not deadline.is_over()


def test_what_is_done_is_not_ended_any_more(clock: Clock) -> None:
    with deadline.limit(5.0):
        deadline.lift()
        clock.now += 6
        deadline.check()


def test_each_thread_has_its_own(clock: Clock) -> None:
    over: list[bool] = []
    with deadline.limit(5.0):
        clock.now += 6
        thread = threading.Thread(target=lambda: over.append(deadline.is_over()))
        thread.start()
        thread.join()
        assert deadline.is_over()
    assert over == [False]


def test_a_search_looks_at_it_after_some_work(clock: Clock) -> None:
    spent = Budget(10**6)
    with deadline.limit(5.0):
        spent.spend(budget.WORK_BETWEEN_CHECKS + 1)
        clock.now += 6
        spent.spend(budget.WORK_BETWEEN_CHECKS)  # not at each time that it counts something
        with pytest.raises(BudgetSpentError):
            spent.spend(1)
    assert spent.ended_by == "request_deadline"


def test_the_bound_on_steps_is_exact_however_small() -> None:
    spent = Budget(1)
    spent.spend(8)
    with pytest.raises(BudgetSpentError):
        spent.spend(1)
    assert spent.ended_by == "max_search_steps"


def test_a_search_that_needs_a_result_is_ended_by_the_deadline_alone(clock: Clock) -> None:
    with deadline.limit(5.0):
        spent = Budget(1, needs_result=True)
        spent.spend(10 * budget.WORK_BETWEEN_CHECKS)
        spent.needs_result = False
        with pytest.raises(BudgetSpentError):
            spent.spend(budget.WORK_BETWEEN_CHECKS + 1)
        assert spent.ended_by == "max_search_steps"
        spent = Budget(1, needs_result=True)
        clock.now += 6
        with pytest.raises(BudgetSpentError):
            spent.spend(budget.WORK_BETWEEN_CHECKS)
        assert spent.ended_by == "request_deadline"


def test_other_threads_run_whenever_a_search_looks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    yields: list[float] = []
    monkeypatch.setattr("placement.runtime.budget.time.sleep", yields.append)
    spent = Budget(10**6)
    for _ in range(10 * budget.WORK_BETWEEN_CHECKS):
        spent.spend(1)
    assert len(yields) in range(9, 11)
    assert set(yields) == {0}
