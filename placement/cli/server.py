"""The server that commands over REST are sent to."""

from typing import Any

from falcon_placement_client.identity import DEFAULT_TOKEN, DEFAULT_URL, Identity, NamedCloud


def add_arguments(parser: Any) -> None:
    """Add --url, --token and --os-cloud to the parser of a command."""
    parser.add_argument(
        "--url",
        help="where the server's API is; default: as the catalogue of the identity service says, "
        f"or {DEFAULT_URL} where the environment names none",
    )
    identity = parser.add_mutually_exclusive_group()
    identity.add_argument(
        "--token",
        help="sent as X-Auth-Token; default: that of the identity in the environment (OS_CLOUD, or "
        f"OS_AUTH_URL and OS_AUTH_TYPE), else OS_TOKEN, or {DEFAULT_TOKEN}",
    )
    identity.add_argument(
        "--os-cloud", metavar="NAME", help="a cloud of clouds.yaml; needs openstacksdk"
    )


def caller(options: Any) -> Identity:
    """Return who calls, as the arguments say."""
    return NamedCloud(options.os_cloud) if options.os_cloud else options.token
