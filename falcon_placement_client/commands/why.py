"""The command `placement-manage why`, which finds the reason of a request in the log."""

import fileinput
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from falcon_placement_client.access_log import (
    ACCESS,
    LoggedRequest,
    LogRecord,
    read_records,
    request_of,
)
from falcon_placement_client.candidates import request_explanation
from falcon_placement_client.commands.command import Command
from falcon_placement_client.commands.explanation import print_explanation
from falcon_placement_client.commands.over_rest import NEGATIVE, Call
from falcon_placement_client.errors import RestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.messages import escaped
from falcon_placement_client.query import parse_query
from falcon_placement_client.terms import is_uuid

SEARCH = "/allocation_candidates"
EMPTY = "no candidates for "  # the service logs the body of a request only in these lines
OF_CLAIM = f"{EMPTY}consumer "  # a claim without candidates, whose request is not logged


class _Found(NamedTuple):
    """A request with its records, in the order of the log."""

    records: list[LogRecord]
    # None if the access line is missing, for example after a rotation of the log.
    request: LoggedRequest | None

    @property
    def searches(self) -> bool:
        """Whether it is a search."""
        if self.request is None:
            return bool(self.empty)
        return self.request.path.endswith(SEARCH)

    @property
    def empty(self) -> str:
        """The message about an empty response, or an empty text."""
        empty = (each.message for each in self.records if each.message.startswith(EMPTY))
        return next((each for each in empty if not each.startswith(OF_CLAIM)), "")


class Why(Command):
    """Show what the log contains about a request, and explain the request today."""

    description = (
        "REQUEST-ID is the id in a response of the service, or the id that its client has sent, "
        "such as that of nova's request. Exit code: 3 if a search was refused, or was empty and no "
        "host can serve it today, or if a claim had no candidate; 1 for errors; else 0."
    )
    needs_v2 = "an explanation"

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("request_id", metavar="REQUEST-ID", help="such as req-…")
        parser.add_argument(
            "log",
            metavar="FILE",
            nargs="*",
            default=[],  # argparse would otherwise list the argument as required
            help="log of the service; default: standard input",
        )

    def run(self, call: Call) -> int:
        sought = call.options.request_id
        if is_uuid(sought):
            sought = f"req-{sought}"
        files = call.options.log or ["-"]
        with fileinput.input(files, encoding="utf-8", errors="replace") as lines:
            # PERF: most lines of a large log belong to other requests.
            found = _find(read_records(line for line in lines if sought in line), sought)
        if not found:
            raise RestError(
                f"no line of the log belongs to the request {sought}: the level of the log must be "
                "INFO, and the line may be in an older file or in the log of another server"
            )
        code = 0
        for each in found:
            for record in each.records:
                call.print(escaped(unquote(record.text)))
            if any(record.message.startswith(OF_CLAIM) for record in each.records):
                code = NEGATIVE
                call.print(
                    "\nThe log does not contain the request of this claim: run explain with it."
                )
            elif each.searches:
                code = max(code, _explain(call, each))
        return code


def _explain(call: Call, found: _Found) -> int:
    """Print what a search found then, and its explanation today. Return the exit code."""
    logged = found.request
    if logged is not None and logged.status.startswith("4"):
        return NEGATIVE  # the lines contain the reason
    served = logged.candidates if logged is not None else None
    if served:
        returned = "1 candidate was" if served == 1 else f"{served:,} candidates were"
        call.print(f"\nThen, {returned} returned. If nova found no valid host, see its filters.")
        if logged is not None and logged.method != "GET":
            return 0  # the log contains no body
    code = 0
    for request in _requests(found):
        call.print(f"\nThe request today: {json.dumps(request)}\n")
        if served:
            text = request_explanation(call.api, request, "summary")["text"]
            call.print(escaped(text.partition(". ")[0].rstrip(".") + "."))
            continue
        hosts = print_explanation(call, request, "summary")
        if hosts and (found.empty or served == 0):
            can = "1 host can" if hosts == 1 else f"{hosts:,} hosts can"
            call.print(f"\nThen, no host could serve it; today, {can}.")
        code = max(code, 0 if hosts else NEGATIVE)
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
    asked = found.empty.removeprefix(EMPTY)
    if asked and not asked.startswith("{"):
        return [parse_query(asked.partition(": ")[0])]
    try:
        body: Any = json.JSONDecoder().raw_decode(asked)[0]
    except (ValueError, RecursionError):
        body = None
    requests: Any = body.get("first_available", [body]) if isinstance(body, dict) else []
    # Anyone who can write to the log may have written these lines.
    if not isinstance(requests, list) or not requests or not all(map(_is_request, requests)):
        raise RestError("the log does not contain the complete body of this request")
    return requests


def _is_request(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("groups"), dict)
