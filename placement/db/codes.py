"""Error codes of drivers, in families that say what to do.

They cannot be confused: SQLite has names, MySQL integers, PostgreSQL five characters. What a
connection says when it is lost, SQLAlchemy knows. `tests/db/test_codes.py` has each code happen.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from sqlalchemy import exc

# After these the same transaction may succeed when it is run again from its start: locks,
# conflicts (1020: of snapshots), tables that have changed (1412), statements that were
# interrupted (1317), and what a COMMIT whose outcome is unknown fails with.
RETRIABLE: frozenset[object] = frozenset(
    {"SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_BUSY_SNAPSHOT"}
    | {"SQLITE_LOCKED", "SQLITE_PROTOCOL"}
    | {1020, 1180, 1205, 1213, 1317, 1412}
    | {"08007", "40001", "40003", "40P01", "55P03"}
)

# The same, but on another connection: of a server that lives and takes no writes (after a
# failover, or outside of its quorum), that goes down, or that is not reached from its proxy. The
# next connection may lead to another one.
ELSEWHERE: frozenset[object] = frozenset(
    {1047, 1053, 1290, 1792, 1836, 3101}
    | {"08000", "08001", "08003", "08004", "08006", "25006", "57P01", "57P02", "57P03"}
)

# After these a COMMIT has not happened: its transaction lost to another one, or waited too long.
# After all others (besides those of broken constraints) nobody knows. On Galera, 1180 is the
# answer to a COMMIT that meets the loss of the majority, and its changes may be applied when the
# nodes meet again; 1317 and 1969 may come while it waits for them; PostgreSQL has 08007 and 40003
# for the purpose; a server on its way down (1053, 57P01) no longer knows. To settle one that has
# not happened costs two statements, to take one that has for the other costs the truth.
NOT_COMMITTED: frozenset[object] = frozenset({"SQLITE_BUSY", 1205, 1213, "40001", "40P01"})

# Codes for a text that the database cannot hold or compare: one of utf8mb3 ends at U+FFFF.
UNSTORABLE: frozenset[object] = frozenset({1267, 1270, 1271, 1300, 1366, 3988, "22021", "22P05"})

# Codes of a unique key that is taken.
DUPLICATE: frozenset[object] = frozenset(
    {1062, "23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
)


def of(origin: BaseException | None) -> set[object]:
    """The codes in a driver's exception."""
    if isinstance(origin, sqlite3.Error):
        return {getattr(origin, "sqlite_errorname", None)}
    return {getattr(origin, "sqlstate", None), *(getattr(origin, "args", ()) or ())[:1]}


def is_retriable(error: exc.DBAPIError) -> bool:
    """Whether running the whole transaction again may succeed."""
    return error.connection_invalidated or not RETRIABLE.isdisjoint(of(error.orig))


def is_outcome_unknown(error: exc.DBAPIError) -> bool:
    """Whether a COMMIT that failed so may have happened all the same."""
    constraint = isinstance(error, exc.IntegrityError)
    return not constraint and NOT_COMMITTED.isdisjoint(of(error.orig))


def is_duplicate(error: exc.DBAPIError) -> bool:
    """Whether somebody else has taken a unique key."""
    return not DUPLICATE.isdisjoint(of(error.orig))


def unstorable_text(error: exc.DBAPIError) -> str | None:
    """The text in the statement that the database cannot hold, if that is what is wrong.

    It is the one with the character farthest from those that every database has.
    """
    if UNSTORABLE.isdisjoint(of(error.orig)):
        return None
    return max(_texts(error.params), key=lambda text: max(text, default=""), default=None)


def _texts(parameters: Any) -> Iterator[str]:
    if isinstance(parameters, str):
        yield parameters
    elif isinstance(parameters, (list, tuple)):
        for each in parameters:
            yield from _texts(each)
    elif isinstance(parameters, dict):
        yield from _texts(list(parameters.values()))
