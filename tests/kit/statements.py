"""Statements counted as the driver gets them; on SQLite as the database runs them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit.engines import ENGINE

_NOT_COUNTED = re.compile(r"\s*(BEGIN|START|COMMIT|ROLLBACK|SET|PRAGMA)\b", re.IGNORECASE)


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Collect the statements that run, but for those that only steer transactions."""
    seen: list[str] = []

    def note(statement: str) -> None:
        # SQLite traces statements of its own (triggers, foreign keys) as comments.
        if not _NOT_COUNTED.match(statement) and not statement.startswith("--"):
            seen.append(statement)

    def trace(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(note)

    def quiet(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(None)

    def execute(_conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        note(statement)

    listeners = (
        [("checkout", trace), ("checkin", quiet)]
        if ENGINE == "sqlite"
        else [("before_cursor_execute", execute)]
    )
    engines = (database.reader, database.writer)
    for engine in engines:
        for event, listener in listeners:
            sa.event.listen(engine, event, listener)
    try:
        yield seen
    finally:
        for engine in engines:
            for event, listener in listeners:
                sa.event.remove(engine, event, listener)
