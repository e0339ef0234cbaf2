"""Collections of limited size."""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")

# Maximum number of interned values of one kind, including values that are no longer used.
MAX_INTERNED = 10_000


class SizeLimitedDict(dict[Any, Value]):
    """A dictionary that keeps values up to a total size.

    The oldest values are removed first, but the last value is never removed. PERF: a lookup does
    not need a lock, as in any dict.
    """

    def __init__(self, max_size: int, size_of: Callable[[Value], int]) -> None:
        """Create an empty dictionary. `size_of` must always return the same size for one value."""
        super().__init__()
        self.size = 0
        self._max_size = max_size
        self._size_of = size_of
        # Held while a value is added and old values are removed.
        self._lock = threading.Lock()

    def __setitem__(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._drop(key)
            super().__setitem__(key, value)
            self.size += self._size_of(value)
            while self.size > self._max_size and len(self) > 1:
                self._drop(next(iter(self)))

    def _drop(self, key: Hashable) -> None:
        if key in self:
            self.size -= self._size_of(self.pop(key))


class Interned(Generic[Value]):
    """Interned values of one kind. If there are too many, all values are removed.

    Thousands of hosts have the same traits and stocks. Interning saves memory, and a search can
    compare the values by identity first.
    """

    def __init__(self, most: int = MAX_INTERNED) -> None:
        """most: maximum number of values."""
        self._most = most
        # Value, or the key of a value -> the object that represents all values equal to it.
        self._values: dict[Hashable | Value, Value] = {}

    def __call__(self, value: Value, key: Hashable = None) -> Value:
        """Return the object that represents all values equal to this one.

        Args:
            key: a key that different values never share, for values without a hash by value.
        """
        place = value if key is None else key
        interned = self._values.get(place)
        if interned is not None:
            return interned
        if len(self._values) >= self._most:
            self._values.clear()
        return self._values.setdefault(place, value)
