"""Rows that a database reads for statements, counted by the database itself, without a clock.

A read is a row that is examined, whether it is returned or not, or a lookup in an index. They are
counted while the statements run, so for the plans that are really used:

* MariaDB counts the requests to the storage engine, and index entries that conditions rejected.
* PostgreSQL logs each executed plan with the rows of its steps (`auto_explain`), also the plans of
  constraints.
* SQLite compiles each statement to a program, whose instructions are counted: `INSTRUCTIONS` of
  them count as a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit.engines import FAMILY
from tests.kit.statements import text_of

INSTRUCTIONS = 5


@dataclass
class Reads:
    """A statement with the number of rows that were read for it."""

    statement: str
    rows: int


class Counter(Protocol):
    """Collects the reads of one engine, for the statements of one connection at a time.

    No transaction is open when a connection is opened and closed. `before` and `after` enclose a
    statement. Rows may still be read after that, and PostgreSQL reports the plan later.
    """

    reads: list[Reads]

    def open(self, dbapi_connection: Any) -> None:
        """Start counting on a connection."""

    def before(self, dbapi_connection: Any, statement: str) -> None:
        """Start counting for a statement."""

    def after(self, dbapi_connection: Any) -> None:
        """Record the execution of the statement."""

    def close(self, dbapi_connection: Any) -> None:
        """Restore the connection."""


class MariaDbCounter:
    """Reads the counters of the session before and after a statement."""

    def __init__(self) -> None:
        self.reads: list[Reads] = []

    def open(self, dbapi_connection: Any) -> None:
        """Do nothing: the server counts continuously."""

    def before(self, dbapi_connection: Any, statement: str) -> None:
        self.reads.append(Reads(statement, -_session_reads(dbapi_connection)))

    def after(self, dbapi_connection: Any) -> None:
        self.reads[-1].rows += _session_reads(dbapi_connection)

    def close(self, dbapi_connection: Any) -> None:
        """Do nothing."""


def _session_reads(dbapi_connection: Any) -> int:
    with dbapi_connection.cursor() as cursor:
        cursor.execute(
            "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%'"
            " OR Variable_name LIKE 'Handler_icp%'"
        )
        counters = {name: int(value) for name, value in cursor.fetchall()}
    refused = counters.pop("Handler_icp_attempts", 0) - counters.pop("Handler_icp_match", 0)
    return sum(counters.values()) + refused


class PostgreSqlCounter:
    """Receives the plans that the server reports."""

    OPTIONS: Mapping[str, str] = {
        "log_min_duration": "0",
        "log_analyze": "on",
        "log_timing": "off",
        "log_nested_statements": "on",
        "log_format": "json",
        "log_level": "notice",
    }

    def __init__(self) -> None:
        self.reads: list[Reads] = []

    def open(self, dbapi_connection: Any) -> None:
        with dbapi_connection.cursor() as cursor:
            cursor.execute("LOAD 'auto_explain'")
            for name, value in self.OPTIONS.items():
                cursor.execute(f"SET auto_explain.{name} = {value}")
        dbapi_connection.commit()
        dbapi_connection.add_notice_handler(self._note)

    def before(self, dbapi_connection: Any, statement: str) -> None:
        """Do nothing: the report includes the statement."""

    def after(self, dbapi_connection: Any) -> None:
        """Do nothing."""

    def close(self, dbapi_connection: Any) -> None:
        dbapi_connection.remove_notice_handler(self._note)
        with dbapi_connection.cursor() as cursor:
            cursor.execute("SET auto_explain.log_min_duration = -1")
        dbapi_connection.commit()

    def _note(self, notice: Any) -> None:
        _duration, separator, text = notice.message_primary.partition("plan:\n")
        if separator:
            told = json.loads(text)
            self.reads.append(Reads(told["Query Text"], _rows_read(told["Plan"])))


def _rows_read(plan: Mapping[str, Any]) -> int:
    """Return the number of rows and lookups of the scans in a PostgreSQL plan.

    Averages of loops are rounded, perhaps to 0, so each loop counts as a lookup.
    """
    rows = sum(map(_rows_read, plan.get("Plans", ())))
    if "Scan" in plan["Node Type"]:
        removed = sum(number for key, number in plan.items() if key.startswith("Rows Removed by"))
        rows += plan["Actual Loops"] * (1 + plan["Actual Rows"] + removed)
    return rows


class SqliteCounter:
    """Is called back after every few instructions."""

    def __init__(self) -> None:
        self.reads: list[Reads] = []

    def open(self, dbapi_connection: Any) -> None:
        dbapi_connection.set_progress_handler(self._note, INSTRUCTIONS)

    def before(self, dbapi_connection: Any, statement: str) -> None:
        self.reads.append(Reads(statement, 0))

    def after(self, dbapi_connection: Any) -> None:
        """Do nothing: rows are read as they are fetched."""

    def close(self, dbapi_connection: Any) -> None:
        dbapi_connection.set_progress_handler(None, 0)

    def _note(self) -> int:
        if self.reads:
            self.reads[-1].rows += 1
        return 0  # continue


COUNTERS: Mapping[str, type[Counter]] = {
    "mariadb": MariaDbCounter,
    "postgresql": PostgreSqlCounter,
    "sqlite": SqliteCounter,
}


@contextmanager
def counted_reads(database: Database) -> Iterator[list[Reads]]:
    """Collect the statements of one thread, with the reads of each."""
    counter = COUNTERS[FAMILY]()

    def checkout(dbapi_connection: Any, *_rest: Any) -> None:
        counter.open(dbapi_connection)

    def checkin(dbapi_connection: Any, *_rest: Any) -> None:
        if dbapi_connection is not None:  # it was closed
            counter.close(dbapi_connection)

    def before(conn: sa.Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        counter.before(conn.connection.dbapi_connection, text_of(conn, statement))

    def after(conn: sa.Connection, *_rest: Any) -> None:
        counter.after(conn.connection.dbapi_connection)

    listeners: Mapping[str, Callable[..., None]] = {
        "checkout": checkout,
        "checkin": checkin,
        "before_cursor_execute": before,
        "after_cursor_execute": after,
    }
    for engine in (database.reader, database.writer):
        for event, listener in listeners.items():
            sa.event.listen(engine, event, listener)
    try:
        yield counter.reads
    finally:
        for engine in (database.reader, database.writer):
            for event, listener in listeners.items():
                sa.event.remove(engine, event, listener)
