"""What a command has printed, where a server of the same process logs to the same stream."""

import re

_LOGGED = re.compile(r" (?:INFO|WARNING) placement\.")


def complaints(err: str) -> list[str]:
    """Return the lines of standard error that are no lines of a log.

    A server may write the line of a request after its client has printed what came of it.
    """
    return [line for line in err.splitlines() if not _LOGGED.search(line)]
