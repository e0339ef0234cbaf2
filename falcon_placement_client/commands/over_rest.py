"""What all commands over REST have: a server, one-line errors, and rows as a table or as JSON."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from falcon_placement_client.command_client import MICROVERSION, RestClient
from falcon_placement_client.command_parts import escaped
from falcon_placement_client.errors import ClientError, RefusedError
from falcon_placement_client.identity import DEFAULT_TOKEN, DEFAULT_URL, Identity, NamedCloud
from falcon_placement_client.rest import Version

USAGE = 2  # exit code for an invalid command line, as in argparse

# Variables that select a cloud or an identity service, and thus a server (`identity.connect`).
_NAMING = ("OS_CLOUD", "OS_AUTH_TYPE", "OS_AUTH_PLUGIN", "OS_AUTH_URL")


def add_server(parser: Any, *, named: bool = False) -> None:
    """Add --url, --token and --os-cloud to the parser of a command.

    named: whether the command requires a named server (`is_named`) and has no default.
    """
    default = (
        "needed unless --os-cloud or the environment names that"
        if named
        else f"or {DEFAULT_URL} if the environment names none"
    )
    parser.add_argument(
        "--url",
        help="URL of the API; default: from the catalogue of the identity service, " + default,
    )
    identity = parser.add_mutually_exclusive_group()
    identity.add_argument(
        "--token",
        help="sent as X-Auth-Token; default: a token of the identity in the environment (OS_CLOUD, "
        f"or OS_AUTH_URL and OS_AUTH_TYPE), else OS_TOKEN, or {DEFAULT_TOKEN}",
    )
    identity.add_argument(
        "--os-cloud", metavar="NAME", help="name of a cloud in clouds.yaml; needs openstacksdk"
    )


def caller(options: Any) -> Identity:
    """Return the identity of the caller that the arguments specify."""
    return NamedCloud(options.os_cloud) if options.os_cloud else options.token


def is_named(options: Any) -> bool:
    """Return whether the arguments or the environment select a server.

    The default is DEFAULT_URL.
    """
    if options.url or options.os_cloud:
        return True
    return not options.token and any(map(os.environ.get, _NAMING))


def set_up(
    parser: Any, run: Callable[[RestClient, Any], int], version: Version = MICROVERSION
) -> None:
    """Set the action of a command, and add the arguments of the server.

    Args:
        run: takes a client and the arguments, and returns the exit code.
        version: version of requests that state none.
    """

    def action(conf: Any) -> int:
        options = conf.category
        try:
            with closing(RestClient(options.url, caller(options), version)) as client:
                return run(client, options)
        except RefusedError as refusal:
            fail(refusal.detail)
        except (ClientError, OSError) as error:
            fail(error)
        return 1

    parser.set_defaults(action=action)
    add_server(parser)


def fail(error: object) -> None:
    """Print an error to standard error. An invalid file has a line for each problem."""
    for line in f"placement: {error}".split("\n"):
        print(escaped(line), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value in a readable form."""
    print(json.dumps(value, indent=2), flush=True)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[str] = ()
) -> None:
    """Print rows as a table, without control characters. `numbers` are aligned to the right."""
    from prettytable import PrettyTable  # noqa: PLC0415

    table = PrettyTable(columns, max_width=80)
    table.align = "l"
    for name in numbers:
        table.align[name] = "r"
    table.add_rows([[escaped(str(value)) for value in row] for row in rows])
    print(table, flush=True)
