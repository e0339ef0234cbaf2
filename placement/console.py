"""What entry points print for the operator when something cannot be done."""

import sys

from sqlalchemy.exc import SQLAlchemyError

from placement.db.messages import one_line
from placement.errors import DatabaseUnusable
from placement.logs import escaped


def describe(error: Exception) -> str:
    """Return one line about an error, for operators: it may say more than the client's text."""
    if isinstance(error, DatabaseUnusable):
        return error.complaint
    return one_line(error) if isinstance(error, SQLAlchemyError) else str(error)


def fail(error: Exception) -> None:
    """Print a line about an error on standard error; a file has several, of one error each."""
    for line in f"placement: {describe(error)}".split("\n"):
        print(escaped(line), file=sys.stderr)
