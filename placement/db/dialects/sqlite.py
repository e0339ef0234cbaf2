"""The SQLite dialect. A database is a file, with one writer at a time."""

import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects.errors import FILE, RIGHT, SHAPE, ErrorCodes
from placement.db.dialects.protocol import Dialect, Role, run

BUSY_TIMEOUT = 5.0  # seconds
CLOCK_INTERVAL = 10_000  # operations between two checks of the clock; they take about 0.2 ms

_DEADLINE = "deadline"

ERRORS = ErrorCodes(
    retriable=frozenset(
        {
            "SQLITE_BUSY",
            "SQLITE_BUSY_RECOVERY",  # another process is recovering the WAL after a crash
            "SQLITE_BUSY_SNAPSHOT",
            "SQLITE_LOCKED",
            "SQLITE_PROTOCOL",  # a race for the locks of the WAL
        }
    ),
    not_committed=frozenset({"SQLITE_BUSY"}),
    duplicate=frozenset({"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}),
    too_long=frozenset({"SQLITE_INTERRUPT"}),
    permanent={
        "SQLITE_READONLY": RIGHT,
        "SQLITE_READONLY_DBMOVED": RIGHT,
        "SQLITE_READONLY_DIRECTORY": RIGHT,
        "SQLITE_PERM": RIGHT,
        "SQLITE_NOTADB": FILE,
        "SQLITE_CORRUPT": FILE,
    },
    # Every error of SQLite's SQL compiler has the code SQLITE_ERROR, so the message decides.
    permanent_patterns={re.compile("^no such (table|column)|has no column named"): SHAPE},
)


class Sqlite(Dialect):
    """SQLite with a write-ahead log (WAL), so that readers do not wait for the writer."""

    names = ("sqlite",)
    drivers = frozenset()
    extras: Mapping[str, str] = {}
    is_file = True
    begin: Mapping[Role, str] = {Role.READ: "BEGIN", Role.WRITE: "BEGIN IMMEDIATE"}
    isolation: Mapping[Role, str] = {}
    tears_views = False
    one_view = ""
    errors = ERRORS
    unless_present = "ON CONFLICT DO NOTHING"
    straight_join = ""
    force_index = ""
    without_index = "+"
    bytes_of_text = ""
    any_text = ""
    ascii_text = ""
    clock = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    locks_before_update = False
    generic_plans = False

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Limit the time that a statement waits for the transaction of another process."""
        return {"timeout": min(settings.write_timeout, BUSY_TIMEOUT)}

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Create the file with permissions for this user only. SQLite's other files inherit them.

        The method does not open an existing file, because closing it would release the locks of
        this process on it.
        """
        path = arguments[0]
        if path != ":memory:" and not options.get("uri"):
            with suppress(OSError):  # SQLite reports the error
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Disable the driver's own transactions. They begin too late, and are deferred."""
        dbapi_connection.isolation_level = None
        synchronous = "FULL" if settings.sqlite_synchronous else "OFF"
        run(
            dbapi_connection,
            (
                "PRAGMA journal_mode=WAL",
                f"PRAGMA synchronous={synchronous}",
                "PRAGMA foreign_keys=ON",
            ),
        )

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Check the time in a progress handler."""

        @sa.event.listens_for(engine, "connect")
        def prepare(dbapi_connection: Any, record: Any) -> None:
            info = record.info

            def is_late() -> bool:
                return bool(time.monotonic() > info.get(_DEADLINE, math.inf))

            dbapi_connection.set_progress_handler(is_late, CLOCK_INTERVAL)

        @sa.event.listens_for(engine, "before_cursor_execute")
        def start(conn: sa.Connection, *_statement: Any) -> None:
            conn.info[_DEADLINE] = time.monotonic() + seconds

    def as_stored(self, number: float) -> float:
        return number

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Use the JSON function, except for floats, because the function writes only 15 digits."""
        values = []
        for sql, kind in columns:
            is_float = isinstance(kind, sa.Float)
            values.append(f"json(printf('%!.17g', {sql}))" if is_float else sql)
        return f"json_array({', '.join(values)})"

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        return f"json_group_array({self.json_row(columns)})"

    def migration_lock(self, conn: Connection) -> AbstractContextManager[None]:
        """Do nothing, because a write transaction excludes all others."""
        return nullcontext()

    def wait_for_replication(self, conn: Connection) -> None:
        """Do nothing, because there are no other nodes."""

    def charsets(self, conn: Connection) -> Mapping[str, str]:
        """Return an empty mapping, because a database has one encoding."""
        return {}

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Do nothing. Plans are good without statistics, and statistics would become outdated."""
