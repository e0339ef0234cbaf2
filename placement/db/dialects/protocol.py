"""What the service needs to know of an engine."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection
from sqlalchemy.types import TypeEngine

from placement.config import DatabaseSettings
from placement.db.dialects.errors import ErrorCodes

# Option of a connection: its transactions have one view of the database.
ONE_VIEW = "one_view"


class Role(Enum):
    """What the transactions of a connection are for."""

    READ = "read"  # read only
    WRITE = "write"  # sees what others have committed; takes locks


class Dialect(Protocol):
    """The ways of one engine.

    names: what SQLAlchemy calls it.
    drivers: the modules that the rest is made for; empty: any.
    extras: driver -> the extra of the distribution that brings it.
    is_file: whether there is no server, so that waiting for one is of no use.
    begin: statement that opens a transaction, where the driver would send none or a weaker one.
    isolation: SQLAlchemy's isolation level.
    tears_views: whether a view of the database may show a transaction without one that it has
        waited for, so that transactions that read have a view for each statement.
    one_view: statement that gives the next transaction that reads one view for all its statements,
        where it would have several, or "".
    errors: its error codes.
    unless_present: end of an INSERT that leaves out rows whose unique key is taken.
    in_written_order: word after SELECT that has tables joined in the order of FROM, or "".
    by_no_index: what before a column keeps an engine from beginning with it by an index, or "".
    bytes_of_text: SQL of a text's bytes, `{}` standing for the text, where equality of texts
        ignores differences; "" where it does not.
    locks_before_update: whether an UPDATE of several rows has to be told in which order to lock
        them.
    """

    names: Sequence[str]
    drivers: frozenset[str]
    extras: Mapping[str, str]
    is_file: bool
    begin: Mapping[Role, str]
    isolation: Mapping[Role, str]
    tears_views: bool
    one_view: str
    errors: ErrorCodes
    unless_present: str
    in_written_order: str
    by_no_index: str
    bytes_of_text: str
    locks_before_update: bool

    def connect_args(self, url: URL, settings: DatabaseSettings) -> dict[str, Any]:
        """Return arguments for the `connect` of the URL's driver.

        They go before those in the URL.  Raises ValueError for a URL that cannot be meant.
        """
        ...

    def before_connect(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Prepare for a new connection that the driver makes with these arguments."""
        ...

    def open_session(self, dbapi_connection: Any, role: Role, settings: DatabaseSettings) -> None:
        """Set up a new connection, which is the driver's.

        One that reads is to commit each statement outside of transactions.
        """
        ...

    def limit_statements(self, engine: sa.Engine, seconds: float) -> None:
        """Let no statement on new connections take longer, waiting for locks included."""
        ...

    def as_stored(self, number: float) -> float:
        """Return what a column of floats gives back of a number."""
        ...

    def json_row(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return SQL that makes columns (SQL, type) of one row a JSON list, as text."""
        ...

    def json_rows(self, columns: Sequence[tuple[str, TypeEngine[Any]]]) -> str:
        """Return SQL that aggregates columns (SQL, type) to a JSON list of lists, as text."""
        ...

    def migration_lock(self, conn: Connection) -> AbstractContextManager[None]:
        """Keep other processes from migrating meanwhile."""
        ...

    def wait_for_replication(self, conn: Connection) -> None:
        """Have the server apply what others have committed elsewhere before it answers."""
        ...

    def gather_statistics(self, conn: Connection, tables: Sequence[str]) -> None:
        """Have the planner know tables of which much has just changed, before it would itself."""
        ...


def run(dbapi_connection: Any, statements: Sequence[str]) -> None:
    """Execute statements on a driver's connection."""
    cursor = dbapi_connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()
