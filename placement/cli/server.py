"""The server that commands over REST are sent to."""

import os
from typing import Any


def add_arguments(parser: Any) -> None:
    """Add --url and --token to the parser of a command."""
    parser.add_argument("--url", default="http://127.0.0.1:8778", help="where the server's API is")
    parser.add_argument(
        "--token",
        default=os.environ.get("OS_TOKEN", "admin"),
        help="sent as X-Auth-Token; default: the environment's OS_TOKEN, or admin",
    )
