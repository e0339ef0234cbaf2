"""The classification of driver errors, for all engines.

The tables of error codes are in the modules of `dialects`. `tests/db/test_codes.py` provokes each
code.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import exc

from placement.db.dialects import DIALECTS
from placement.db.dialects.errors import Codes, codes_of

_NONE: Codes = frozenset()
_TABLES = [dialect.errors for dialect in DIALECTS]

RETRIABLE = _NONE.union(*(table.retriable for table in _TABLES))
RECONNECT = _NONE.union(*(table.reconnect for table in _TABLES))
READ_ONLY = _NONE.union(*(table.read_only for table in _TABLES))
NOT_COMMITTED = _NONE.union(*(table.not_committed for table in _TABLES))
UNSTORABLE = _NONE.union(*(table.unstorable for table in _TABLES))
DEADLOCK = _NONE.union(*(table.deadlock for table in _TABLES))
DUPLICATE = _NONE.union(*(table.duplicate for table in _TABLES))
TOO_LONG = _NONE.union(*(table.too_long for table in _TABLES))


def is_retriable(error: exc.DBAPIError) -> bool:
    """Return whether a retry of the whole transaction may succeed."""
    return error.connection_invalidated or _is_one_of(RETRIABLE, error)


def is_outcome_unknown(error: exc.DBAPIError) -> bool:
    """Return whether a COMMIT that failed with this error may have taken effect."""
    constraint = isinstance(error, exc.IntegrityError)
    return not constraint and not _is_one_of(NOT_COMMITTED, error)


def is_connection_lost(error: exc.DBAPIError) -> bool:
    """Return whether the operation can succeed only on another connection."""
    return error.connection_invalidated or _is_one_of(RECONNECT, error)


def is_read_only(error: exc.DBAPIError) -> bool:
    """Return whether the server accepts only reads, for example after a failover."""
    return _is_one_of(READ_ONLY, error)


def is_deadlock(error: exc.DBAPIError) -> bool:
    """Return whether the database has rolled the transaction back to resolve a deadlock."""
    return _is_one_of(DEADLOCK, error)


def is_duplicate(error: exc.DBAPIError) -> bool:
    """Return whether another transaction already uses the value of a unique key."""
    return _is_one_of(DUPLICATE, error)


def is_too_long(error: exc.DBAPIError) -> bool:
    """Return whether the database has cancelled the statement because it took too long."""
    return _is_one_of(TOO_LONG, error)


def unstorable_text(error: exc.DBAPIError) -> str | None:
    """Return the parameter that the database cannot store, if this has caused the error.

    If there are several texts, return the text with the highest code point.
    """
    if not _is_one_of(UNSTORABLE, error):
        return None
    return max(_texts(error.params), key=lambda text: max(text, default=""), default=None)


def _is_one_of(family: Codes, error: exc.DBAPIError) -> bool:
    return not family.isdisjoint(codes_of(error.orig))


def _texts(parameters: Any) -> Iterator[str]:
    if isinstance(parameters, str):
        yield parameters
    elif isinstance(parameters, (list, tuple)):
        for item in parameters:
            yield from _texts(item)
    elif isinstance(parameters, dict):
        yield from _texts(list(parameters.values()))
