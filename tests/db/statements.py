"""Statements counted by the database itself."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from placement.db.engine import Database

_NOT_COUNTED = re.compile(r"\s*(BEGIN|COMMIT|ROLLBACK|SET|PRAGMA)\b", re.IGNORECASE)


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Collect the statements that SQLite runs, but for those that only steer transactions."""
    seen: list[str] = []

    def note(statement: str) -> None:
        # SQLite traces statements of its own (triggers, foreign keys) as comments.
        if not _NOT_COUNTED.match(statement) and not statement.startswith("--"):
            seen.append(statement)

    def trace(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(note)

    def quiet(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(None)

    engines = (database.reader, database.writer)
    for engine in engines:
        sa.event.listen(engine, "checkout", trace)
        sa.event.listen(engine, "checkin", quiet)
    try:
        yield seen
    finally:
        for engine in engines:
            sa.event.remove(engine, "checkout", trace)
            sa.event.remove(engine, "checkin", quiet)
