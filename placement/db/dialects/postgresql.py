"""The PostgreSQL dialect."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects.errors import LOGIN, RIGHT, SETTING, SHAPE, TLS, ErrorCodes
from placement.db.dialects.protocol import Dialect, Role, run

LOCK = "placement schema"

READ_ONLY = frozenset({"25006"})

ERRORS = ErrorCodes(
    retriable=frozenset(
        {
            "08007",  # the outcome of a COMMIT is unknown, as with 40003
            "40001",  # serialization failure
            "40003",
            "40P01",  # deadlock
            "55P03",  # timeout while waiting for a lock
        }
    ),
    reconnect=frozenset(
        {
            "08000",
            "08001",
            "08003",
            "08004",
            "08006",
            "57P01",  # shutdown by an administrator
            "57P02",  # after a crash
            "57P03",  # starting up
            # Codes of a statement that is prepared on the connection:
            "0A000",  # it depends on a table that has changed since then
            "26000",  # it does not exist, for example behind a proxy that shares its connections
        }
    )
    | READ_ONLY,
    read_only=READ_ONLY,
    # Without 57P01: a server that is shutting down does not report an outcome.
    not_committed=frozenset({"40001", "40P01"}),
    deadlock=frozenset({"40P01"}),
    unstorable=frozenset({"22021", "22P05"}),
    duplicate=frozenset({"23505"}),
    too_long=frozenset({"57014"}),  # also if an administrator cancels a statement
    permanent={
        "42501": RIGHT,
        "28000": LOGIN,
        "28P01": LOGIN,
        "3D000": LOGIN,
        "42P01": SHAPE,
        "42703": SHAPE,
        "3F000": SHAPE,
    },
    # Errors while connecting have no code.
    permanent_patterns={
        re.compile(
            r"FATAL: +(\w+ authentication failed|role .* (does|is) not|database .* does not)"
        ): LOGIN,
        re.compile("FATAL: +(no pg_hba.conf entry|permission denied)|no password supplied"): LOGIN,
        re.compile(
            "SSL was required|server certificate for .* does not match|certificate verify failed"
            "|requires a valid client certificate|certificate file .* does not exist"
            "|could not read root certificate file|channel binding required"
        ): TLS,
        re.compile(
            "invalid connection option|invalid .* value: |bad value for "
            "|FATAL: +(unrecognized configuration parameter|invalid value for parameter)"
        ): SETTING,
    },
)


class PostgreSql(Dialect):
    """PostgreSQL, with reads in a snapshot and writes at READ COMMITTED."""

    names = ("postgresql",)
    # psycopg2 is not supported: in autocommit mode it does not send ROLLBACK, so reads would never
    # end.
    drivers = frozenset({"psycopg"})
    extras: Mapping[str, str] = {"psycopg": "postgresql"}
    is_file = False
    begin: Mapping[Role, str] = {Role.READ: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"}
    isolation: Mapping[Role, str] = {
        Role.READ: "AUTOCOMMIT",  # `begin` sets the isolation level
        Role.WRITE: "READ COMMITTED",
    }
    tears_views = False
    one_view = ""
    errors = ERRORS
    unless_present = "ON CONFLICT DO NOTHING"
    straight_join = ""
    force_index = ""
    without_index = ""
    bytes_of_text = ""
    any_text = ""
    ascii_text = ""
    clock = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
    locks_before_update = True
    generic_plans = True

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Keep psycopg from preparing statements, unless the settings request it."""
        return {} if settings.postgresql_prepared_statements else {"prepare_threshold": None}

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Do nothing."""

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set the timeout for locks, and make the names of prepared statements unique."""
        # PERF: importing the driver takes time, and other databases do not need the driver.
        from placement.compat.psycopg import use_unique_names  # noqa: PLC0415

        use_unique_names(dbapi_connection)
        run(dbapi_connection, [f"SET lock_timeout = {round(settings.write_timeout * 1000)}"])
        dbapi_connection.commit()  # a rollback would revert the setting

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Set the limit of the session, and disable parallel workers and JIT compilation.

        PERF: in a large cloud, PostgreSQL overestimates the number of rows that satisfy selective
        conditions. It would start workers or the compiler, which takes ten times as long as the
        statement.
        """
        statements = [
            f"SET statement_timeout = {math.ceil(seconds * 1000)}",
            "SET max_parallel_workers_per_gather = 0",
            "SET jit = off",
        ]

        @sa.event.listens_for(engine, "connect")
        def prepare(dbapi_connection: Any, _record: Any) -> None:
            run(dbapi_connection, statements)
            dbapi_connection.commit()  # a rollback would revert the settings

    def as_stored(self, number: float) -> float:
        return number

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Use the JSON function. Return text, because the driver would parse a JSON value."""
        return f"CAST({_json_array(columns)} AS TEXT)"

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        return f"CAST(json_agg({_json_array(columns)}) AS TEXT)"

    @contextmanager
    def migration_lock(self, conn: Connection) -> Iterator[None]:
        """Acquire an advisory lock. The end of the transaction releases it."""
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtext('{LOCK}'))")
        yield

    def wait_for_replication(self, conn: Connection) -> None:
        """Do nothing, because all writes go to a single server."""

    def charsets(self, conn: Connection) -> Mapping[str, str]:
        """Return an empty mapping, because a database has one encoding."""
        return {}

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Run ANALYZE. Autovacuum would do this only minutes later, and until then scan tables."""
        conn.exec_driver_sql(f"ANALYZE {', '.join(tables)}")


def _json_array(columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
    return f"json_build_array({', '.join(sql for sql, _type in columns)})"
