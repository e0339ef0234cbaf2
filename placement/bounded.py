"""What is kept within a bound on what it weighs together."""

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

Value = TypeVar("Value")


class Bounded(dict[Any, Value]):
    """Values up to a weight in all; those that came first go first, but never the last one.

    PERF: found without a lock, as in any dict.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int]) -> None:
        """`weigh`: always says the same of a value."""
        super().__init__()
        self.weight = 0
        self._most = most
        self._weigh = weigh
        self._lock = threading.Lock()

    def __setitem__(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._forget(key)
            super().__setitem__(key, value)
            self.weight += self._weigh(value)
            while self.weight > self._most and len(self) > 1:
                self._forget(next(iter(self)))

    def _forget(self, key: Hashable) -> None:
        if key in self:
            self.weight -= self._weigh(self.pop(key))
