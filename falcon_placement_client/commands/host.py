"""The commands `placement-manage host`, which taint and untaint hosts."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from prettytable import PrettyTable

from falcon_placement_client import hosts
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, server
from falcon_placement_client.commands.console import escaped
from falcon_placement_client.errors import RestError
from falcon_placement_client.hosts import HostRow

# Function that takes a client and the arguments.
Function = Callable[[RestClient, Any], Sequence[HostRow]]


def set_up_taint(parser: Any) -> None:
    """Add the arguments and the action of `host taint` to its parser."""
    _set_up(parser, lambda client, options: [hosts.taint_host(client, options.host, options.trait)])
    parser.add_argument("host", help="UUID or name of the root provider")


def set_up_untaint(parser: Any) -> None:
    """Add the arguments and the action of `host untaint` to its parser."""
    _set_up(
        parser, lambda client, options: [hosts.untaint_host(client, options.host, options.trait)]
    )
    parser.add_argument("host", help="UUID or name of the root provider")


def set_up_list(parser: Any) -> None:
    """Add the arguments and the action of `host list` to its parser."""
    _set_up(parser, lambda client, options: hosts.tainted_hosts(client, options.trait))
    parser.add_argument(
        "--tainted", action="store_true", required=True, help="list the hosts with the trait"
    )


def _set_up(parser: Any, function: Function) -> None:
    parser.set_defaults(action=lambda conf: _run(conf, function))
    parser.add_argument(
        "--trait",
        default=hosts.DEFAULT_TRAIT,
        help=f"trait of tainted hosts (default: {hosts.DEFAULT_TRAIT})",
    )
    server.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the hosts as JSON")


def _run(conf: Any, function: Function) -> int:
    """Run a function of the client and print its rows. Return the exit code."""
    options = conf.category
    try:
        with closing(RestClient(options.url, server.caller(options))) as client:
            rows = function(client, options)
    except RefusedError as refusal:
        console.fail(Exception(refusal.detail))
        return 1
    except RestError as error:
        console.fail(error)
        return 1
    _print(rows, as_json=options.json)
    if any(row.is_taint is False for row in rows):
        print(
            f"{options.trait} is no taint of the service, so searches still find the host: "
            "add it to [placement] taints of all servers",
            file=sys.stderr,
        )
    return 0


def _print(rows: Sequence[HostRow], *, as_json: bool) -> None:
    if as_json:
        members = [{"uuid": row.uuid, "name": row.name, "taints": list(row.taints)} for row in rows]
        print(json.dumps(members, indent=2))
        return
    table = PrettyTable(["uuid", "name", "taints"], align="l")
    table.add_rows([[row.uuid, escaped(row.name), ", ".join(row.taints)] for row in rows])
    print(table)
