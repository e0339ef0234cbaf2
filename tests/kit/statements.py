"""Counts of statements, as sent to the driver or as executed by the database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import prepared
from placement.db.engine import Database
from tests.kit.engines import ENGINE

_NOT_COUNTED = re.compile(r"\s*(BEGIN|START|COMMIT|ROLLBACK|SET|PRAGMA)\b", re.IGNORECASE)


def text_of(conn: Connection, statement: str) -> str:
    """Return the text of a statement, also if it is prepared on the connection."""
    kept = conn.info.get(prepared.OPTION)
    if kept is not None:
        for text, call in kept.calls.items():
            if call == statement:
                return str(text)
    return statement


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """Collect the executed statements, without BEGIN, COMMIT and ROLLBACK."""
    seen: list[str] = []

    def note(statement: str) -> None:
        # SQLite traces internal statements (triggers, foreign keys) as comments.
        if not _NOT_COUNTED.match(statement) and not statement.startswith("--"):
            seen.append(statement)

    def trace(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(note)

    def quiet(dbapi_connection: Any, *_rest: Any) -> None:
        dbapi_connection.set_trace_callback(None)

    def execute(conn: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        note(text_of(conn, statement))

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
