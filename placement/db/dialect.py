"""Where engines differ. The only reader of the dialect's name."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection
from sqlalchemy.ext.compiler import compiles

from placement.db import codes

Query = TypeVar("Query", bound=sa.Select[*tuple[Any, ...]])

# Statement that opens a transaction, where the driver would send none or a weaker one.
BEGIN = {
    ("sqlite", "read"): "BEGIN",
    ("sqlite", "write"): "BEGIN IMMEDIATE",
    ("mysql", "read"): "START TRANSACTION READ ONLY",
    ("postgresql", "read"): "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}

ISOLATION = {
    ("mysql", "read"): "REPEATABLE READ",
    ("mysql", "write"): "READ COMMITTED",
    ("postgresql", "read"): "AUTOCOMMIT",  # BEGIN is ours, and says the rest
    ("postgresql", "write"): "READ COMMITTED",
}

# What transactions and codes here were made for: with psycopg2, which sends no ROLLBACK in
# autocommit mode, a read would never end.
DRIVERS = {"postgresql": {"psycopg"}}

# Drivers that are not installed unless asked for: module -> extra of the distribution.
EXTRAS: Mapping[str | None, str] = {"psycopg": "postgresql"}

# Names of parameters that a URL gives to a driver and nobody else may see.
SECRET = re.compile("pass|secret|token", re.IGNORECASE)
MASK = "***"

LOCK = "placement schema"
LOCK_TIMEOUT = 600  # seconds

SQLITE_BUSY_TIMEOUT = 5.0  # seconds

LONGEST_TEXT = 16 * 1024 * 1024  # bytes of one `JsonRows`; rows of MariaDB have no more by default


def engine(
    url: URL,
    role: str,
    *,
    synchronous: bool,
    sql_mode: str,
    sync_wait: int | None,
    lock_wait: float,
    **options: Any,
) -> sa.Engine:
    """Make an engine whose transactions have the isolation of DESIGN section 4.

    `role` is "read" (one snapshot, read only) or "write". lock_wait: seconds that a statement
    may wait for another transaction. sync_wait: what of a Galera cluster waits for other nodes.
    """
    name = "mysql" if url.get_backend_name() == "mariadb" else url.get_backend_name()
    driver = url.get_driver_name()
    if driver not in DRIVERS.get(name, {driver}):
        able = ", ".join(f"{name}+{each}" for each in sorted(DRIVERS[name]))
        raise exc.ArgumentError(f"the driver {driver} is not supported: use {able}")
    isolation = ISOLATION.get((name, role))
    if isolation is not None:
        options["isolation_level"] = isolation
    # Every transaction is ended here, and the pool need not do it once more.
    options["pool_reset_on_return"] = None
    if name == "sqlite":
        wait = min(lock_wait, SQLITE_BUSY_TIMEOUT)
        options.setdefault("connect_args", {})["timeout"] = wait
    made = sa.create_engine(url, **options)
    sa.event.listen(made, "do_connect", _make_private)

    session = {
        "sqlite": (
            "PRAGMA journal_mode=WAL",
            f"PRAGMA synchronous={'FULL' if synchronous else 'OFF'}",
            "PRAGMA foreign_keys=ON",
        ),
        "mysql": (
            *([f"SET SESSION sql_mode = '{sql_mode}'"] if sql_mode else []),
            *([] if sync_wait is None else [f"SET SESSION wsrep_sync_wait = {sync_wait}"]),
            f"SET SESSION group_concat_max_len = {LONGEST_TEXT}",
            f"SET SESSION innodb_lock_wait_timeout = {max(1, round(lock_wait))}",
            f"SET SESSION lock_wait_timeout = {max(1, round(lock_wait))}",  # locks on tables
        ),
        "postgresql": (f"SET lock_timeout = {round(lock_wait * 1000)}",),
    }

    @sa.event.listens_for(made, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        if name == "sqlite":
            # The driver's own transaction control would start them late and deferred.
            dbapi_connection.isolation_level = None
        cursor = dbapi_connection.cursor()
        for statement in session.get(name, ()):
            cursor.execute(statement)
        cursor.close()
        if name == "postgresql":
            dbapi_connection.commit()  # otherwise it would be forgotten

    @sa.event.listens_for(made, "handle_error")
    def leave(context: sa.engine.ExceptionContext) -> None:
        if not codes.ELSEWHERE.isdisjoint(codes.of(context.original_exception)):
            context.is_disconnect = True

    begin = BEGIN.get((name, role))
    if begin is not None:

        @sa.event.listens_for(made, "begin")
        def open_transaction(conn: Connection) -> None:
            conn.exec_driver_sql(begin)

    return made


def _make_private(dialect: sa.Dialect, _record: Any, arguments: Any, named: Any) -> None:
    """Make a SQLite file that nobody else may read; those beside it follow it.

    One that is there is not touched: closing it would give up this process's locks on it.
    """
    if dialect.name != "sqlite" or named.get("uri"):
        return
    (path, *_) = arguments
    if path != ":memory:":
        with suppress(OSError):  # SQLite says what is wrong
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


class _UnlessPresent(sa.Insert):
    """An INSERT that leaves out rows whose unique key is taken."""

    inherit_cache = False


@compiles(_UnlessPresent)
def _on_conflict(statement: sa.Insert, compiler: Any, **options: Any) -> str:
    return f"{compiler.visit_insert(statement, **options)} ON CONFLICT DO NOTHING"


@compiles(_UnlessPresent, "mysql", "mariadb")
def _on_duplicate(statement: sa.Insert, compiler: Any, **options: Any) -> str:
    # INSERT IGNORE would also store what it has cut off.
    return f"{compiler.visit_insert(statement, **options)} ON DUPLICATE KEY UPDATE id = id"


def in_this_order(query: Query) -> Query:
    """Have MySQL and MariaDB join the tables in the order of FROM.

    They do not know how many rows a derived table will have, and begin elsewhere.
    """
    return query.prefix_with("STRAIGHT_JOIN", dialect="mysql").prefix_with(
        "STRAIGHT_JOIN", dialect="mariadb"
    )


def kept(conn: Connection, number: float) -> float:
    """What a column of floats gives back of a number: MySQL's FLOAT shows six digits."""
    return float(f"{number:.6g}") if conn.dialect.name in {"mysql", "mariadb"} else number


def insert_unless_present(table: sa.Table) -> sa.Insert:
    """Begin an INSERT of several rows that leaves out those whose unique key is taken."""
    return _UnlessPresent(table)


@contextmanager
def alone(conn: Connection) -> Iterator[None]:
    """Keep other processes out while this one migrates.

    On a Galera cluster this holds for the processes of one node only.
    """
    if conn.dialect.name in {"mysql", "mariadb"}:
        conn.exec_driver_sql(f"SELECT GET_LOCK('{LOCK}', {LOCK_TIMEOUT})")
        try:
            yield
            # Its migrations commit one by one anyway; the next process must see the last one.
            conn.exec_driver_sql("COMMIT")
        finally:
            if not conn.invalidated:  # it goes with its connection
                conn.exec_driver_sql(f"SELECT RELEASE_LOCK('{LOCK}')")
    elif conn.dialect.name == "postgresql":
        # Released with the transaction.
        conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock(hashtext('{LOCK}'))")
        yield
    else:
        yield


def catch_up(conn: Connection) -> None:
    """Have a node of a Galera cluster apply what others have committed before it answers."""
    if conn.dialect.name in {"mysql", "mariadb"}:
        variable = "wsrep_sync_wait"  # unknown to a MySQL without Galera
        if conn.exec_driver_sql(f"SHOW VARIABLES LIKE '{variable}'").first():
            conn.exec_driver_sql(f"SET SESSION {variable} = 15")


def shown(url: URL) -> str:
    """A URL without its passwords, which may stand in its query too."""
    query = {name: MASK if SECRET.search(name) else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string().replace(quote(MASK, safe=""), MASK)


def one_line(error: Exception) -> str:
    """An engine's complaint without statement, parameters and line breaks."""
    origin = getattr(error, "orig", None) or error
    return " ".join(str(origin).split())
