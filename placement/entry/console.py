"""The common parts of entry points: options, commands and error messages."""

import io
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from placement.errors import ConfigurationError, PlacementError, UsageError
from placement.runtime import messages
from placement.runtime.suggestions import did_you_mean, nearest

USAGE = 2  # exit code for an invalid command line, as in argparse
INTERRUPTED = 130  # exit code of a process that is ended by a signal: SIGINT
OUTPUT_CLOSED = 141  # SIGPIPE
HELP = frozenset(("-h", "--help"))

_WIDTH = 80  # columns
_INDENT = 29  # columns before the description of an entry

OPTIONS = {
    "-h, --help": "show this help, or the help of the command before it",
    "--version": "show the version",
    "--config-file PATH": "read options from this file instead of the default locations",
    "--config-dir DIR": "also read options from the *.conf files of this directory",
    "-d, --debug": "log more, on standard error",
}

_CONFIGURATION = ("--config-file", "--config-dir")
# Options of oslo.config and oslo.log whose value is the following argument.
OPTIONS_WITH_VALUE = frozenset(
    (
        *_CONFIGURATION, "--log-config-append", "--log-config", "--log_config", "--log-date-format",
        "--log-dir", "--logdir", "--log-file", "--logfile", "--shell_completion",
        "--syslog-log-facility",
    )
)  # fmt: skip


def run(command: Callable[[], int]) -> int:
    """Run a command. Return its exit code, or print one line about an expected error."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the end of the process
    if sys.stderr is None:  # `print` would write errors to the output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The encoding of the locale may lack characters of names and of the help.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            code = command()
        except SystemExit:  # after a help or an error of the parser of arguments
            sys.stdout.flush()
            raise
        # Inside of the try block, because the reader of the output may have exited.
        sys.stdout.flush()
    except KeyboardInterrupt:
        fail(Exception("interrupted"))
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            # The reader of the output, such as `head`, has closed it, or the file system is full.
            # Discard the remaining output, which Python would write at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return OUTPUT_CLOSED
        fail(error)
        return 1
    except Exception as error:
        if not is_expected(error):
            raise
        fail(error)
        return USAGE if isinstance(error, UsageError) else 1
    return code


def configuration_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with --config-file, --config-dir and --debug before the command.

    The parsers of commands do not support these options.
    """
    moved, rest = [], []
    following = iter(arguments)
    for argument in following:
        name, equals, _value = argument.partition("=")
        if argument == "--debug":
            moved.append(argument)
            continue
        if argument == "--":
            rest.append(argument)
            break
        if name not in _CONFIGURATION:
            rest.append(argument)
            continue
        value = None if equals else next(following, None)
        if not equals and value is None:
            raise UsageError(f"{name} needs a value")
        moved += [argument] if value is None else [argument, value]
    return [*moved, *rest, *following]


def command_path(arguments: Sequence[str], commands: Mapping[str, Any]) -> list[str]:
    """Return the words that name a command. The last word may not exist.

    commands: each name with the commands below it, a mapping of the same form.
    """
    path: list[str] = []
    for word in _words(arguments):
        path.append(word)
        commands = commands.get(word) or {}
        if not commands:
            break
    return path


def unknown_command(arguments: Sequence[str], commands: Mapping[str, Any]) -> str | None:
    """Return an error about a command that does not exist, with a suggestion, or None.

    commands: as for `command_path`.
    """
    path = command_path(arguments, commands)
    for word in path:
        if word not in commands:
            hint = did_you_mean(nearest(word, commands))
            return f"there is no command {' '.join(path)}{hint or '; --help lists them'}"
        commands = commands[word]
    return None


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that are neither oslo options nor their values."""
    following = iter(arguments)
    for argument in following:
        if argument in OPTIONS_WITH_VALUE:
            next(following, None)
        elif not argument.startswith("-"):
            yield argument


def entries(meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a help text. Names are in one column, and descriptions in another."""
    for name, meaning in meanings.items():
        yield from textwrap.wrap(
            meaning,
            _WIDTH,
            initial_indent=f"  {name}".ljust(_INDENT),
            subsequent_indent=" " * _INDENT,
            break_on_hyphens=False,
        )


def is_expected(error: Exception) -> bool:
    """Return whether one line is sufficient to describe the error. Other errors are bugs."""
    return isinstance(error, (ConfigurationError, PlacementError)) or _is_of_database(error)


def describe(error: Exception) -> str:
    """Return one line about an error for operators. It may contain more than the client's text."""
    if isinstance(error, PlacementError):
        return error.complaint
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if not _is_of_database(error):
        return str(error)
    from placement.db.messages import one_line  # noqa: PLC0415

    return one_line(error)


def fail(error: Exception) -> None:
    """Print an error to standard error. An invalid file has a line for each problem."""
    messages.fail(describe(error))


def _is_of_database(error: Exception) -> bool:
    # PERF: commands over REST start without importing SQLAlchemy. If SQLAlchemy is not imported, it
    # cannot have raised the error.
    sqlalchemy = sys.modules.get("sqlalchemy.exc")
    return sqlalchemy is not None and isinstance(error, sqlalchemy.SQLAlchemyError)
