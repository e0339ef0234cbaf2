"""Failures of a database that no retry mends, as errors that a client is told."""

import logging

from sqlalchemy import exc

from placement.db import codes
from placement.db.dialects import DIALECTS
from placement.db.dialects.errors import Fault, codes_of
from placement.db.messages import one_line
from placement.errors import DatabaseUnusable, StatementTooLong, Unstorable

LOG = logging.getLogger(__name__)


def refuse_hopeless(error: exc.DBAPIError) -> None:
    """Raise what a client is told of a failure that would come again, if it is one.

    Raises Unstorable for a text that the database cannot hold, StatementTooLong, and
    DatabaseUnusable for what an operator has to mend.
    """
    text = codes.unstorable_text(error)
    if text is not None:
        raise Unstorable(text) from error
    refusal = unusable(error)
    if refusal is not None:
        raise refusal from error
    if codes.is_too_long(error):
        LOG.warning("a statement took too long: %s", one_line(error))
        raise StatementTooLong from error


def unusable(error: exc.DBAPIError) -> DatabaseUnusable | None:
    """Return the error for what an operator has to mend, or None."""
    fault = lasting_fault(error)
    if fault is None:
        return None
    command = (error.statement or "CONNECT").split(maxsplit=1)[0]
    complaint = one_line(error).partition(" LINE 1: ")[0]
    return DatabaseUnusable(fault.reason, f"{command}: {complaint}; {fault.remedy}")


def lasting_fault(error: exc.DBAPIError) -> Fault | None:
    """Return what is wrong for good, or None: it may pass."""
    error_codes, message = codes_of(error.orig), str(error.orig)
    for dialect in DIALECTS:
        for code, fault in dialect.errors.lasting.items():
            if code in error_codes:
                return fault
        for pattern, fault in dialect.errors.lasting_texts.items():
            if pattern.search(message):
                return fault
    return None
