"""Threads that answer requests."""

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Task = TypeVar("Task")


class Threads(Generic[Task]):
    """Threads that do one thing with whatever they are given, each when it is idle.

    PERF: an executor of the standard library makes a future with a lock and a condition for each.
    """

    def __init__(self, number: int, act: Callable[[Task], None]) -> None:
        """Start the threads; `act` must not raise."""
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._act = act
        self._number = number
        for place in range(number):
            # Nobody waits at the end of the process for one that never ends.
            Thread(target=self._work, name=f"answers-{place}", daemon=True).start()

    def give(self, task: Task) -> None:
        """Have a thread do it."""
        self._tasks.put(task)

    def shutdown(self, *, wait: bool = False) -> None:
        """End the threads after what they were given."""
        for _ in range(self._number):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._act(task)
