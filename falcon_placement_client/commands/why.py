"""The command `placement-manage why`, which finds the reason of a request in the log."""

import fileinput
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from falcon_placement_client.access_log import (
    ACCESS,
    LoggedRequest,
    LogRecord,
    read_records,
    request_of,
)
from falcon_placement_client.commands.command import Command
from falcon_placement_client.commands.explanation import print_explanation
from falcon_placement_client.commands.over_rest import Call
from falcon_placement_client.errors import RestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.messages import escaped
from falcon_placement_client.query import parse_query

SEARCH = "/allocation_candidates"
EMPTY = "no candidates for "  # the service logs the body of a request only in these lines


class _Found(NamedTuple):
    """A request with its records, in the order of the log."""

    records: list[LogRecord]
    # None if the access line is missing, for example after a rotation of the log.
    request: LoggedRequest | None

    @property
    def searches(self) -> bool:
        """Whether it is a search that the service has not refused as invalid."""
        if self.request is None:
            return any(record.message.startswith(EMPTY) for record in self.records)
        return self.request.path.endswith(SEARCH) and not self.request.status.startswith("4")


class Why(Command):
    """Show what the log contains about a request, and explain the request today."""

    description = (
        "REQUEST-ID is the id in a response of the service, or the id that its client has sent, "
        "such as that of nova's request. Exit code: 0 if a host can serve the request today, 3 if "
        "none, 1 for errors."
    )
    needs_v2 = "an explanation"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("request_id", metavar="REQUEST-ID", help="such as req-…")
        parser.add_argument(
            "log", metavar="FILE", nargs="*", help="log of the service; default: standard input"
        )

    def run(self, call: Call) -> int:
        sought = call.options.request_id
        files = call.options.log or ["-"]
        with fileinput.input(files, encoding="utf-8", errors="replace") as lines:
            # PERF: most lines of a large log belong to other requests.
            found = _find(read_records(line for line in lines if sought in line), sought)
        if not found:
            raise RestError(f"no line of the log belongs to the request {sought}")
        code = 0
        for each in found:
            for record in each.records:
                call.print(escaped(record.text))
            for request in _requests(each) if each.searches else ():
                call.print(f"\nThe request today: {json.dumps(request)}\n")
                code = max(code, print_explanation(call, request, "summary"))
        return code


def _find(records: Iterable[LogRecord], sought: str) -> list[_Found]:
    """Return the requests with an id, each with its records."""
    found: dict[str, list[LogRecord]] = {}
    for record in records:
        if sought in (record.request_id, record.global_id):
            found.setdefault(record.request_id, []).append(record)
    return [_Found(each, _request_of(each)) for each in found.values()]


def _request_of(records: Iterable[LogRecord]) -> LoggedRequest | None:
    requests = (request_of(record.message) for record in records if record.logger == ACCESS)
    return next(filter(None, requests), None)


def _requests(found: _Found) -> Sequence[JsonRequest]:
    """Return the candidate requests of a search.

    Raises:
        RequestError: a query is invalid.
        RestError: the log does not contain the request.
    """
    if found.request is not None and found.request.method == "GET":
        return [parse_query(found.request.query)]
    lines = (each.message for each in found.records if each.message.startswith(EMPTY))
    asked = next(lines, "").removeprefix(EMPTY)
    if asked and not asked.startswith("{"):
        return [parse_query(asked.partition(": ")[0])]
    try:
        body: Any = json.JSONDecoder().raw_decode(asked)[0]
    except ValueError:
        raise RestError("the log does not contain the complete body of this request") from None
    requests: Sequence[JsonRequest] = body.get("first_available", [body])
    return requests
