"""The command `placement-manage explain`, which prints a server's explanation of a request.

The exit code is 0 if at least one host can serve the request, 3 if no host can, and 1 for errors.
"""

import json
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

from falcon_placement_client import flavors
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, explanation, server
from falcon_placement_client.commands.console import escaped
from falcon_placement_client.commands.terminal import Terminal
from falcon_placement_client.errors import RestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.query import parse_query
from falcon_placement_client.request_errors import RequestError
from falcon_placement_client.rest import Version

VERSION: Version = (2, 0)
NO_HOST = 3  # exit code if no host can serve the request


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.description = "Exit code: 0 if a host can serve the request, 3 if none, 1 for errors."
    parser.set_defaults(action=_explain)
    parser.add_argument(
        "query",
        nargs="?",
        help="query of GET /allocation_candidates, such as 'resources=VCPU:4&required=…'",
    )
    parser.add_argument(
        "--flavor",
        nargs="+",
        metavar="FILE|KEY=VALUE",
        help="a flavor instead of a query: a file with a key=value on each line, or such pairs",
    )
    server.add_arguments(parser)
    parser.add_argument("--providers", action="store_true", help="explain single hosts, too")
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def _explain(conf: Any) -> int:
    """Print the server's explanation. Return the exit code."""
    options = conf.category
    try:
        request = _request(options.query, options.flavor)
        with closing(RestClient(options.url, server.caller(options), VERSION)) as client:
            document = _request_explanation(
                client, request, "providers" if options.providers else "summary"
            )
            if options.json:
                print(json.dumps(document, indent=2))
            else:
                name_of = _names(client)
                terminal = Terminal.of(sys.stdout)
                for line in explanation.lines(document, request, terminal, name_of):
                    print(line)
    except RefusedError as refusal:
        console.fail(Exception(refusal.detail))
        return 1
    except (RequestError, RestError) as error:
        console.fail(error)
        return 1
    return 0 if document["hosts"]["served"] else NO_HOST


def _request(query: str | None, settings: list[str] | None) -> JsonRequest:
    """Return the request as JSON.  Raises RequestError."""
    if (query is None) == (settings is None):
        raise RequestError("explain", "expected a query, or --flavor with a file or key=value")
    if settings is None:
        # The query may follow a path, as in logs. Ignore the path.
        return parse_query(str(query).rpartition("?")[2])
    flavor: dict[str, str] = {}
    for setting in settings:
        flavor |= _flavor(setting)
    for key in flavors.ignored_keys(flavor):
        print(f"{key} requests nothing from the placement service", file=sys.stderr)
    return flavors.request_of_flavor(flavor)


def _flavor(setting: str) -> dict[str, str]:
    if "=" not in setting or Path(setting).exists():
        return flavors.read_flavor_file(setting)
    return flavors.parse_flavor([setting])


def _request_explanation(client: RestClient, request: JsonRequest, detail: str) -> dict[str, Any]:
    """Return the explanation of a request.  Raises RestError."""
    # One candidate is sufficient, because the candidates are not printed.
    body = {**request, "limit": 1, "explain": detail}
    try:
        answer = client.post("/allocation_candidates", body)
    except RefusedError as refusal:
        if refusal.status in (404, 405):
            raise RestError(f"{client.url} is not a placement server: {refusal}") from None
        raise
    document = answer.get("explanation") if isinstance(answer, dict) else None
    if not isinstance(document, dict):
        raise RestError(f"{client.url} is not a placement server that explains requests")
    return document


def _names(client: RestClient) -> Callable[[str], str]:
    """Return a function that requests the name of a provider from the server, with a cache."""

    @cache
    def name_of(uuid: str) -> str:
        try:
            return escaped(str(client.get(f"/resource_providers/{uuid}")["name"]))
        except RefusedError:
            return uuid  # the provider has been deleted in the meantime

    return name_of
