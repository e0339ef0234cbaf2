"""Limits of time for statements, which every engine has in its own way."""

import math
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from placement.db import codes

# What a statement that took too long fails with: MariaDB, MySQL, PostgreSQL (which says the same
# when an administrator cancels one), SQLite.
TOO_LONG: frozenset[object] = frozenset({1969, 3024, "57014", "SQLITE_INTERRUPT"})

_DEADLINE = "deadline"
_OPERATIONS = 10_000  # of SQLite's machine between two looks at the clock: some 0.2 ms


def limit(engine: sa.Engine, seconds: float) -> None:
    """Have no statement on the engine's new connections take longer, waiting for locks included.

    MySQL limits SELECT only.
    """
    name, milliseconds = engine.dialect.name, math.ceil(seconds * 1000)
    if name == "sqlite":
        _watch(engine, seconds)
        return
    if name == "postgresql":
        statement = f"SET statement_timeout = {milliseconds}"
    else:
        # MariaDB reads the first comment only, MySQL the second.
        statement = (
            f"SET SESSION /*M! max_statement_time = {seconds} */"
            f" /*!50708 max_execution_time = {milliseconds} */"
        )

    @sa.event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        cursor = dbapi_connection.cursor()
        cursor.execute(statement)
        cursor.close()
        dbapi_connection.commit()  # PostgreSQL would forget it


def _watch(engine: sa.Engine, seconds: float) -> None:
    """Have SQLite look at the clock now and then."""

    @sa.event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, record: Any) -> None:
        info = record.info

        def is_late() -> bool:
            return bool(time.monotonic() > info.get(_DEADLINE, math.inf))

        dbapi_connection.set_progress_handler(is_late, _OPERATIONS)

    @sa.event.listens_for(engine, "before_cursor_execute")
    def start(conn: sa.Connection, *_statement: Any) -> None:
        conn.info[_DEADLINE] = time.monotonic() + seconds


def is_too_long(error: exc.DBAPIError) -> bool:
    """Whether the statement was ended because it took too long."""
    return not TOO_LONG.isdisjoint(codes.of(error.orig))
