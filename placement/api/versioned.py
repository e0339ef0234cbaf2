"""Tables of values that depend on the microversion, checked on import."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from placement.api.history import HISTORY, v
from placement.api.microversion import Microversion

T = TypeVar("T")
U = TypeVar("U")


class Versioned(Generic[T]):
    """A value for each version from the first one on."""

    def __init__(self, table: Mapping[str, T]) -> None:
        """Create a table. Raises ValueError if it is empty or not ordered by version."""
        entries = [(v(since), value) for since, value in table.items()]
        versions = [since for since, _value in entries]
        if not entries or versions != sorted(set(versions)):
            raise ValueError(f"versions must be in order, each once: {list(table)}")
        unknown = [str(since) for since in versions if since not in HISTORY]
        if unknown:
            raise ValueError(f"no such microversion: {', '.join(unknown)}")
        self.table = table
        self.entries = entries

    @property
    def since(self) -> Microversion:
        """The first version that has a value."""
        return self.entries[0][0]

    def at(self, version: Microversion) -> T:
        """Return the value at a version.  Raises LookupError below the first one."""
        for since, value in reversed(self.entries):
            if since <= version:
                return value
        raise LookupError(f"nothing before {self.since}")

    def map(self, change: Callable[[T], U], since: str | None = None) -> "Versioned[U]":
        """Return a table with each value changed, beginning at `since` if it is given."""
        table: dict[str, U] = {}
        if since is not None:
            table[since] = change(self.at(v(since)))
        for at, value in self.table.items():
            if since is None or v(at) > v(since):
                table[at] = change(value)
        return Versioned(table)
