"""The interface of an engine's dialect."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects.errors import ErrorCodes

# Execution option of a connection: its transactions have one view of the database.
ONE_VIEW = "one_view"


class Role(Enum):
    """The kind of transactions of a connection."""

    READ = "read"  # read only
    WRITE = "write"  # sees the commits of other transactions; takes locks


class Dialect(Protocol):
    """The properties of one engine."""

    # Names of SQLAlchemy's dialects for the engine.
    names: Sequence[str]
    # Supported drivers, or empty for any.
    drivers: frozenset[str]
    # Module of a driver -> the extra of the distribution that installs it.
    extras: Mapping[str, str]
    # Whether the database is a file instead of a server that may not be ready.
    is_file: bool
    # Role -> the statement that opens a transaction, if the driver would send none or a weaker one.
    begin: Mapping[Role, str]
    # Role -> SQLAlchemy's name of the isolation level.
    isolation: Mapping[Role, str]
    # Whether a view of the database may show a transaction but not an earlier one that it waited
    # for. Each statement of a read transaction then gets its own view.
    tears_views: bool
    # Statement that gives the next read transaction one view for all its statements, or "".
    one_view: str
    # Error codes.
    errors: ErrorCodes
    # End of an INSERT that skips rows whose unique key exists.
    unless_present: str
    # Keyword after SELECT that joins tables in the order of FROM, or "".
    straight_join: str
    # Prefix that keeps the planner from using a column's index, or "".
    without_index: str
    # SQL of the bytes of a text `{}`, on engines whose comparison of texts ignores differences, or
    # "".
    bytes_of_text: str
    # SQL of the current time in milliseconds since 1970, as an integer.
    clock: str
    # Whether the rows must be locked in order before an UPDATE of several rows.
    locks_before_update: bool

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return arguments for the `connect` function of the URL's driver.

        Options of the URL take precedence.

        Raises:
            ValueError: the URL is not safe to use.
        """
        ...

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Prepare for a new connection, which the driver opens with these arguments."""
        ...

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set up a new connection of the driver.

        For `Role.READ` it must commit each statement outside of transactions.
        """
        ...

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Limit the time of statements on new connections, including waits for locks."""
        ...

    def as_stored(self, number: float) -> float:
        """Return the value that a float column returns after the number was stored in it."""
        ...

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return SQL for a JSON list of the columns (SQL, type) of one row, as text."""
        ...

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return SQL that aggregates columns (SQL, type) into a JSON list of lists, as text."""
        ...

    def migration_lock(self, conn: Connection) -> AbstractContextManager[None]:
        """Exclude concurrent migrations by other processes."""
        ...

    def wait_for_replication(self, conn: Connection) -> None:
        """Make the server apply the transactions committed on other nodes before each statement."""
        ...

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Update the planner's statistics of tables that have just changed a lot."""
        ...


def run(dbapi_connection: Any, statements: Sequence[str]) -> None:
    """Execute statements on a driver's connection."""
    cursor = dbapi_connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()
