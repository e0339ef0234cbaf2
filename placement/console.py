"""What entry points print for the operator when something cannot be done."""

import sys

from placement.errors import DatabaseUnusable


def describe(error: Exception) -> str:
    """Return the operator's text of an error, which may say more than the client's."""
    return error.complaint if isinstance(error, DatabaseUnusable) else str(error)


def fail(error: Exception) -> None:
    """Print an operator's error as one line on standard error."""
    print(f"placement: {describe(error)}", file=sys.stderr)
