"""A faster cursor for PyMySQL, which escapes each value through several functions of Python."""

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from pymysql import cursors

# Text that has no character to escape, in any character set and SQL mode.
PLAIN = re.compile(r"[0-9A-Za-z_.:-]*", re.ASCII)


class Cursor(cursors.Cursor):  # type: ignore[misc]  # PyMySQL is not typed
    """A cursor that writes plain values into a statement itself; the driver writes all others."""

    def execute(self, query: str, args: Any = None) -> int:
        """Execute a statement with its values; return the number of rows."""
        if isinstance(args, dict):
            query %= {name: self._literal(value) for name, value in args.items()}
            args = None
        rows: int = super().execute(query, args)
        return rows

    def _literal(self, value: Any) -> str:
        kind = type(value)
        if kind is int:
            return str(value)
        if kind is str and PLAIN.fullmatch(value):
            return f"'{value}'"
        if kind is datetime and value.tzinfo is None:
            return _time(value)
        return str(self.mogrify("%s", (value,)))


# PERF: all rows that are written together have the same time, in whole seconds.
@lru_cache(maxsize=16)
def _time(value: datetime) -> str:
    return f"'{value}'"
