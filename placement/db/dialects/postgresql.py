"""PostgreSQL."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects.errors import LOGIN, RIGHT, SHAPE, ErrorCodes
from placement.db.dialects.protocol import Dialect, Role, run

LOCK = "placement schema"

ERRORS = ErrorCodes(
    retriable=frozenset(
        {
            "08007",  # the outcome of a COMMIT is not known, as of 40003
            "40001",  # serialization failure
            "40003",
            "40P01",  # deadlock
            "55P03",  # waited too long for a lock
        }
    ),
    reconnect=frozenset(
        {
            "08000",
            "08001",
            "08003",
            "08004",
            "08006",
            "25006",  # read only
            "57P01",  # shutdown by an administrator
            "57P02",  # after a crash
            "57P03",  # starting up
            # What is prepared on the connection:
            "0A000",  # is for a table that has changed since
            "26000",  # is gone, as behind a proxy that hands its own connections around
            "42P05",  # is somebody else's, behind such a proxy
        }
    ),
    # Not 57P01: a server on its way down no longer knows.
    not_committed=frozenset({"40001", "40P01"}),
    deadlock=frozenset({"40P01"}),
    unstorable=frozenset({"22021", "22P05"}),
    duplicate=frozenset({"23505"}),
    too_long=frozenset({"57014"}),  # also when an administrator cancels a statement
    lasting={
        "42501": RIGHT,
        "28000": LOGIN,
        "28P01": LOGIN,
        "3D000": LOGIN,
        "42P01": SHAPE,
        "42703": SHAPE,
        "3F000": SHAPE,
    },
    # What it answers while a connection is made has no code.
    lasting_texts={
        re.compile(
            "FATAL: +(password authentication|role .* does not|database .* does not)"
        ): LOGIN,
        re.compile("FATAL: +(no pg_hba.conf entry|permission denied)"): LOGIN,
    },
)


class PostgreSql(Dialect):
    """PostgreSQL: reads in a snapshot, writes that see what others have committed."""

    names = ("postgresql",)
    # With psycopg2, which sends no ROLLBACK in autocommit mode, a read would never end.
    drivers = frozenset({"psycopg"})
    extras: Mapping[str, str] = {"psycopg": "postgresql"}
    is_file = False
    begin: Mapping[Role, str] = {Role.READ: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
    isolation: Mapping[Role, str] = {
        Role.READ: "AUTOCOMMIT",  # the BEGIN above says the rest
        Role.WRITE: "READ COMMITTED",
    }
    tears_views = False
    one_view = ""
    errors = ERRORS
    unless_present = "ON CONFLICT DO NOTHING"
    in_written_order = ""
    by_no_index = ""
    bytes_of_text = ""
    locks_before_update = True

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Do nothing."""

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set how long a statement waits for locks."""
        run(dbapi_connection, [f"SET lock_timeout = {round(settings.write_timeout * 1000)}"])
        dbapi_connection.commit()  # otherwise it would be forgotten

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Set the limit of the session.

        PERF: starting other processes, or a compiler, takes ten times as long as the statement
        that few hosts meet, of which PostgreSQL expects much in a large cloud.
        """
        statements = [
            f"SET statement_timeout = {math.ceil(seconds * 1000)}",
            "SET max_parallel_workers_per_gather = 0",
            "SET jit = off",
        ]

        @sa.event.listens_for(engine, "connect")
        def prepare(dbapi_connection: Any, _record: Any) -> None:
            run(dbapi_connection, statements)
            dbapi_connection.commit()  # otherwise it would be forgotten

    def as_stored(self, number: float) -> float:
        """Return the number itself."""
        return number

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Use the function for JSON; the driver would take its value apart."""
        return f"CAST({_json_array(columns)} AS TEXT)"

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Use the functions for JSON."""
        return f"CAST(json_agg({_json_array(columns)}) AS TEXT)"

    @contextmanager
    def migration_lock(self, conn: Connection) -> Iterator[None]:
        """Take an advisory lock, which is released with the transaction."""
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtext('{LOCK}'))")
        yield

    def wait_for_replication(self, conn: Connection) -> None:
        """Do nothing: writes go to one server."""

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Analyze the tables; the server does within minutes, and reads them whole till then."""
        conn.exec_driver_sql(f"ANALYZE {', '.join(tables)}")


def _json_array(columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
    return f"json_build_array({', '.join(sql for sql, _type in columns)})"
