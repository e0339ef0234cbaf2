"""The command `compare`, which sends the same reads to two services."""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing, nullcontext
from itertools import islice
from typing import Any

from falcon_placement_client.command_client import MICROVERSION, RestClient
from falcon_placement_client.commands.command import Lister, Output
from falcon_placement_client.commands.over_rest import NEGATIVE, Call, count, table_text
from falcon_placement_client.comparison import (
    AnnouncedDifference,
    Comparison,
    DifferenceCause,
    KindRow,
    cloud_requests,
    read_log,
)
from falcon_placement_client.errors import RestError
from falcon_placement_client.identity import NamedCloud, adapter_of
from falcon_placement_client.messages import escaped
from falcon_placement_client.progress import progress
from falcon_placement_client.responses import Request

_COLUMNS = ("GET", "requests", "median", "other", "p99", "other p99", "changed", "different")
MAX_CAUSES = 20  # of differences, in the text


class Compare(Lister):
    """Compare the responses of the service with those of another one, such as on a copy of it.

    Only GET requests are sent, one at a time: those of an access log, or requests for objects of
    the cloud. If the service is openstack-placement and the other one is this service, announced
    differences are listed separately. Differences by providers that have changed since the copy was
    made are only counted. The exit code is 3 if there are other differences.
    """

    example = "placement cloud compare http://trial.example.org:8778"
    description = (
        "Only GET requests are sent, one at a time. --url is the running service, such as "
        "openstack-placement, and OTHER is the service to try, on a copy of its database. Exit "
        "code: 0 without a difference that is not announced, 3 with one, 1 for errors."
    )

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("other", metavar="OTHER", help="URL of the other service")
        identity = parser.add_mutually_exclusive_group()
        identity.add_argument(
            "--other-token", metavar="TOKEN", help="for OTHER; default: the identity of the service"
        )
        identity.add_argument(
            "--other-cloud", metavar="NAME", help="cloud of clouds.yaml for OTHER"
        )
        parser.add_argument(
            "--access-log",
            metavar="FILE",
            help="send the GETs of this access log (of the service, uWSGI or httpd; - for standard "
            "input) instead of requests for objects of the cloud",
        )
        parser.add_argument(
            "--requests", type=count, default=1000, help="most requests to send (default: 1000)"
        )
        parser.add_argument("--seed", type=int, default=1, help="selects the requests (default: 1)")
        parser.add_argument(
            "--microversion",
            action="append",
            type=_minor,
            help="of requests, unless the log states one; may be repeated (default: 1.39)",
        )

    def output(self, call: Call) -> Output:
        options = call.options
        minors = options.microversion or [MICROVERSION[1]]
        if options.access_log is None:
            requests = [*islice(cloud_requests(call.api, options.seed, minors), options.requests)]
        else:
            requests = _of_log(options, minors)
        with closing(_other(call)) as other:
            comparison = Comparison(call.api, other)
            with progress("comparing", sys.stderr)(requests, "requests") as shown:
                for request in shown:
                    comparison.send(request)
        rows = comparison.rows()
        code = NEGATIVE if any(row.different for row in rows) else 0
        return Output(KindRow._fields, rows, code, text=_text(rows, comparison.causes()))


def _of_log(options: Any, minors: Sequence[int]) -> list[Request]:
    """Return reads of an access log in their order.  Raises RestError, OSError."""
    path = options.access_log
    with nullcontext(sys.stdin) if path == "-" else open(path, errors="replace") as lines:
        requests = list(read_log(lines, minors))
    if not requests:
        raise RestError(f"{path}: no GET of an access log")
    number = min(options.requests, len(requests))
    chosen = random.Random(options.seed).sample(range(len(requests)), number)
    return [requests[index] for index in sorted(chosen)]


def _other(call: Call) -> RestClient:
    """Return a client of the other service, with the identity of the first unless stated."""
    options = call.options
    if options.other_cloud or options.other_token:
        stated = NamedCloud(options.other_cloud) if options.other_cloud else options.other_token
        return RestClient(options.other, stated)
    if call.manager is None:
        return RestClient(options.other, call.identity)
    return RestClient(None, adapter_of(call.api.adapter.session, url=options.other))


def _minor(text: str) -> int:
    major, _, minor = text.partition(".")
    if major != "1" or not minor.isdecimal() or int(minor) > MICROVERSION[1]:
        raise argparse.ArgumentTypeError(f"{text!r} is no version from 1.0 to 1.{MICROVERSION[1]}")
    return int(minor)


def _text(rows: Sequence[KindRow], causes: Sequence[DifferenceCause]) -> str:
    """Return durations in milliseconds as a table, and the differences by cause."""
    shown = [(*row[:6], row.changed, row.different) for row in rows]
    parts = [table_text(_COLUMNS, shown, numbers=_COLUMNS[1:])]
    announced: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        announced.update({(each.name, *each[2:]): each.requests for each in row.announced})
    if announced:
        parts.append("announced differences:")
        for (name, *texts), number in sorted(announced.items()):
            parts.append(f"  {AnnouncedDifference(name, number, *texts)}")
    for cause in causes[:MAX_CAUSES]:
        parts += ["  ".join(("", escaped(line))) for line in str(cause).split("\n")]
    if len(causes) > MAX_CAUSES:
        parts.append(f"  … {len(causes) - MAX_CAUSES:,} more causes")
    number, changed, different = (
        sum(each) for each in zip(*((row.requests, *row[7:9]) for row in rows), strict=True)
    )
    parts.append(
        f"{number:,} requests: {different:,} with differences that are not announced, "
        f"{changed:,} of providers that have changed"
    )
    return "\n".join(parts)
