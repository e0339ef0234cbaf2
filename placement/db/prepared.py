"""Prepared queries on connections to MariaDB.

MariaDB takes longer to parse and resolve a long query than to find a few rows. A query that is
executed repeatedly on a connection is therefore prepared there: ``PREPARE p3 FROM '…'`` once, then
``EXECUTE p3 USING 'uuid', 7`` with the values of each call. Both are plain SQL, so rows and errors
are the same as without preparation, with either driver. MariaDB makes a new plan for each
execution. MySQL accepts only user variables as values of EXECUTE, so nothing is prepared on it.

A server limits the number of prepared statements (``max_prepared_stmt_count``), and a connection
may lose them if a proxy moves its transactions between servers. In both cases the query is sent as
text, and no further query is prepared on that connection.
"""

import logging
import re
from collections import OrderedDict
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection, CursorResult, Dialect

from placement.db.dialects.errors import codes_of

LOG = logging.getLogger(__name__)

# Minimum length, in characters, of a query to prepare.
MIN_LENGTH = 300

# Maximum number of prepared queries on a connection.
MAX_PREPARED = 32

# Maximum number of queries that a connection has executed once and remembers.
MAX_SEEN = 256

# A placeholder for a value, or an escaped percent sign.
MARKER = re.compile(r"%(?:\(\w+\))?s|%%")

# MariaDB's error for an unknown prepared statement.
UNKNOWN = 1243

OPTION = "prepared"  # key of the `PreparedTexts` of a connection


class PreparedTexts:
    """The queries that are prepared on one connection."""

    def __init__(self) -> None:
        # Query -> the EXECUTE statement for it; the least recently used one is the first.
        self.calls: OrderedDict[str, str] = OrderedDict()
        # Queries that were executed once.
        self._seen: set[str] = set()
        self._disabled = False

    def execute(self, conn: Connection, sql: str, values: Any, **options: Any) -> CursorResult[Any]:
        """Execute a query with its values.

        Args:
            conn: the connection.
            sql: the text of the query.
            values: the values for its placeholders.
            options: execution options of SQLAlchemy.
        """
        call = self._call(conn, sql)
        if call is not None:
            try:
                return conn.exec_driver_sql(call, values, execution_options=options)
            except exc.DBAPIError as error:
                if UNKNOWN not in codes_of(error.orig):
                    raise
                self._disable(error.orig)
        return conn.exec_driver_sql(sql, values, execution_options=options)

    def _call(self, conn: Connection, sql: str) -> str | None:
        """Return the EXECUTE statement for a query; None to send the query itself."""
        call = self.calls.get(sql)
        if call is not None:
            self.calls.move_to_end(sql)
            return call
        if self._disabled:
            return None
        if sql in self._seen:
            # Forget it, so that an evicted query must be executed twice again before it is
            # prepared. Otherwise many queries in turn would each be prepared for a single use.
            self._seen.remove(sql)
            return self._prepare(conn, sql)
        if len(self._seen) == MAX_SEEN:
            self._seen.clear()
        self._seen.add(sql)
        return None

    def _prepare(self, conn: Connection, sql: str) -> str | None:
        name = f"p{len(self.calls)}"
        if len(self.calls) == MAX_PREPARED:
            _oldest, call = self.calls.popitem(last=False)
            name = call.split()[1]  # PREPARE replaces the statement of this name
        markers = [marker for marker in MARKER.findall(sql) if marker != "%%"]
        text = MARKER.sub(lambda marker: "%" if marker[0] == "%%" else "?", sql)
        # On the driver's cursor, because it is not a statement of the request. Errors are ignored:
        # if the query or the connection is at fault, sending the query fails in the same way.
        cursor = conn.connection.cursor()
        try:
            cursor.execute(f"PREPARE {name} FROM %s", (text,))
        except conn.dialect.loaded_dbapi.Error as error:
            self._disable(error)
            return None
        finally:
            cursor.close()
        call = f"EXECUTE {name}"
        if markers:
            call += f" USING {', '.join(markers)}"
        self.calls[sql] = call
        return call

    def _disable(self, error: BaseException | None) -> None:
        LOG.warning(
            "prepared statements are disabled on a connection (%s): if this affects all of them, "
            "set [placement_database] mariadb_prepared_statements to false",
            error,
        )
        self.calls.clear()
        self._disabled = True


def should_prepare(dialect: Dialect, sql: sa.ClauseElement, text: str) -> bool:
    """Whether to prepare a statement: it is a long query on MariaDB."""
    is_query = isinstance(sql, sa.Select | sa.CompoundSelect)
    return is_query and len(text) >= MIN_LENGTH and getattr(dialect, "is_mariadb", False)


def execute(conn: Connection, sql: str, values: Any, **options: Any) -> CursorResult[Any]:
    """Execute a long query with its values; prepare it if it was executed before."""
    prepared = conn.info.get(OPTION)
    if prepared is None:
        prepared = conn.info[OPTION] = PreparedTexts()
    return prepared.execute(conn, sql, values, **options)
