"""Lines of commands on a terminal."""

import sys
from typing import TextIO


def escaped(text: str) -> str:
    r"""Return the text with line breaks, control and format characters as `\n` or `\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def fail(error: object, out: TextIO | None = None) -> None:
    """Print an error. An invalid file has a line for each problem.

    out: by default standard error.
    """
    for line in f"placement: {error}".split("\n"):
        print(escaped(line), file=sys.stderr if out is None else out)
