"""Threads that answer requests."""

from threading import Event

from placement.wsgi.threads import Threads


def test_each_does_one_thing_at_a_time_and_they_end_after_all_of_it() -> None:
    done: list[int] = []
    over = Event()

    def act(number: int) -> None:
        done.append(number)
        if len(done) == 100:
            over.set()

    threads = Threads(3, act)
    for number in range(100):
        threads.give(number)
    threads.shutdown()
    assert over.wait(60)
    assert sorted(done) == list(range(100))


def test_as_many_go_on_side_by_side_as_there_are() -> None:
    entered = [Event() for _ in range(3)]
    leave = Event()

    def act(number: int) -> None:
        entered[number].set()
        leave.wait(60)

    threads = Threads(3, act)
    for number in range(3):
        threads.give(number)
    assert all(each.wait(60) for each in entered)
    leave.set()
    threads.shutdown()
