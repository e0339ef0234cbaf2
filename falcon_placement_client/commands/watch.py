"""The command `placement-manage watch`, which prints the trees of a cloud as they change."""

import shlex
import subprocess
from typing import Any

from falcon_placement_client import watching
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.command_parts import add_polling, change_text
from falcon_placement_client.commands import over_rest
from falcon_placement_client.errors import ClientError
from falcon_placement_client.rest import V2


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    over_rest.set_up(parser, _watch, V2)
    add_polling(parser)
    parser.add_argument(
        "--exec",
        metavar="CMD",
        dest="command",
        help="run this command for each change, which is its standard input as a JSON object; a "
        "command that fails ends the watch",
    )


def _watch(client: RestClient, options: Any) -> int:
    command = shlex.split(options.command or "")
    for tree, name in watching.with_names(client, watching.watch(client, options.interval)):
        print(change_text(tree, name, as_json=options.json), flush=True)
        if command:
            change = f"{change_text(tree, name, as_json=True)}\n"
            try:
                # The command was specified by the operator.
                subprocess.run(command, input=change, text=True, check=True)  # noqa: S603
            except subprocess.CalledProcessError as error:
                raise ClientError(str(error)) from None
    return 0
