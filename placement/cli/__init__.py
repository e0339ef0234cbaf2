"""`placement-manage`: what an operator does by hand."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.exc import SQLAlchemyError

from placement import config, console
from placement.cli import (
    audit,
    check,
    document,
    draw,
    explain,
    load,
    online_migrations,
    reshape,
    schema,
)
from placement.errors import ConfigurationError, PlacementError

INTERRUPTED = 130  # exit codes, those of a process that a signal ends: SIGINT
UNREAD = 141  # SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    conf = config.options()
    parsers: dict[str, Any] = {}
    conf.register_cli_opt(
        cfg.SubCommandOpt(
            "category",
            title="commands",
            handler=lambda subparsers: _add_commands(subparsers, parsers),
        )
    )
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(conf, arguments, parsers)
        sys.stdout.flush()  # here, where it can still be said that nobody reads on
    except (ConfigurationError, PlacementError, SQLAlchemyError) as error:
        console.fail(error)
        return 1
    except KeyboardInterrupt:
        console.fail(Exception("interrupted"))
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever reads the output wants no more of it, such as `head`. What is left goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return code


def _run(conf: cfg.ConfigOpts, arguments: Sequence[str], parsers: dict[str, Any]) -> int:
    """Run the command of the arguments, or print help; return the exit code."""
    if not arguments:
        config.parse(conf, ["db"])
        conf.print_help()
        return 1
    config.parse(conf, arguments)
    config.log_to_stderr(conf)
    action: Callable[[cfg.ConfigOpts], int] | None = getattr(conf.category, "action", None)
    if action is None:
        parsers[conf.category.name].print_help()
        return 0
    return action(conf)


def _add_commands(subparsers: Any, parsers: dict[str, Any]) -> None:
    """Add all commands; `parsers` gets those that have commands below them, by name."""
    parsers["db"] = subparsers.add_parser("db", help="the database")
    actions = parsers["db"].add_subparsers(title="actions")
    schema.add_commands(actions)
    check.add_command(actions)
    online_migrations.add_command(actions)
    document.add_command(subparsers)
    load.add_commands(subparsers)
    draw.add_command(subparsers)
    audit.add_command(subparsers)
    explain.add_command(subparsers)
    reshape.add_command(subparsers)
