"""The mapping of permanent database failures to errors for clients."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from sqlalchemy import exc

from placement.db import codes
from placement.db.dialects import DIALECTS
from placement.db.dialects.errors import Fault, codes_of
from placement.db.messages import one_line
from placement.errors import DatabaseUnavailable, DatabaseUnusable, StatementTooLong, Unstorable

LOG = logging.getLogger(__name__)


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Convert the database errors of a read to errors for clients."""
    try:
        yield
    except (exc.DBAPIError, exc.TimeoutError) as error:
        raise_final(error)


def raise_final(error: exc.DBAPIError | exc.TimeoutError) -> NoReturn:
    """Raise the error for clients, or the error itself if it is a mistake of this service."""
    if isinstance(error, exc.DBAPIError):
        raise_if_permanent(error)
        if not codes.is_retriable(error) and not isinstance(error, exc.OperationalError):
            raise error
    raise DatabaseUnavailable(one_line(error)) from error


def raise_if_permanent(error: exc.DBAPIError) -> None:
    """Raise the error for clients if the failure is permanent. Otherwise, return.

    Raises:
        Unstorable: the database cannot store a text of the request.
        DatabaseUnusable: an operator has to repair the database.
        StatementTooLong: the statement was cancelled.
    """
    text = codes.unstorable_text(error)
    if text is not None:
        raise Unstorable(text) from error
    refusal = unusable_error(error)
    if refusal is not None:
        raise refusal from error
    if codes.is_too_long(error):
        LOG.warning("a statement took too long: %s", one_line(error))
        raise StatementTooLong from error


def unusable_error(error: exc.DBAPIError) -> DatabaseUnusable | None:
    """Return the error for a failure that an operator must repair, or None."""
    fault = permanent_fault(error)
    if fault is None:
        return None
    command = (error.statement or "CONNECT").split(maxsplit=1)[0]
    complaint = one_line(error).partition(" LINE 1: ")[0]
    return DatabaseUnusable(fault.reason, f"{command}: {complaint}; {fault.remedy}")


def permanent_fault(error: exc.DBAPIError) -> Fault | None:
    """Return the permanent fault that caused an error, or None if the error may be temporary."""
    error_codes, message = codes_of(error.orig), str(error.orig)
    for dialect in DIALECTS:
        for code, fault in dialect.errors.permanent.items():
            if code in error_codes:
                return fault
        for pattern, fault in dialect.errors.permanent_patterns.items():
            if pattern.search(message):
                return fault
    return None
