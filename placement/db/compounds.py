"""Several writes of a transaction as one statement, on MariaDB.

A write of allocations consists of a read, four or five writes and a COMMIT. Each of them is a round
trip, and the trips take longer than the work of the database. MariaDB executes all writes as one
compound statement, which may contain the COMMIT (`db/engine.py`)::

    BEGIN NOT ATOMIC
    INSERT …; IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '…'; END IF;
    UPDATE …; IF ROW_COUNT() <> 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '…'; END IF;
    COMMIT;
    END

The first statement that fails, that is interrupted or that matches another number of rows ends the
compound, and the transaction remains open, as after a single statement. Compounds are sent only as
prepared statements (`db/prepared.py`), because parsing them takes longer than the trips. Therefore,
their number on a connection is limited, and a server or a proxy that knows no prepared statements
gets no compound either.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import exc
from sqlalchemy.engine import Connection

from placement.compat.sqlalchemy import execute_text, note_commit
from placement.db import prepared, texts
from placement.db.dialects.errors import codes_of
from placement.db.texts import Params, StatementText

# First release that prepares compound statements.
MIN_VERSION = (10, 6, 2)

# Maximum number of values in a compound. Larger ones are rare and differ from each other.
MAX_VALUES = 256

SIGNAL = 1644  # MariaDB's error for a SIGNAL
UNMATCHED = "placement: rows of write"  # its message, before the index of the write


class CompoundPart(NamedTuple):
    """A statement of a compound."""

    text: StatementText
    params: Params
    # Number of rows that it must match.
    matches: int
    # Whether it may also match fewer rows.
    allow_fewer: bool


class PartUnmatched(Exception):
    """A statement of a compound matched another number of rows. Nothing was committed."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


def are_supported(conn: Connection) -> bool:
    """Return whether compounds can be prepared on a connection."""
    dialect = conn.dialect
    return (
        getattr(dialect, "is_mariadb", False)
        and (dialect.server_version_info or ()) >= MIN_VERSION
        and texts.are_prepared(conn)
    )


def prepare(conn: Connection, parts: Sequence[CompoundPart], *, commits: bool) -> str | None:
    """Return the EXECUTE of a compound, or None if its statements must be executed one by one."""
    if sum(len(_positional(part.text.sql)[1]) for part in parts) > MAX_VALUES:
        return None
    sql = "BEGIN NOT ATOMIC "
    for index, part in enumerate(parts):
        wrong = f"NOT BETWEEN 0 AND {part.matches}" if part.allow_fewer else f"<> {part.matches}"
        sql += (
            f"{_positional(part.text.sql)[0]}; IF ROW_COUNT() {wrong} THEN"
            f" SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{UNMATCHED} {index}'; END IF; "
        )
    return prepared.prepared_of(conn).call(conn, f"{sql}{'COMMIT; ' if commits else ''}END")


def execute(conn: Connection, call: str, parts: Sequence[CompoundPart], *, commits: bool) -> bool:
    """Execute a prepared compound. Return False if the server does not know it.

    Raises:
        PartUnmatched: a statement matched another number of rows.
        DBAPIError: a statement failed. If the compound commits, the outcome may be unknown.
    """
    values: list[Any] = []
    for text, params, *_ in parts:
        of_part = text.values(params)
        if isinstance(of_part, dict):
            of_part = tuple([of_part[name] for name in _positional(text.sql)[1]])
        values += of_part
    statements = prepared.prepared_of(conn)
    try:
        execute_text(conn, call, tuple(values))
    except exc.DBAPIError as error:
        if SIGNAL in codes_of(error.orig):
            message, _, index = str(error.orig.args[1]).rpartition(" ")  # type: ignore[union-attr]
            if message == UNMATCHED:
                raise PartUnmatched(int(index)) from None
        statements.disable_if_unknown(error)
        return False
    if commits:
        note_commit(conn)
    return True


def is_open(conn: Connection) -> bool:
    """Return whether the transaction is still open after an error of a compound.

    If it is open, the compound failed before its COMMIT.
    """
    try:
        row = conn.exec_driver_sql("SHOW SESSION VARIABLES LIKE 'in_transaction'").first()
    except exc.SQLAlchemyError:
        return False  # the connection is lost
    return row is not None and row[1] in {"1", "ON"}


@lru_cache(maxsize=1024)
def _positional(sql: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with placeholders without names, and the names of their values."""
    names = [marker for marker in prepared.MARKER.findall(sql) if marker != "%%"]
    text = prepared.MARKER.sub(lambda marker: "%%" if marker[0] == "%%" else "%s", sql)
    return text, tuple([marker[2:-2] for marker in names])
