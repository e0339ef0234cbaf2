"""The structure of the tables with error codes.

The codes of different engines are distinct: SQLite uses names, MySQL integers, and PostgreSQL
strings of five characters. The tables do not contain errors of lost connections, because SQLAlchemy
detects them.
"""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

Codes = frozenset[object]


@dataclass(frozen=True, slots=True)
class Fault:
    """A permanent fault of a database, and how to correct it."""

    # Message for clients and operators.
    reason: str
    # Additional message for operators.
    remedy: str


RIGHT = Fault("a privilege is missing", "grant it to the user of [placement_database] connection")
LOGIN = Fault("the login is refused", "see user, password and database in [placement_database]")
TLS = Fault(
    "the TLS settings of the service and of the database do not match",
    "see the TLS parameters of [placement_database] connection",
)
SETTING = Fault(
    "a setting of the connection is refused",
    "see the parameters of connection, mysql_sql_mode and mysql_wsrep_sync_wait in "
    "[placement_database]",
)
SHAPE = Fault("a table or column is missing", "run placement-manage db sync")
COLLATIONS = Fault(
    "the character sets of columns cannot be combined",
    "convert the tables to one character set: ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4",
)
FILE = Fault("the file is not a database", "restore it, or name another in [placement_database]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodes:
    """The error codes of an engine, grouped by their consequence."""

    # Codes after which a retry of the same transaction may succeed.
    retriable: Codes
    # Codes after which the same transaction may succeed on another connection. The server accepts
    # no writes (after a failover, or without a quorum), is shutting down, or cannot be reached by
    # its proxy, or it cannot execute a statement that was prepared on this connection.
    reconnect: Codes = frozenset()
    # The codes among them of a server that accepts only reads. After a failover, its data may be
    # outdated.
    read_only: Codes = frozenset()
    # Codes of a COMMIT that did not take effect because its transaction lost to another transaction
    # or waited too long, or because the server accepts only reads. After any other error, except
    # for violated constraints, the outcome is unknown. If a code is missing here, verifying the
    # outcome takes two statements. If a code is wrong, a committed transaction is reported as
    # failed.
    not_committed: Codes
    # The retriable codes after which the database has preferred another transaction.
    deadlock: Codes = frozenset()
    # Codes of a text that the database cannot store.
    unstorable: Codes = frozenset()
    # Codes of a query with a text that a column cannot contain, so that it cannot be compared.
    incomparable: Codes = frozenset()
    # Codes of a value of a unique key that already exists.
    duplicate: Codes
    # Codes of a statement that was cancelled because it took too long.
    too_long: Codes
    # Code -> fault, for faults that a retry cannot resolve.
    permanent: Mapping[object, Fault]
    # Pattern of a message -> the fault, for errors without a code.
    permanent_patterns: Mapping[re.Pattern[str], Fault] = field(default_factory=dict)


def codes_of(origin: BaseException | None) -> set[object]:
    """Return the error codes in a driver's exception."""
    if isinstance(origin, sqlite3.Error):
        return {getattr(origin, "sqlite_errorname", None)}
    return {getattr(origin, "sqlstate", None), *(getattr(origin, "args", ()) or ())[:1]}
