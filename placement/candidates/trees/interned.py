"""Equal values of trees are one object: thousands of hosts have the same traits and stocks.

What is shared takes memory once, and a search compares it by identity first.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST = 10_000  # values of one kind, of which some may be in no tree any more


class Interned(Generic[T]):
    """The values of one kind by what they are made of; all are forgotten when there are many."""

    def __init__(self, most: int = MOST) -> None:
        """`most`: values that are known at a time."""
        self._most = most
        self._values: dict[Hashable | T, T] = {}

    def __call__(self, value: T, key: Hashable = None) -> T:
        """Return the one object for this value.

        key: what no two values share that differ, for values that cannot be hashed.
        """
        if len(self._values) >= self._most:
            self._values.clear()
        return self._values.setdefault(value if key is None else key, value)
