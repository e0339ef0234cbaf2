"""Counts of statements, as sent to the driver or as executed by the database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from placement.db import compounds, prepared
from placement.db.engine import Database
from tests.kit.engines import ENGINE

_NOT_COUNTED = re.compile(
    r"\s*(BEGIN(?! NOT ATOMIC)|START|COMMIT|ROLLBACK|SET|PRAGMA)\b", re.IGNORECASE
)


def text_of(conn: Connection, statement: str) -> str:
    """Return the text of a statement, also if it is prepared on the connection."""
    kept = conn.info.get(prepared.OPTION)
    if kept is not None:
        for text, call in kept.calls.items():
            if call == statement:
                return str(text)
    return statement


@contextmanager
def counted(database: Database, *, together: bool = False) -> Iterator[list[str]]:
    """Collect the executed statements, without BEGIN, COMMIT and ROLLBACK.

    together: whether the writes of a transaction may be sent as one statement, as they are once a
    connection has prepared it.
    """
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
        with pytest.MonkeyPatch.context() as patch:
            if not together:
                patch.setattr(compounds, "are_supported", lambda _conn: False)
            yield seen
    finally:
        for engine in engines:
            for event, listener in listeners:
                sa.event.remove(engine, event, listener)
