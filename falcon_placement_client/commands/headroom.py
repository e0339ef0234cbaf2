"""The command `placement-manage headroom`, which prints how many more consumers fit.

The exit code is 0 if at least one consumer of each request fits, 3 if not, and 1 for errors.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from prettytable import PrettyTable

from falcon_placement_client import flavors
from falcon_placement_client.answers import RefusedError
from falcon_placement_client.command_client import RestClient
from falcon_placement_client.commands import console, server
from falcon_placement_client.commands.console import escaped
from falcon_placement_client.errors import RestError
from falcon_placement_client.flavorfile import read_requests
from falcon_placement_client.headroom import HeadroomRow, headroom_rows
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.request_errors import RequestError

NONE_FITS = 3  # exit code if not even one consumer of a request fits
WATCH_SECONDS = 60.0


def set_up(parser: Any) -> None:
    """Add the arguments and the action of the command to its parser."""
    parser.description = "Exit code: 0 if each request fits at least once, 3 if not, 1 for errors."
    parser.set_defaults(action=_run)
    parser.add_argument(
        "--flavor",
        nargs="+",
        metavar="FILE|KEY=VALUE",
        help="a flavor: a file with a key=value on each line, or such pairs",
    )
    parser.add_argument(
        "--file", type=Path, help="a YAML file with a flavor or request for each name"
    )
    parser.add_argument(
        "--by-aggregate", action="store_true", help="add a row for each aggregate of hosts"
    )
    parser.add_argument(
        "--watch",
        nargs="?",
        type=float,
        const=WATCH_SECONDS,
        metavar="SECONDS",
        help=f"print the table again every {WATCH_SECONDS:g} seconds, until interrupted",
    )
    server.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def _run(conf: Any) -> int:
    """Print the rows. Return the exit code."""
    options = conf.category
    if (options.flavor is None) == (options.file is None):
        console.fail(Exception("headroom: expected --flavor or --file"))
        return console.USAGE
    try:
        requests = _requests(options.flavor, options.file)
        with closing(RestClient(options.url, server.caller(options))) as client:
            while True:
                rows = headroom_rows(client, requests, by_aggregate=options.by_aggregate)
                _print(rows, as_json=options.json)
                if options.watch is None:
                    break
                time.sleep(max(1.0, options.watch))
    except RefusedError as refusal:
        console.fail(Exception(refusal.detail))
        return 1
    except (RequestError, RestError) as error:
        console.fail(error)
        return 1
    return 0 if all(row.fits for row in rows if row.aggregate is None) else NONE_FITS


def _requests(settings: Sequence[str] | None, path: Path | None) -> dict[str, JsonRequest]:
    """Return name -> request.  Raises RequestError."""
    if path is not None:
        return read_requests(path)
    flavor: dict[str, str] = {}
    names = []
    for setting in settings or ():
        if "=" not in setting or Path(setting).exists():
            flavor |= flavors.read_flavor_file(setting)
            names.append(Path(setting).name)
        else:
            flavor |= flavors.parse_flavor([setting])
    for key in flavors.ignored_keys(flavor):
        print(f"{key} requests nothing from the placement service", file=sys.stderr)
    return {" ".join(names) or "flavor": flavors.request_of_flavor(flavor)}


def _print(rows: Sequence[HeadroomRow], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([row._asdict() for row in rows], indent=2), flush=True)
        return
    table = PrettyTable(["request", "aggregate", "fits", "hosts", "largest", "limited by"])
    table.align = "l"
    for name in ("fits", "hosts", "largest"):
        table.align[name] = "r"
    for row in rows:
        fits = _number(row)
        table.add_row(
            [
                escaped(row.name),
                row.aggregate or "all hosts",
                fits,
                row.hosts,
                row.largest,
                row.bottlenecks,
            ]
        )
    print(table, flush=True)


def _number(row: HeadroomRow) -> str:
    """Return the number of consumers, or the interval that contains it."""
    if not row.complete:
        return f"{row.fits} or more"
    return str(row.fits) if row.fits == row.at_most else f"{row.fits} to {row.at_most}"
