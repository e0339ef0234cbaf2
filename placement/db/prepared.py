"""Prepared statements on connections to MariaDB.

MariaDB takes longer to parse and resolve a statement than to find a few rows. Therefore, if a
statement is executed repeatedly on a connection, it is prepared on this connection: ``PREPARE p07f…
FROM '…'`` once, then ``EXECUTE p07f… USING 'uuid', 7`` with the values of each call. Both are plain
SQL, so rows and errors are the same as without preparation, with either driver. MariaDB creates a
new plan for each execution. Preparing a statement takes one additional round trip, possibly while
the transaction holds locks, and another one if it replaces a statement. On MySQL, statements are
not prepared, because its EXECUTE accepts only user variables as values.

The name of a statement is a hash of its text and of the database in which the server looks tables
up. Therefore, a name means the same statement on each connection of each server, whatever the
service assumes about the connection. The service may be wrong: a proxy may lend the server's
connection to other clients between two transactions, and a command may fail after the server has
executed it. The worst result is that a statement is unknown to the server, or that the server keeps
an additional one.

A server limits the number of prepared statements (``max_prepared_stmt_count``). If a server refuses
to prepare a statement, or does not know a prepared one, the statement is sent as text, and the
connection prepares no further statements.
"""

import hashlib
import logging
import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import exc
from sqlalchemy.engine import Connection, Dialect

from placement.compat.sqlalchemy import execute_command
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

# Length of a name without its first letter, in hexadecimal digits.
NAME_LENGTH = 24

# MariaDB's error for an unknown prepared statement.
UNKNOWN = 1243

# MariaDB's errors for commands after which a connection prepares no further statements: there are
# too many, their kind is not supported, or the statement to replace is unknown.
REFUSED = frozenset({1461, 1295, UNKNOWN})

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
        """Let `send` execute the text with its values, or the EXECUTE of the prepared statement."""
        call = self.call(conn, sql)
        if call is not None:
            try:
                return send(conn, call, values)
            except exc.DBAPIError as error:
                self.disable_if_unknown(error)
        return send(conn, sql, values)

    def disable_if_unknown(self, error: exc.DBAPIError) -> None:
        """Return if the server did not know a prepared statement. Otherwise, raise the error."""
        if UNKNOWN not in codes_of(error.orig):
            raise error
        self._disable(error.orig)

    def call(self, conn: Connection, sql: str) -> str | None:
        """Return the EXECUTE for a statement, or None if the statement is not prepared.

        A statement is prepared at its second call.
        """
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
        """Prepare a statement and return its EXECUTE, or None if the server refuses.

        The calls change only after the server has confirmed the change. After any other error than
        a refusal, the transaction may have been rolled back, so the error is raised.
        """
        markers = [marker for marker in MARKER.findall(sql) if marker != "%%"]
        text = MARKER.sub(lambda marker: "%" if marker[0] == "%%" else "?", sql)
        name = _name(conn, text)
        try:
            if len(self.calls) == MAX_PREPARED:
                oldest, oldest_call = next(iter(self.calls.items()))
                execute_command(conn, f"DEALLOCATE PREPARE {oldest_call.split()[1]}", None, sql)
                del self.calls[oldest]
            execute_command(conn, f"PREPARE {name} FROM %s", (text,), sql)
        except exc.DBAPIError as error:
            if REFUSED.isdisjoint(codes_of(error.orig)):
                raise
            self._disable(error.orig)
            return None
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


def _name(conn: Connection, text: str) -> str:
    """Return the name of a statement, which is the same on all connections."""
    content = f"{conn.engine.url.database} {text}"
    return "p" + hashlib.sha256(content.encode()).hexdigest()[:NAME_LENGTH]


def should_prepare(dialect: Dialect, text: str) -> bool:
    """Return whether to prepare a statement. Only long statements on MariaDB are prepared."""
    return len(text) >= MIN_LENGTH and getattr(dialect, "is_mariadb", False)


def prepared_of(conn: Connection) -> PreparedTexts:
    """Return the statements that are prepared on a connection."""
    prepared: PreparedTexts | None = conn.info.get(OPTION)
    if prepared is None:
        prepared = conn.info[OPTION] = PreparedTexts()
    return prepared


def execute(conn: Connection, sql: str, values: Any, send: Send[Result]) -> Result:
    """Execute a statement with its values. Prepare the statement if it was executed before."""
    return prepared_of(conn).execute(conn, sql, values, send)
