"""Run one command, with options from the command line, files and the environment."""

from collections.abc import Callable, Container, Mapping, Sequence
from importlib import import_module
from typing import Any

from oslo_config import cfg

from placement import config, console
from placement.cli.commands import COMMANDS, Command


def run(arguments: Sequence[str]) -> int:
    """Run the command in the arguments, or print the help of a group. Return the exit code.

    Raises:
        ConfigurationError: an option is invalid.
        Exception: errors of the command.
    """
    conf = config.options()

    def add_all(subparsers: Any) -> None:
        _add_commands(subparsers, COMMANDS, arguments)

    conf.register_cli_opt(cfg.SubCommandOpt("category", title="commands", handler=add_all))
    config.parse(conf, arguments)
    config.log_to_stderr(conf)
    action: Callable[[cfg.ConfigOpts], int] = conf.category.action
    return action(conf)


def _add_commands(
    subparsers: Any, commands: Mapping[str, Command], arguments: Container[str]
) -> None:
    """Add the commands to a parser.

    Add the arguments of a command only if the command line names it.
    """
    for name, command in commands.items():
        parser = subparsers.add_parser(name, help=command.help)
        # PERF: some of the modules import the whole service.
        if name in arguments:
            _set_up(parser, command, arguments)


def _set_up(parser: Any, command: Command, arguments: Container[str]) -> None:
    if command.actions:
        parser.set_defaults(action=lambda _conf: parser.print_help() or console.USAGE)
        _add_commands(parser.add_subparsers(title="actions"), command.actions, arguments)
    else:
        module, _, name = command.setup.partition(":")
        getattr(import_module(f"placement.cli.{module}"), name)(parser)
