"""What a database reads for statements, as it counts that itself: work that needs no clock.

A read is a row that is looked at, whether it is kept or not, or a look-up in an index. They are
counted while the statements run, so with the plans that these have got:

* MariaDB counts what it asks the tables for, and what conditions on indexes have refused.
* PostgreSQL tells each plan that it has carried out, with the rows of each step (`auto_explain`);
  also those of constraints.
* SQLite makes a program of each statement, whose instructions are counted: `INSTRUCTIONS` of them
  as a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit.engines import ENGINE
from tests.kit.statements import text_of

INSTRUCTIONS = 5


@dataclass
class Reads:
    """A statement, and how many rows were read for it."""

    statement: str
    rows: int


class Counter(Protocol):
    """Collects what one engine reads for the statements of one connection at a time.

    A connection is in no transaction when it is opened and closed. `before` and `after` surround a
    statement; it may yet have rows to look for after that, and PostgreSQL tells its plan later.
    """

    reads: list[Reads]

    def open(self, dbapi_connection: Any) -> None:
        """Begin to count on a connection."""

    def before(self, dbapi_connection: Any, statement: str) -> None:
        """Count for a statement from now on."""

    def after(self, dbapi_connection: Any) -> None:
        """Note that it was carried out."""

    def close(self, dbapi_connection: Any) -> None:
        """Leave the connection as it was."""


class MariaDbCounter:
    """Asks for the counters of the session before and after a statement."""

    def __init__(self) -> None:
        self.reads: list[Reads] = []

    def open(self, dbapi_connection: Any) -> None:
        """Do nothing: counting goes on all the time."""

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
    refused = counters.pop("Handler_icp_attempts") - counters.pop("Handler_icp_match")
    return sum(counters.values()) + refused


class PostgreSqlCounter:
    """Listens to what the server tells of its plans."""

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
        """Do nothing: the server repeats the statement."""

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
    """Return how many rows the scans of a PostgreSQL plan have looked at, and how often.

    Averages of loops are rounded, perhaps to none: so each loop counts as a look-up.
    """
    rows = sum(map(_rows_read, plan.get("Plans", ())))
    if "Scan" in plan["Node Type"]:
        removed = sum(number for key, number in plan.items() if key.startswith("Rows Removed by"))
        rows += plan["Actual Loops"] * (1 + plan["Actual Rows"] + removed)
    return rows


class SqliteCounter:
    """Has itself called every few instructions."""

    def __init__(self) -> None:
        self.reads: list[Reads] = []

    def open(self, dbapi_connection: Any) -> None:
        dbapi_connection.set_progress_handler(self._note, INSTRUCTIONS)

    def before(self, dbapi_connection: Any, statement: str) -> None:
        self.reads.append(Reads(statement, 0))

    def after(self, dbapi_connection: Any) -> None:
        """Do nothing: rows are looked for as they are fetched."""

    def close(self, dbapi_connection: Any) -> None:
        dbapi_connection.set_progress_handler(None, 0)

    def _note(self) -> int:
        if self.reads:
            self.reads[-1].rows += 1
        return 0  # go on


COUNTERS: Mapping[str, type[Counter]] = {
    "mariadb": MariaDbCounter,
    "postgresql": PostgreSqlCounter,
    "sqlite": SqliteCounter,
}


@contextmanager
def counted_reads(database: Database) -> Iterator[list[Reads]]:
    """Collect the statements that are executed, by one thread, with what is read for each."""
    counter = COUNTERS[ENGINE]()

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
