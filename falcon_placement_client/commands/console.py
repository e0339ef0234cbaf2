"""Messages of commands on standard error."""

import sys

USAGE = 2  # exit code for an invalid command line, as in argparse


def escaped(text: str) -> str:
    r"""Return the text with line breaks, control and format characters as `\n` or `\x1b`."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def fail(error: Exception) -> None:
    """Print an error to standard error. An invalid file has a line for each problem."""
    for line in f"placement: {error}".split("\n"):
        print(escaped(line), file=sys.stderr)
