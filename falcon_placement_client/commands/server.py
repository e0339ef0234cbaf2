"""The connection of commands to a server, over the REST API."""

import os
from typing import Any

from falcon_placement_client.identity import DEFAULT_TOKEN, DEFAULT_URL, Identity, NamedCloud

# Variables that select a cloud or an identity service, and thus a server (`identity.connect`).
_NAMING = ("OS_CLOUD", "OS_AUTH_TYPE", "OS_AUTH_PLUGIN", "OS_AUTH_URL")


def add_arguments(parser: Any, *, named: bool = False) -> None:
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
