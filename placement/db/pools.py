"""Connection pools. Each role has an SQLAlchemy engine, which its dialect configures."""

import os
import weakref
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import URL, Connection, make_url

from placement.compat.sqlalchemy import count_parameters
from placement.config import DatabaseSettings
from placement.db import texts
from placement.db.dialects import DIALECTS, ONE_VIEW, Dialect, Role, dialect_of_url
from placement.db.dialects.errors import codes_of
from placement.runtime.bounded import SizeLimitedDict

# Maximum total size of the statements in the compiled cache of an engine, in parameters, which use
# about a kilobyte each. By default, SQLAlchemy caches 500 statements of any size. The statements of
# bulk writes alone would then use gigabytes.
MAX_CACHED_PARAMETERS = 20_000
# Size of a statement without parameters.
MIN_SIZE = 40

EXAMPLE = "mysql+pymysql://USER:PASSWORD@HOST/placement"

_engines: "weakref.WeakSet[sa.Engine]" = weakref.WeakSet()
_inherited: list[sa.Pool] = []  # of the process from which this process was forked


def parse_url(text: str) -> URL:
    """Parse the URL of a database.

    Raises:
        ValueError: the URL is malformed, or has a second @: a part of the password would be parsed
            as the host, and would appear in errors and logs.
    """
    address = text.partition("://")[2]
    if not address.startswith("/") and "@" in address.partition("@")[2].partition("?")[0]:
        raise ValueError("write an @ within a name or a password as %40")
    try:
        return make_url(text)
    except (exc.ArgumentError, ValueError):  # of a port, which may be a misplaced password
        raise ValueError(f"it is not a URL of a database: use a form like {EXAMPLE}") from None


def make_pool(url: URL, role: Role, settings: DatabaseSettings) -> sa.Engine:
    """Create an engine for the transactions of a role, without connecting.

    Raises:
        ArgumentError: the driver is not supported.
        ValueError: the database or a parameter of the URL is not supported.
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
        # A new connection has failed.
        is_refused = (conn := context.connection) is None or conn.invalidated
        if is_refused or dialect.errors.reconnect & codes_of(context.original_exception):
            context.is_disconnect = True

    # -- each transaction
    begin = dialect.begin.get(role)
    if begin is not None:

        @sa.event.listens_for(engine, "begin")
        def open_transaction(conn: Connection) -> None:
            if conn.get_execution_options().get(ONE_VIEW) and dialect.one_view:
                conn.exec_driver_sql(dialect.one_view)
            conn.exec_driver_sql(begin)

    _engines.add(engine)
    return engine


def how_to_install(module: str | None) -> str:
    """Return a hint about how to install the module of a driver, or ""."""
    for dialect in DIALECTS:
        extra = dialect.extras.get(module or "")
        if extra:
            return f"; install it with pip install 'falcon-placement[{extra}]'"
    return ""


def _parameters(compiled: sa.Compiled) -> int:
    """Return the size of a statement in the cache, in parameters."""
    return MIN_SIZE + count_parameters(compiled)


def _abandon_inherited() -> None:
    """Start with empty pools after a fork, because two processes cannot share a connection."""
    for engine in _engines:
        # Keep a reference. When a driver's connection is garbage-collected, it may send QUIT to the
        # server on the connection of the parent process.
        _inherited.append(engine.pool)
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_abandon_inherited)


def _check_driver(url: URL, dialect: Dialect) -> None:
    driver = url.get_driver_name()
    if dialect.drivers and driver not in dialect.drivers:
        names = ", ".join(f"{dialect.names[0]}+{name}" for name in sorted(dialect.drivers))
        raise exc.ArgumentError(f"the driver {driver} is not supported: use {names}")
    try:
        url.get_dialect()
    except exc.NoSuchModuleError:
        raise exc.ArgumentError(
            f"there is no driver {driver} for {dialect.names[0]}: use a form like {EXAMPLE}"
        ) from None


def _options(url: URL, dialect: Dialect, role: Role, settings: DatabaseSettings) -> dict[str, Any]:
    options = {
        "connect_args": dialect.connect_args(url, settings),
        "isolation_level": dialect.isolation.get(role),
        "pool_recycle": settings.recycle,
        "pool_timeout": settings.pool_timeout,
    }
    stated = {name: value for name, value in options.items() if value is not None}
    # The pool does not have to roll back, because `transactions` ends every transaction.
    return {
        **stated,
        # PERF: no connection is overflow, because SQLAlchemy closes overflow connections when they
        # return to the pool. With a small pool, most requests would open a new connection.
        "poolclass": sa.QueuePool,
        "pool_size": settings.max_connections,
        "max_overflow": 0,
        # PERF: of several idle connections, only the latest is used and renewed.
        "pool_use_lifo": True,
        "pool_reset_on_return": None,
        "execution_options": {
            "compiled_cache": SizeLimitedDict(MAX_CACHED_PARAMETERS, _parameters),
            texts.OPTION: texts.Texts(prepared=settings.mariadb_prepared_statements),
        },
        "logging_name": role.value,
        "echo": settings.debug,
    }
