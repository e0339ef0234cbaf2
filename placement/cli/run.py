"""Run one command, with options from the command line, files and the environment.

Commands over REST read no files: their user need not be able to read placement.conf.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from placement import config
from placement.cli.commands import COMMANDS, Command, command_at
from placement.entry import console
from placement.runtime.suggestions import suggest_options


def run(arguments: Sequence[str], path: Sequence[str], set_up: Callable[[Any], None] | None) -> int:
    """Run the command in the arguments, or print the help of a group. Return the exit code.

    Args:
        arguments: the command line.
        path: the names in it of the groups and of the command.
        set_up: sets up the parser of the command. None for a group.

    Raises:
        ConfigurationError: an option is invalid.
        Exception: errors of the command.
    """
    conf = config.options()

    def add_all(subparsers: Any) -> None:
        _add_commands(subparsers, COMMANDS, path, set_up)

    conf.register_cli_opt(cfg.SubCommandOpt("category", title="commands", handler=add_all))
    words = " ".join(path)
    usage = f"placement-manage [OPTION …] {words} [ARGUMENT …] (placement-manage {words} --help)"
    uses_database = command_at(path).uses_database
    config.parse(conf, arguments, None if uses_database else [], usage)
    if uses_database:
        config.check_values(conf)
    config.log_to_stderr(conf, is_of_service=uses_database)
    action: Callable[[cfg.ConfigOpts], int] = conf.category.action
    return action(conf)


def _add_commands(
    subparsers: Any,
    commands: Mapping[str, Command],
    path: Sequence[str],
    set_up: Callable[[Any], None] | None,
) -> None:
    """Add the commands to a parser, and the arguments of the one at the path."""
    for name, command in commands.items():
        program = {"prog": f"placement-manage {name}"} if commands is COMMANDS else {}
        parser = subparsers.add_parser(name, help=command.help, **program)
        if name not in path[:1]:
            continue
        if set_up is not None and not command.actions:
            set_up(parser)
            suggest_options(parser)
            parser.description = command.describe(parser.description)
            continue
        parser.description = command.describe()
        parser.set_defaults(action=_print_help(parser))
        # Since Python 3.13, argparse does not wrap a usage between the names of actions.
        actions = parser.add_subparsers(title="actions", metavar="ACTION")
        _add_commands(actions, command.actions, path[1:], set_up)


def _print_help(parser: Any) -> Callable[[cfg.ConfigOpts], int]:
    return lambda _conf: parser.print_help() or console.USAGE
