"""What entry points print for the operator when something cannot be done."""

import sys

from placement.errors import ConfigurationError, DatabaseUnusable, PlacementError
from placement.logs import escaped


def is_expected(error: Exception) -> bool:
    """Whether a line can say what is wrong; other errors are bugs."""
    return isinstance(error, (ConfigurationError, PlacementError)) or _is_of_database(error)


def describe(error: Exception) -> str:
    """Return one line about an error, for operators: it may say more than the client's text."""
    if isinstance(error, DatabaseUnusable):
        return error.complaint
    if not _is_of_database(error):
        return str(error)
    from placement.db.messages import one_line  # noqa: PLC0415

    return one_line(error)


def fail(error: Exception) -> None:
    """Print a line about an error on standard error; a file has several, of one error each."""
    for line in f"placement: {describe(error)}".split("\n"):
        print(escaped(line), file=sys.stderr)


def _is_of_database(error: Exception) -> bool:
    # PERF: commands over REST start without SQLAlchemy, and where it is not imported it raises
    # nothing.
    sqlalchemy = sys.modules.get("sqlalchemy.exc")
    return sqlalchemy is not None and isinstance(error, sqlalchemy.SQLAlchemyError)
