"""The output of a command on a stream that also receives the log of a server."""

import re

_PROGRAM = re.compile(r"^placement: ", re.MULTILINE)
_LOGGED = re.compile(r" (?:INFO|WARNING) placement\.")


def complaints(err: str) -> list[str]:
    """Return the lines of standard error that are not log lines.

    A server may log a request after its client has printed the result.
    """
    return [line for line in err.splitlines() if not _LOGGED.search(line)]


def without_program(err: str, *, failed: bool) -> str:
    """Return standard error without the name that precedes an error, if the command has failed."""
    rest, count = _PROGRAM.subn("", err)
    assert count == failed, err
    return rest
