"""The commands of `placement-manage`, with their help texts and the modules that implement them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from placement.console import OPTIONS, entries


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands."""

    # Summary for lists of commands.
    help: str
    # Function in this package that sets up the parser, as MODULE:NAME. Empty for a group.
    setup: str = ""
    # Commands of the group by name. Empty for a command.
    actions: Mapping[str, "Command"] = field(default_factory=dict)


_DATABASE = {
    "sync": Command("migrate to the newest schema and correct derived columns", "sync:set_up"),
    "version": Command("print the schema's version", "schema:set_up_version"),
    "stamp": Command("record a version without migrating", "schema:set_up_stamp"),
    "check": Command("find inconsistencies in the database", "check:set_up"),
    "online_data_migrations": Command(
        "complete the rows of very old databases", "online_migrations:set_up"
    ),
}

_HOST = {
    "taint": Command("take a host out of use: searches leave it out", "host:set_up_taint"),
    "untaint": Command("put a host back into use", "host:set_up_untaint"),
    "list": Command("list the hosts that are out of use", "host:set_up_list"),
}

_HOLDS = {
    "list": Command("list the holds in the database", "holds:set_up_list"),
    "release": Command("release expired holds, or all of them", "holds:set_up_release"),
}

COMMANDS = {
    "db": Command("the database", actions=_DATABASE),
    "openapi": Command("print the API as an OpenAPI document", "document:set_up"),
    "load-cloud": Command("load a cloud file into a server over REST", "load:set_up_load"),
    "dump-cloud": Command(
        "write the contents of a server to a file for load-cloud", "load:set_up_dump"
    ),
    "draw-cloud": Command("draw the trees of a cloud file, as SVG", "draw:set_up"),
    "audit": Command("show providers over capacity and consumers without an owner", "audit:set_up"),
    "explain": Command(
        "show which hosts can serve a request, and why others cannot", "explain:set_up"
    ),
    "headroom": Command("show how many more of each flavor fit", "headroom:set_up"),
    "drain-check": Command("show which hosts can be emptied", "drain_check:set_up"),
    "host": Command("hosts of a server, over REST", actions=_HOST),
    "watch": Command("print the trees of a server as they change", "watch:set_up"),
    "holds": Command("holds in the database", actions=_HOLDS),
    "samples": Command(
        "write configurations, deployment files and dashboards to a directory", "samples:set_up"
    ),
    "reshape": Command(
        "transform the provider trees of the database, with all services stopped", "reshape:set_up"
    ),
}


def names(commands: Mapping[str, Command] = COMMANDS) -> dict[str, Any]:
    """Return command -> names of its subcommands, for `console.unknown_command`."""
    return {name: names(command.actions) for name, command in commands.items()}


def describe() -> str:
    """Return the help of `placement-manage`: usage, commands, options."""
    return "\n".join(
        (
            "usage: placement-manage [OPTION …] COMMAND [ARGUMENT …]",
            "",
            "Manages a placement service: its database, and the cloud data of a server.",
            "",
            "commands (placement-manage COMMAND --help shows the arguments of a command):",
            *entries({name: command.help for name, command in _leaves(COMMANDS)}),
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
