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

# Execution option of a connection: each of its transactions has a single view of the database.
ONE_VIEW = "one_view"


class Role(Enum):
    """The kind of transactions on a connection."""

    READ = "read"  # read only
    WRITE = "write"  # sees the commits of other transactions, and acquires locks


class Dialect(Protocol):
    """The properties of one engine."""

    # SQLAlchemy's names of the dialects of the engine.
    names: Sequence[str]
    # Supported drivers. Empty if all drivers are supported.
    drivers: frozenset[str]
    # Module of a driver -> the extra of the distribution that installs it.
    extras: Mapping[str, str]
    # Whether the database is a file. A server, in contrast, may not be ready yet.
    is_file: bool
    # Role -> the statement that opens a transaction, if the driver sends none or a weaker one.
    begin: Mapping[Role, str]
    # Role -> SQLAlchemy's name of the isolation level.
    isolation: Mapping[Role, str]
    # Whether a view of the database may show a transaction but not an earlier transaction for which
    # it waited. In this case, each statement of a read transaction gets a separate view.
    tears_views: bool
    # Statement that gives the next read transaction one view for all of its statements, or "".
    one_view: str
    errors: ErrorCodes
    # The end of an INSERT that skips rows whose unique key already exists.
    unless_present: str
    # Keyword after SELECT that joins the tables in the order of FROM, or "".
    straight_join: str
    # Hint after a table that has its rows looked up in the index `{}`, or "".
    force_index: str
    # Prefix that prevents the planner from using the index of a column, or "".
    without_index: str
    # SQL for the bytes of a text `{}`, or "". Engines whose text comparison ignores differences
    # need it.
    bytes_of_text: str
    # SQL for a text `{}` in a character set for all characters, or "". Engines whose columns may
    # have different character sets need it.
    any_text: str
    # SQL for an ASCII text `{}` that these engines can compare with the text of any column, or "".
    ascii_text: str
    # SQL for the current time in milliseconds since 1970, as an integer.
    clock: str
    # Whether an UPDATE of several rows must lock them in order first.
    locks_before_update: bool
    # Whether a prepared statement may get one plan for all values of its parameters.
    generic_plans: bool

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return arguments for the `connect` function of the URL's driver.

        Options in the URL take precedence.

        Raises:
            ValueError: the URL is not safe to use.
        """
        ...

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Prepare for a new connection. The driver will open it with these arguments."""
        ...

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set up a new connection of the driver.

        For `Role.READ` it must commit each statement outside of transactions.
        """
        ...

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Limit the time of statements on new connections. Waits for locks are included."""
        ...

    def as_stored(self, number: float) -> float:
        """Return the value that a float column returns after this number has been stored in it."""
        ...

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return an SQL expression for the columns of one row as the text of a JSON list.

        Each column is a pair (SQL, type).
        """
        ...

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return SQL that aggregates columns (SQL, type) into a JSON list of lists, as text."""
        ...

    def migration_lock(self, conn: Connection) -> AbstractContextManager[None]:
        """Exclude concurrent migrations by other processes."""
        ...

    def wait_for_replication(self, conn: Connection) -> None:
        """Make the server apply the commits of other nodes before it executes a statement."""
        ...

    def charsets(self, conn: Connection) -> Mapping[str, str]:
        """Return the character set of each text column (`table.column`).

        Empty if all texts of a database have the same encoding.
        """
        ...

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Update the planner's statistics of tables whose content has just changed a lot."""
        ...


def run(dbapi_connection: Any, statements: Sequence[str]) -> None:
    cursor = dbapi_connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()
