"""What all commands over REST have: a server, one-line errors, and rows as a table or as JSON."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TextIO

from falcon_placement_client.command_client import RestClient
from falcon_placement_client.errors import ClientError, RefusedError
from falcon_placement_client.identity import DEFAULT_TOKEN, DEFAULT_URL, Identity, NamedCloud
from falcon_placement_client.messages import escaped, fail
from falcon_placement_client.rest import Version

USAGE = 2  # exit code for an invalid command line, as in argparse
MAX_SECONDS = 10**8  # of an argument; three years
NEGATIVE = 3  # exit code for a negative result, such as a host that cannot be emptied

# Variables that select a cloud or an identity service, and thus a server (`identity.connect`).
_NAMING = ("OS_CLOUD", "OS_AUTH_TYPE", "OS_AUTH_PLUGIN", "OS_AUTH_URL")


class UsageError(ClientError):
    """The arguments of a command contradict each other. The exit code is USAGE."""


@dataclass
class Call:
    """One call of a command."""

    options: argparse.Namespace
    # Address and identity of the service, as `RestClient` takes them.
    url: str | None
    identity: Identity
    connect: Callable[[], RestClient]
    # Whether the arguments or the environment select a server, so that it may be written to.
    is_named: bool
    out: TextIO
    # The clients of `openstack`, or None in `placement-manage`.
    manager: Any = None

    @cached_property
    def api(self) -> RestClient:
        """The service.  Raises RestError."""
        return self.connect()

    def print(self, text: str) -> None:
        """Print a text to the output of the command."""
        print(text, file=self.out, flush=True)


def _add_server(parser: Any, *, named: bool) -> None:
    """Add --url, --token and --os-cloud to the parser of a command.

    named: whether the command requires a named server (`Call.is_named`) and has no default.
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


def count(text: str) -> int:
    """Return the value of an argument that is a number of at least 1."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of at least 1")
    return number


def seconds(text: str) -> float:
    """Return the value of an argument that is a duration."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"{text}: expected seconds, such as 1 or 0.5")
    return number


def _is_named(options: Any) -> bool:
    is_stated = options.url or options.os_cloud
    return bool(is_stated or (not options.token and any(map(os.environ.get, _NAMING))))


def set_up(parser: Any, run: Callable[[Call], int], version: Version, *, named: bool) -> None:
    """Set the action of a command, and add the arguments of the server.

    Args:
        run: returns the exit code.
        version: version of requests that state none.
        named: whether the command has no default server.
    """

    def action(conf: Any) -> int:
        options = conf.category
        where = options.url, NamedCloud(options.os_cloud) if options.os_cloud else options.token
        with ExitStack() as stack:

            def connect() -> RestClient:
                return stack.enter_context(closing(RestClient(*where, version)))

            call = Call(options, *where, connect, _is_named(options), sys.stdout)
            try:
                try:
                    return run(call)
                except (AttributeError, LookupError, TypeError):
                    call.api.check_service()  # the responses of another service have another form
                    raise
            except RefusedError as refusal:
                is_stated = refusal.code or refusal.status < 500
                fail(refusal.detail if is_stated else f"{refusal}; see the log of {call.api.url}")
            except UsageError as error:
                fail(error)
                return USAGE
            except ClientError as error:
                fail(error)
            except UnicodeEncodeError as error:  # of an argument that is no text
                char = error.object[error.start]
                fail(f"{char!r} is not a character of {error.encoding}")
        return 1

    parser.set_defaults(action=action)
    _add_server(parser, named=named)


def json_text(value: Any) -> str:
    """Return a value as readable JSON."""
    return json.dumps(value, indent=2)


def table_text(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], numbers: Sequence[str] = ()
) -> str:
    """Return rows as a table, without control characters. `numbers` are aligned to the right."""
    from prettytable import PrettyTable  # noqa: PLC0415

    table = PrettyTable(columns, max_width=80)
    table.align = "l"
    for name in numbers:
        table.align[name] = "r"
    table.add_rows([[escaped(str(value)) for value in row] for row in rows])
    return str(table)
