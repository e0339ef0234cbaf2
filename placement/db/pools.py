"""Pools of connections: an engine of SQLAlchemy for each role, set up as its dialect says."""

import os
import weakref
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, make_url

from placement.bounded import Bounded
from placement.compat.sqlalchemy import count_parameters
from placement.config import DatabaseSettings
from placement.db import texts
from placement.db.dialects import ONE_VIEW, Dialect, Role, dialect_of_url
from placement.db.dialects.errors import codes_of

# Of all statements that an engine keeps in compiled form. By default it would keep 500 statements,
# however large: those of bulk writes alone would take gigabytes.
MOST_PARAMETERS = 20_000

_made: "weakref.WeakSet[sa.Engine]" = weakref.WeakSet()
_inherited: list[sa.Pool] = []  # of the process that forked this one


def parse_url(text: str) -> URL:
    """Parse the URL of a database.

    Raises ArgumentError and ValueError for one that is malformed, and ValueError for a second @,
    which shows a part of the password as the host: errors of drivers, and URLs with masked
    passwords, would have it in the log.
    """
    address = text.partition("://")[2]
    if not address.startswith("/") and "@" in address.partition("@")[2].partition("?")[0]:
        raise ValueError("write an @ within a name or a password as %40")
    return make_url(text)


def make_pool(url: URL, role: Role, settings: DatabaseSettings) -> sa.Engine:
    """Make an engine whose transactions are those of the role; nothing is connected yet.

    Raises ArgumentError for a driver, and ValueError for a database or a parameter, that is not
    supported.
    """
    dialect = dialect_of_url(url)
    _check_driver(url, dialect)
    engine = sa.create_engine(url, **_options(url, dialect, role, settings))

    # -- each connection
    @sa.event.listens_for(engine, "do_connect")
    def before_connect(
        _dialect: sa.Dialect, _record: Any, arguments: Sequence[Any], options: dict[str, Any]
    ) -> None:
        dialect.before_connect(arguments, options)

    @sa.event.listens_for(engine, "connect")
    def open_session(dbapi_connection: Any, _record: Any) -> None:
        dialect.open_session(dbapi_connection, role, settings)

    @sa.event.listens_for(engine, "handle_error")
    def leave_connection(context: sa.engine.ExceptionContext) -> None:
        if not dialect.errors.reconnect.isdisjoint(codes_of(context.original_exception)):
            context.is_disconnect = True

    # -- each transaction
    begin = dialect.begin.get(role)
    if begin is not None:

        @sa.event.listens_for(engine, "begin")
        def open_transaction(conn: Connection) -> None:
            if conn.get_execution_options().get(ONE_VIEW) and dialect.one_view:
                conn.exec_driver_sql(dialect.one_view)
            conn.exec_driver_sql(begin)

    _made.add(engine)
    return engine


def _parameters(compiled: sa.Compiled) -> int:
    """Return how many parameters a statement has, and one for itself."""
    return 1 + count_parameters(compiled)


def _leave_inherited() -> None:
    """Begin with no connections after a fork: on a shared one, answers reach the wrong process."""
    for engine in _made:
        # Kept, for a driver that collects a connection may say good-bye to the server.
        _inherited.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_leave_inherited)


def _check_driver(url: URL, dialect: Dialect) -> None:
    driver = url.get_driver_name()
    if dialect.drivers and driver not in dialect.drivers:
        names = ", ".join(f"{dialect.names[0]}+{name}" for name in sorted(dialect.drivers))
        raise exc.ArgumentError(f"the driver {driver} is not supported: use {names}")


def _options(url: URL, dialect: Dialect, role: Role, settings: DatabaseSettings) -> dict[str, Any]:
    options = {
        "connect_args": dialect.connect_args(url, settings),
        "isolation_level": dialect.isolation.get(role),
        "pool_recycle": settings.recycle,
        "pool_size": settings.pool_size,
        "max_overflow": settings.max_overflow,
        "pool_timeout": settings.pool_timeout,
    }
    stated = {name: value for name, value in options.items() if value is not None}
    # Every transaction is ended by `transactions`, and the pool need not do it once more.
    return {
        **stated,
        "pool_reset_on_return": None,
        "execution_options": {
            "compiled_cache": Bounded(MOST_PARAMETERS, _parameters),
            texts.OPTION: texts.Texts(prepared=settings.prepared_statements),
        },
        "logging_name": role.value,
        "echo": settings.debug,
    }
