"""The commands of `placement-manage`, with their help texts and the modules that implement them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from placement.entry.console import OPTIONS, entries


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands."""

    help: str
    # Function in this package that sets up the parser, as MODULE:NAME. Empty for a group, and for a
    # command of the client, which registers the function as an entry point.
    setup: str = ""
    # Commands of the group by name. Empty for a command.
    actions: Mapping[str, "Command"] = field(default_factory=dict)
    # Whether the command uses the database, and therefore reads placement.conf.
    uses_database: bool = False

    def describe(self, details: str | None = None) -> str:
        """Return what the command does, as a sentence, followed by details."""
        return f"{self.help[:1].upper()}{self.help[1:]}. {details or ''}".strip()

    @property
    def is_of_client(self) -> bool:
        """Whether the package falcon-placement-client implements the command."""
        return not self.setup and not self.actions


_of_database = partial(Command, uses_database=True)

_DATABASE = {
    "sync": _of_database("migrate to the newest schema and correct derived columns", "sync:set_up"),
    "version": _of_database("print the schema's version", "schema:set_up_version"),
    "stamp": _of_database("record a version without migrating", "schema:set_up_stamp"),
    "check": _of_database("find inconsistencies in the database", "check:set_up"),
    "preflight": _of_database("find unsafe settings of the database", "preflight:set_up"),
    "online_data_migrations": _of_database(
        "complete the rows of very old databases", "online_migrations:set_up"
    ),
}

_HOST = {
    "taint": Command("take a host out of use: searches leave it out"),
    "untaint": Command("put a host back into use"),
    "list": Command("list the hosts that are out of use"),
}

_HOLDS = {
    "list": _of_database("list the holds in the database", "holds:set_up_list"),
    "release": _of_database("release expired holds, or all of them", "holds:set_up_release"),
}

COMMANDS = {
    "db": Command("the database", actions=_DATABASE),
    "openapi": Command("print the API as an OpenAPI document", "document:set_up"),
    "load-cloud": Command("load a cloud file into a server over REST"),
    "dump-cloud": Command("write the contents of a server to a cloud file"),
    "draw-cloud": Command("draw the trees of a cloud file, as SVG"),
    "audit": _of_database(
        "show providers over capacity and consumers without an owner", "audit:set_up"
    ),
    "explain": Command("show why hosts can or cannot serve a request"),
    "why": Command("show the log of a request, and explain it"),
    "headroom": Command("show how many more of each flavor fit"),
    "drain-check": Command("show which hosts can be emptied"),
    "host": Command("hosts of a server, over REST", actions=_HOST),
    "compare": Command("compare the responses of two servers"),
    "watch": Command("print the trees of a server as they change"),
    "holds": Command("holds in the database", actions=_HOLDS),
    "samples": Command(
        "write configurations, deployment files and dashboards to a directory", "samples:set_up"
    ),
    "reshape": _of_database("transform all trees, with all services stopped"),
}


def names(commands: Mapping[str, Command] = COMMANDS) -> dict[str, Any]:
    """Return command -> names of its subcommands, for `console.unknown_command`."""
    return {name: names(command.actions) for name, command in commands.items()}


def command_at(path: Sequence[str]) -> Command:
    """Return the command with the names of its groups and its own name."""
    command = Command("", actions=COMMANDS)
    for name in path:
        command = command.actions[name]
    return command


def setup_of(path: Sequence[str]) -> Callable[[Any], None] | None:
    """Return the function that adds the arguments and the action of a command to its parser.

    Returns None if the path ends at a group. Raises ConfigurationError for a command of the client
    if the client is not installed.
    """
    command = command_at(path)
    if command.actions:
        return None
    if command.is_of_client:
        # PERF: the version and the help do not need the metadata of installed packages.
        from placement import client  # noqa: PLC0415

        feature = f"placement-manage {' '.join(path)}"
        of_client: Callable[[Any], None] = client.load(client.COMMANDS, "_".join(path), feature)
        return of_client
    module, _, name = command.setup.partition(":")
    own: Callable[[Any], None] = getattr(import_module(f"placement.cli.{module}"), name)
    return own


def describe() -> str:
    """Return the help of `placement-manage`: usage, commands, options."""
    leaves = dict(_leaves(COMMANDS))
    return "\n".join(
        (
            "usage: placement-manage [OPTION …] COMMAND [ARGUMENT …]",
            "",
            "Manages a placement service: its database, and the cloud data of a server.",
            "",
            "commands (placement-manage COMMAND --help shows the arguments of a command):",
            *entries({name: each.help for name, each in leaves.items() if not each.is_of_client}),
            "",
            "commands of the package falcon-placement-client, if it is installed:",
            *entries({name: each.help for name, each in leaves.items() if each.is_of_client}),
            "",
            "options, before the command (options of oslo.log are accepted too):",
            *entries(OPTIONS),
        )
    )


def _leaves(commands: Mapping[str, Command]) -> Iterator[tuple[str, Command]]:
    """Yield the names of the commands. The names of grouped commands include the group."""
    for name, command in commands.items():
        for action, below in _leaves(command.actions):
            yield f"{name} {action}", below
        if not command.actions:
            yield name, command
