"""The commands of `placement-manage` for operators."""

import sys
from collections.abc import Sequence
from itertools import takewhile

from placement import __version__
from placement.cli.commands import COMMANDS, describe, names, setup_of
from placement.entry import console
from placement.errors import ConfigurationError, UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    return console.run(lambda: _run(arguments))


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
    if not path:
        raise UsageError("there is no command in the arguments; --help lists them")
    try:
        set_up = setup_of(path)
    except ConfigurationError as error:
        console.fail(error)
        return console.USAGE
    # PERF: the version and the help do not need the oslo libraries.
    from placement.cli.run import run  # noqa: PLC0415

    return run(arguments, path, set_up)
