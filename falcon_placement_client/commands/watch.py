"""The command `placement-manage watch`, which prints the trees of a cloud as they change."""

import json
import shlex
import subprocess
from contextlib import closing
from typing import Any

from falcon_placement_client import watching
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, server
from falcon_placement_client.commands.console import escaped
from falcon_placement_client.errors import ClientError
from falcon_placement_client.rest import V2


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.set_defaults(action=_run)
    server.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print each change as a JSON object")
    parser.add_argument(
        "--exec",
        metavar="CMD",
        dest="command",
        help="run this command for each change, which is its standard input as a JSON object; a "
        "command that fails ends the watch",
    )
    parser.add_argument(
        "--interval",
        type=float,
        default=watching.INTERVAL,
        help=f"seconds between two polls; default: {watching.INTERVAL:g}",
    )


def _run(conf: Any) -> int:
    options = conf.category
    command = shlex.split(options.command or "")
    try:
        with closing(RestClient(options.url, server.caller(options), version=V2)) as client:
            trees = watching.watch(client, options.interval)
            for tree, name in watching.with_names(client, trees):
                change = json.dumps({"uuid": tree.uuid, "name": name, "event": tree.event})
                line = f"{tree.event:<7} {tree.uuid} {escaped(name)}"
                print(change if options.json else line, flush=True)
                if command:
                    # The command was specified by the operator.
                    subprocess.run(command, input=f"{change}\n", text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError, ClientError) as error:
        console.fail(error)
        return 1
    return 0
