"""The command `placement-manage openapi`, which prints the API as an OpenAPI document."""

import json
from typing import Any

from oslo_config import cfg

from placement.api import openapi
from placement.api.history import HISTORY, LATEST, LINES
from placement.errors import UsageError


def set_up(parser: Any) -> None:
    parser.set_defaults(action=_describe)
    parser.add_argument(
        "--microversion", default=str(LATEST), help=f"version of the document (default: {LATEST})"
    )


def _describe(conf: cfg.ConfigOpts) -> int:
    """Print the document of a microversion. Raises UsageError if it does not exist."""
    versions = {str(version): version for version in HISTORY}
    stated = conf.category.microversion
    if stated not in versions:
        ranges = " and ".join(f"{line.oldest} to {line.newest}" for line in LINES)
        raise UsageError(f"--microversion {stated}: this service has {ranges}")
    print(json.dumps(openapi.describe(versions[stated]), indent=2))
    return 0
