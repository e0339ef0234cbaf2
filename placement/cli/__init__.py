"""The commands of `placement-manage` for operators."""

import os
import sys
from collections.abc import Sequence
from itertools import takewhile

from placement import __version__
from placement.cli.commands import COMMANDS, describe, names, setup_of
from placement.entry import console
from placement.errors import ConfigurationError

INTERRUPTED = 130  # exit code of a process that is ended by a signal: SIGINT
OUTPUT_CLOSED = 141  # SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        # Inside of the try block, because the reader of the output may have exited.
        sys.stdout.flush()
    except KeyboardInterrupt:
        console.fail(Exception("interrupted"))
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the output. Discard the remaining
        # output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    except Exception as error:
        if not console.is_expected(error):
            raise
        console.fail(error)
        return 1
    return code


def _run(arguments: list[str]) -> int:
    """Run the command in the arguments, or print the help. Return the exit code."""
    arguments = console.configuration_first(arguments)
    unknown = console.unknown_command(arguments, names())
    if unknown is not None:
        console.fail(Exception(unknown))
        return console.USAGE
    leading = set(takewhile(lambda argument: argument not in COMMANDS, arguments))
    if not arguments or leading & console.HELP:
        print(describe())
        return 0 if arguments else console.USAGE
    if "--version" in leading:
        print(__version__)
        return 0
    path = console.command_path(arguments, names())
    try:
        set_up = setup_of(path)
    except ConfigurationError as error:
        console.fail(error)
        return console.USAGE
    # PERF: the version and the help do not need the oslo libraries.
    from placement.cli.run import run  # noqa: PLC0415

    return run(arguments, path, set_up)
