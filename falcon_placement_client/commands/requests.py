"""The commands `placement-manage explain` and `headroom`, which take a request or a flavor."""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from falcon_placement_client import flavors, headroom
from falcon_placement_client.commands import explanation
from falcon_placement_client.commands.command import Cell, Command, Lister, Output
from falcon_placement_client.commands.over_rest import (
    NEGATIVE,
    Call,
    UsageError,
    seconds,
    table_text,
)
from falcon_placement_client.errors import RefusedError
from falcon_placement_client.headroom import HeadroomRow
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.query import parse_query

WATCH_SECONDS = 60.0
# Path of a member of a JSON request, at the beginning of an error.
_MEMBER = re.compile(r'(?:groups(?:\[""\]|\.[\w-]+)|root)\.[^: ]+(?=: )')


class Explain(Command):
    """Show which hosts can serve a request, and why others cannot."""

    description = "Exit code: 0 if a host can serve the request, 3 if none, 1 for errors."
    needs_v2 = "an explanation"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "query",
            nargs="*",
            default=[],
            help="query of GET /allocation_candidates, such as 'resources=VCPU:4&required=…', or "
            "its parameters separately",
        )
        _add_flavor(parser, "a flavor instead of a query")
        parser.add_argument("--providers", action="store_true", help="explain single hosts, too")
        parser.add_argument("--json", action="store_true", help="print the explanation as JSON")

    def run(self, call: Call) -> int:
        options = call.options
        if bool(options.query) == (options.flavor is not None):
            only = "not both" if options.query else "with a file or key=value"
            raise UsageError(f"explain: expected a query, or --flavor, {only}")
        key_of: explanation.KeyOf | None = None
        if options.flavor is None:
            request = parse_query("&".join(options.query))
        else:
            _name, flavor = _read_flavor(options.flavor)
            request = flavors.request_of_flavor(flavor)
            key_of = partial(_keys_of, flavor, request)
        detail = "providers" if options.providers else "summary"
        try:
            served = explanation.print_explanation(
                call, request, detail, as_json=options.json, key_of=key_of
            )
        except RefusedError as refusal:
            name_of = key_of or explanation.parameter_of
            refusal.detail = _MEMBER.sub(lambda path: name_of(path[0]), refusal.detail)
            raise
        return 0 if served else NEGATIVE


class Headroom(Lister):
    """Show how many more of each flavor fit."""

    description = "Exit code: 0 if each request fits at least once, 3 if not, 1 for errors."
    needs_v2 = "headroom"

    def add_arguments(self, parser: Any) -> None:
        _add_flavor(parser, "a flavor")
        parser.add_argument(
            "--file", type=Path, help="a YAML file with a flavor or request for each name"
        )
        add_by_aggregate(parser)
        parser.add_argument(
            "--watch",
            nargs="?",
            type=seconds,
            const=WATCH_SECONDS,
            metavar="SECONDS",
            help=f"print the table again every {WATCH_SECONDS:g} seconds, until interrupted",
        )

    def run(self, call: Call) -> int:
        options = call.options
        if (options.flavor is None) == (options.file is None):
            raise UsageError("headroom: expected --flavor or --file")
        if options.file is None:
            requests = dict([_request_of(options.flavor)])
        else:
            # PERF: commands without a file start faster without a YAML parser.
            from falcon_placement_client.flavorfile import read_requests  # noqa: PLC0415

            requests = read_requests(options.file)
        while True:
            code = self.show(call, headroom_output(call, requests))
            if options.watch is None:
                return code
            time.sleep(max(1.0, options.watch))


def add_by_aggregate(parser: Any) -> None:
    """Add the option for separate rows of headroom."""
    parser.add_argument(
        "--by-aggregate", action="store_true", help="add a row for each aggregate of hosts"
    )


def headroom_output(call: Call, requests: Mapping[str, JsonRequest]) -> Output:
    """Return how many more of each request fit.  Raises ClientError."""
    found = headroom.headroom_rows(call.api, requests, by_aggregate=call.options.by_aggregate)
    rows = [(*row[:-1], Cell(row.limited_by, row.bottlenecks)) for row in found]
    text = table_text(
        ("request", "aggregate", "fits", "hosts", "largest", "limited by"),
        [_row(row) for row in found],
        numbers=("fits", "hosts", "largest"),
    )
    fits = all(row.fits for row in found if row.aggregate is None)
    return Output(HeadroomRow._fields, rows, 0 if fits else NEGATIVE, text=text)


def _row(row: HeadroomRow) -> tuple[Any, ...]:
    # The number of consumers, or the interval that contains it.
    fits = f"{row.fits}" if row.fits == row.at_most else f"{row.fits} to {row.at_most}"
    if row.at_most is None:
        fits = f"at least {row.fits}"
    where = row.aggregate or "all hosts"
    return row.name, where, fits, row.hosts, row.largest, row.bottlenecks


def _add_flavor(parser: Any, meaning: str) -> None:
    parser.add_argument(
        "--flavor",
        nargs="+",
        metavar="FILE|KEY=VALUE",
        help=f"{meaning}: a file with a key=value on each line, or such pairs",
    )


def _keys_of(flavor: flavors.Flavor, request: JsonRequest, path: str) -> str:
    """Return the keys of a flavor that state a condition of its request, given by its path."""
    return flavors.keys_of(flavor, explanation.key_of_flavor(path, request["groups"]))


def _request_of(settings: Sequence[str]) -> tuple[str, JsonRequest]:
    """Return the names of the files of a flavor, and the request.  Raises RequestError."""
    name, flavor = _read_flavor(settings)
    return name, flavors.request_of_flavor(flavor)


def _read_flavor(settings: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the names of the files of a flavor, and the flavor.  Raises RequestError."""
    flavor: dict[str, str] = {}
    names = []
    for setting in settings:
        if "=" not in setting or Path(setting).exists():
            flavor |= flavors.read_flavor_file(setting)
            names.append(Path(setting).name)
        else:
            flavor |= flavors.parse_flavor([setting])
    for key in flavors.ignored_keys(flavor):
        print(f"{key} requests nothing from the placement service", file=sys.stderr)
    return " ".join(names) or "flavor", flavor
