"""The commands `openstack placement change watch` and `placement-manage watch`."""

import json
import shlex
import subprocess
from typing import Any

from falcon_placement_client import watching
from falcon_placement_client.commands.command import Command
from falcon_placement_client.commands.over_rest import Call, UsageError, count, seconds
from falcon_placement_client.errors import ClientError
from falcon_placement_client.messages import escaped
from falcon_placement_client.watching import INTERVAL, WatchedTree, WatchEvent


class Watch(Command):
    """Print a line for each tree, and for each tree that changes, until interrupted."""

    needs_v2 = "watch"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--json", action="store_true", help="print each change as a JSON object"
        )
        parser.add_argument(
            "--interval",
            type=seconds,
            default=INTERVAL,
            metavar="SECONDS",
            help=f"seconds between two polls (default: {INTERVAL:g})",
        )
        parser.add_argument("--count", type=count, metavar="N", help="exit after N lines")
        parser.add_argument(
            "--exec",
            metavar="CMD",
            dest="command",
            help="run this command for each change, which is its standard input as a JSON object; "
            "a command that fails ends the watch",
        )

    def run(self, call: Call) -> int:
        options, printed = call.options, 0
        shows_listed = getattr(options, "listed", True)  # `placement-manage` has no such option
        try:
            command = shlex.split(options.command or "")
        except ValueError as error:
            raise UsageError(f"--exec {options.command}: {str(error).lower()}") from None
        trees = watching.watch(call.api, options.interval)
        for tree, name in watching.with_names(call.api, trees):
            if tree.event is WatchEvent.LISTED and not shows_listed:
                continue
            change = json.dumps({"uuid": tree.uuid, "name": name, "event": tree.event})
            call.print(change if options.json else _line(tree, name))
            if command:
                _run(command, change)
            printed += 1
            if printed == options.count:
                break
        return 0


class WatchChanges(Watch):
    """Print a line for each tree that changes, until interrupted.

    The command waits while the service is not available. Needs placement 2.0.
    """

    example = "placement change watch --json"

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--listed", action="store_true", help="also print the trees that exist already"
        )


def _line(tree: WatchedTree, name: str) -> str:
    return f"{tree.event:<7} {tree.uuid} {escaped(name)}"


def _run(command: list[str], change: str) -> None:
    try:
        # The command was specified by the operator.
        subprocess.run(command, input=f"{change}\n", text=True, check=True)  # noqa: S603
    except subprocess.CalledProcessError as error:
        raise ClientError(f"{shlex.join(command)}: exit status {error.returncode}") from None
    except OSError as error:
        raise ClientError(f"{command[0]}: {error.strerror}") from None
