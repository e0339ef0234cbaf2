"""The form of the tables of error codes, one for each engine.

The codes of different engines cannot be confused: SQLite has names, MySQL integers, PostgreSQL
five characters. What a connection says when it is lost, SQLAlchemy knows.
"""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

Codes = frozenset[object]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a database, in words that a client may read too, and what mends it."""

    reason: str
    remedy: str


RIGHT = Fault("a right is missing", "grant it to the user of [placement_database] connection")
LOGIN = Fault(
    "the service is not let in", "see user, password and database in [placement_database]"
)
SHAPE = Fault("a table or column is missing", "run placement-manage db sync")
FILE = Fault("the file is no database", "restore it, or name another in [placement_database]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCodes:
    """An engine's error codes, by what is to be done about them.

    retriable: the same transaction may succeed when it is run again from its start.
    reconnect: the same, but on another connection: the server lives and takes no writes (after a
    failover, or outside of its quorum), goes down, is not reached from its proxy, or has nothing of
    use for what is prepared on this one.
    not_committed: a COMMIT that fails so has not happened: its transaction lost to another one, or
    waited too long. After all others (but those of broken constraints) nobody knows. To find out
    about one that has not happened costs two statements, to take one that has for the other costs
    the truth.
    deadlock: those of `retriable` that say that another transaction was preferred.
    unstorable: the database cannot hold or compare a text.
    duplicate: a unique key is taken.
    too_long: a statement has been ended because it took too long.
    lasting: what no retry mends, and lasting_texts, by what a message says, where it has no code.
    """

    retriable: Codes
    reconnect: Codes = frozenset()
    not_committed: Codes
    deadlock: Codes = frozenset()
    unstorable: Codes = frozenset()
    duplicate: Codes
    too_long: Codes
    lasting: Mapping[object, Fault]
    lasting_texts: Mapping[re.Pattern[str], Fault] = field(default_factory=dict)


def codes_of(origin: BaseException | None) -> set[object]:
    """Return the codes in a driver's exception."""
    if isinstance(origin, sqlite3.Error):
        return {getattr(origin, "sqlite_errorname", None)}
    return {getattr(origin, "sqlstate", None), *(getattr(origin, "args", ()) or ())[:1]}
