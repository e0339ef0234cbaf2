"""Error messages that entry points print for the operator."""

import sys

from placement.errors import ConfigurationError, DatabaseUnusable, PlacementError
from placement.logs import escaped


def is_expected(error: Exception) -> bool:
    """Return whether one line describes the error completely; other errors are bugs."""
    return isinstance(error, (ConfigurationError, PlacementError)) or _is_of_database(error)


def describe(error: Exception) -> str:
    """Return one line about an error for operators, which may say more than the client's text."""
    if isinstance(error, DatabaseUnusable):
        return error.complaint
    if not _is_of_database(error):
        return str(error)
    from placement.db.messages import one_line  # noqa: PLC0415

    return one_line(error)


def fail(error: Exception) -> None:
    """Print an error to standard error; an invalid file has a line for each of its problems."""
    for line in f"placement: {describe(error)}".split("\n"):
        print(escaped(line), file=sys.stderr)


def _is_of_database(error: Exception) -> bool:
    # PERF: commands over REST start without SQLAlchemy. If it is not imported, it cannot have
    # raised the error.
    sqlalchemy = sys.modules.get("sqlalchemy.exc")
    return sqlalchemy is not None and isinstance(error, sqlalchemy.SQLAlchemyError)
