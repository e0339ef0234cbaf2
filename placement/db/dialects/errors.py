"""The structure of the tables of error codes.

The codes of different engines are distinct: SQLite has names, MySQL integers, PostgreSQL strings of
five characters. The tables omit the errors of lost connections, which SQLAlchemy detects.
"""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

Codes = frozenset[object]


@dataclass(frozen=True, slots=True)
class Fault:
    """A permanent fault of a database and its remedy."""

    # Shown to clients as well.
    reason: str
    # Shown to operators.
    remedy: str


RIGHT = Fault("a privilege is missing", "grant it to the user of [placement_database] connection")
LOGIN = Fault("the login is refused", "see user, password and database in [placement_database]")
SHAPE = Fault("a table or column is missing", "run placement-manage db sync")
FILE = Fault("the file is not a database", "restore it, or name another in [placement_database]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodes:
    """The error codes of an engine, by their consequence."""

    # Codes after which the same transaction may succeed if it is run again.
    retriable: Codes
    # Codes after which the same transaction may succeed on another connection: the server accepts
    # no writes (after a failover, or without a quorum), is shutting down, cannot be reached by its
    # proxy, or cannot execute a statement that was prepared on this connection.
    reconnect: Codes = frozenset()
    # Codes of a COMMIT that did not take effect, because its transaction lost to another one or
    # waited too long. After any other error, except violated constraints, the outcome is unknown. A
    # missing code costs two statements to verify the outcome. A wrong code would report a committed
    # transaction as failed.
    not_committed: Codes
    # The retriable codes after which the database preferred another transaction.
    deadlock: Codes = frozenset()
    # The database cannot store or compare a text.
    unstorable: Codes = frozenset()
    # The value of a unique key exists.
    duplicate: Codes
    # A statement was cancelled because it took too long.
    too_long: Codes
    # Faults that no retry can resolve.
    permanent: Mapping[object, Fault]
    # Pattern of a message -> the fault, for errors without a code.
    permanent_patterns: Mapping[re.Pattern[str], Fault] = field(default_factory=dict)


def codes_of(origin: BaseException | None) -> set[object]:
    """Return the codes in a driver's exception."""
    if isinstance(origin, sqlite3.Error):
        return {getattr(origin, "sqlite_errorname", None)}
    return {getattr(origin, "sqlstate", None), *(getattr(origin, "args", ()) or ())[:1]}
