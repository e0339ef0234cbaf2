"""Queries that a connection to MariaDB keeps prepared.

MariaDB takes longer to parse and resolve a long text than to find a few rows. So a query that comes
again on a connection is prepared there, and from then on executed with its values: ``PREPARE p3
FROM '…'`` once, ``EXECUTE p3 USING 'uuid', 7`` each time. Both are plain SQL, so rows and
errors come as those of the text, through either driver. The plan is made anew each time.
MySQL takes no values there but user variables, so nothing is prepared on it.

A server may have as many prepared statements as it is to have (``max_prepared_stmt_count``), and a
connection may lose them, behind a proxy that hands its transactions to others. The text is sent
then, and nothing else is prepared on that connection.
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

# Characters from which on a text is worth being prepared.
MIN_LENGTH = 300

# Texts that are prepared on a connection at a time.
MAX_PREPARED = 32

# Texts of which a connection remembers that they came once.
MAX_SEEN = 256

# Where a driver puts a value, and its way to write a percent sign.
MARKER = re.compile(r"%(?:\(\w+\))?s|%%")

# The server does not know a prepared statement.
UNKNOWN = 1243

OPTION = "prepared"  # of a connection: its `PreparedTexts`


class PreparedTexts:
    """The texts that are prepared on one connection."""

    def __init__(self) -> None:
        # Text -> the statement that executes it; the one used last is the last.
        self.calls: OrderedDict[str, str] = OrderedDict()
        # Texts that came once.
        self._seen: set[str] = set()
        self._given_up = False

    def execute(self, conn: Connection, sql: str, values: Any, **options: Any) -> CursorResult[Any]:
        """Execute a text with its values; options: those of SQLAlchemy."""
        call = self._call(conn, sql)
        if call is not None:
            try:
                return conn.exec_driver_sql(call, values, execution_options=options)
            except exc.DBAPIError as error:
                if UNKNOWN not in codes_of(error.orig):
                    raise
                self._give_up(error.orig)
        return conn.exec_driver_sql(sql, values, execution_options=options)

    def _call(self, conn: Connection, sql: str) -> str | None:
        """Return the statement that executes a text; None for one that is sent as it is."""
        call = self.calls.get(sql)
        if call is not None:
            self.calls.move_to_end(sql)
            return call
        if self._given_up:
            return None
        if sql in self._seen:
            # Once it is forgotten it has to come twice again, or many texts in turn would each be
            # prepared for a single use.
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
            name = call.split()[1]  # the server forgets what had this name
        markers = [marker for marker in MARKER.findall(sql) if marker != "%%"]
        text = MARKER.sub(lambda marker: "%" if marker[0] == "%%" else "?", sql)
        # Through the driver, because it is no statement of the request. An error is of no interest
        # either: what is wrong with the text or the connection, the text itself will meet.
        cursor = conn.connection.cursor()
        try:
            cursor.execute(f"PREPARE {name} FROM %s", (text,))
        except conn.dialect.loaded_dbapi.Error as error:
            self._give_up(error)
            return None
        finally:
            cursor.close()
        call = f"EXECUTE {name}"
        if markers:
            call += f" USING {', '.join(markers)}"
        self.calls[sql] = call
        return call

    def _give_up(self, error: BaseException | None) -> None:
        LOG.warning(
            "a connection keeps no statements prepared (%s): if that is so for all of them, set "
            "[placement_database] mariadb_prepared_statements to false",
            error,
        )
        self.calls.clear()
        self._given_up = True


def pays(dialect: Dialect, sql: sa.ClauseElement, text: str) -> bool:
    """Whether the text of a statement is to be prepared: a long query, for MariaDB."""
    is_query = isinstance(sql, sa.Select | sa.CompoundSelect)
    return is_query and len(text) >= MIN_LENGTH and getattr(dialect, "is_mariadb", False)


def execute(conn: Connection, sql: str, values: Any, **options: Any) -> CursorResult[Any]:
    """Execute a long text with its values, prepared if it came before on this connection."""
    prepared = conn.info.get(OPTION)
    if prepared is None:
        prepared = conn.info[OPTION] = PreparedTexts()
    return prepared.execute(conn, sql, values, **options)
