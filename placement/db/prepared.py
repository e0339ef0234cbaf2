"""Prepared statements on connections to MariaDB.

MariaDB takes longer to parse and resolve a statement than to find a few rows. Therefore, if a
statement is executed repeatedly on a connection, it is prepared on this connection: ``PREPARE p3
FROM '…'`` once, then ``EXECUTE p3 USING 'uuid', 7`` with the values of each call. Both are plain
SQL, so rows and errors are the same as without preparation, with either driver. MariaDB creates a
new plan for each execution. Preparing a statement takes one additional round trip, possibly while
the transaction holds locks. On MySQL, statements are not prepared, because its EXECUTE accepts only
user variables as values.

A server limits the number of prepared statements (``max_prepared_stmt_count``), and a connection
may lose them if a proxy moves its transactions between servers. In both cases the statement is sent
as text, and the connection prepares no further statements.
"""

import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect

from placement.db.dialects.errors import codes_of

LOG = logging.getLogger(__name__)

Result = TypeVar("Result")

# Function that executes a text with its values.
Send = Callable[[Connection, str, Any], Result]

# Minimum length of a statement to prepare, in characters.
MIN_LENGTH = 60

# Maximum number of prepared statements on a connection.
MAX_PREPARED = 32

# Maximum number of statements per connection that are recorded as executed once.
MAX_SEEN = 256

# A placeholder for a value, or an escaped percent sign.
MARKER = re.compile(r"%(?:\(\w+\))?s|%%")

# MariaDB's error for an unknown prepared statement.
UNKNOWN = 1243

# MariaDB's errors for a statement that it cannot prepare: there are too many, or the kind is not
# supported.
REFUSED = frozenset({1461, 1295})

OPTION = "prepared"  # key of the `PreparedTexts` of a connection


class PreparedTexts:
    """The statements that are prepared on one connection."""

    def __init__(self) -> None:
        # Statement -> the EXECUTE that runs it. The least recently used statement comes first.
        self.calls: OrderedDict[str, str] = OrderedDict()
        # Statements that have been executed once.
        self._seen: set[str] = set()
        # Whether the database has refused to prepare a statement. If so, no further statements are
        # prepared.
        self._disabled = False

    def execute(self, conn: Connection, sql: str, values: Any, send: Send[Result]) -> Result:
        """Execute a statement with its values.

        Args:
            conn: the connection.
            sql: its text.
            values: the values for its placeholders.
            send: executes the text, or an EXECUTE of the prepared statement.
        """
        call = self._call(conn, sql)
        if call is not None:
            try:
                return send(conn, call, values)
            except exc.DBAPIError as error:
                if UNKNOWN not in codes_of(error.orig):
                    raise
                self._disable(error.orig)
        return send(conn, sql, values)

    def _call(self, conn: Connection, sql: str) -> str | None:
        """Return the EXECUTE for a statement, or None to send the statement itself."""
        call = self.calls.get(sql)
        if call is not None:
            self.calls.move_to_end(sql)
            return call
        if self._disabled:
            return None
        if sql in self._seen:
            # If the statement is evicted later, it must be executed twice before it is prepared
            # again. Otherwise, many alternating statements would each be prepared for a single use.
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
            name = call.split()[1]  # PREPARE replaces the statement with this name
        markers = [marker for marker in MARKER.findall(sql) if marker != "%%"]
        text = MARKER.sub(lambda marker: "%" if marker[0] == "%%" else "?", sql)
        # PREPARE uses the driver's cursor, because it is not a statement of the request. If the
        # connection is lost, the statement itself will fail in the same way. Other errors may have
        # rolled the transaction back, so the statement must not be sent.
        connection = conn.connection
        cursor = connection.cursor()
        try:
            cursor.execute(f"PREPARE {name} FROM %s", (text,))
        except conn.dialect.loaded_dbapi.Error as error:
            is_lost = conn.dialect.is_disconnect(error, connection, None)
            if not is_lost and REFUSED.isdisjoint(codes_of(error)):
                raise exc.OperationalError(sql, None, error) from error
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


def should_prepare(dialect: Dialect, text: str) -> bool:
    """Return whether to prepare a statement. Only long statements on MariaDB are prepared."""
    return len(text) >= MIN_LENGTH and getattr(dialect, "is_mariadb", False)


def execute(conn: Connection, sql: str, values: Any, send: Send[Result]) -> Result:
    """Execute a statement with its values. Prepare the statement if it was executed before."""
    prepared = conn.info.get(OPTION)
    if prepared is None:
        prepared = conn.info[OPTION] = PreparedTexts()
    return prepared.execute(conn, sql, values, send)
