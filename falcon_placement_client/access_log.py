"""The log of a placement service: the records of requests, and the requests of access logs.

Records have the default format of oslo.log, also after the prefix of syslog, or are JSON lines
(`[DEFAULT] use_json`). openstack-placement writes the same records. Requests are also read from the
access logs of uWSGI and httpd (common or combined).
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

ACCESS = "placement.requestlog"  # logger of the access log

# Old releases of oslo.log write only one id. PERF: only words are tried as loggers, not their ends,
# because a query can be very long.
_LINE = re.compile(
    r"(?<!\S)(?P<logger>[\w.]+) \[(?:(?P<global_id>None|-|req-\S+) )?(?P<id>req-\S+)(?: [^]]*)?\] "
    r"(?P<message>.*)"
)
# JSON lines have a backslash before the quotation mark.
_REQUEST = re.compile(
    r"\b(?P<method>[A-Z]+) (?P<path>/[^\s?\"\\]*)(?:\?(?P<query>\S*?))?(?: HTTP/[\d.]+)?"
    r'(?:\\?" (?:status: )?(?P<status>\d{3}\b|-)'
    r"| => generated .{,60}?\(HTTP/[\d.]+ (?P<uwsgi>\d{3})\))"
    r"(?:.*\bmicroversion: (?P<version>[\d.]+)(?:.*\bcandidates: (?P<candidates>\d+))?)?"
)


class LogRecord(NamedTuple):
    """A line of the log that belongs to a request."""

    # Id of the request, which its response contains.
    request_id: str
    # Id that the client has sent, such as that of nova's request, or None.
    global_id: str | None
    logger: str
    message: str
    # The line, or its most important members if it is JSON.
    text: str


class LoggedRequest(NamedTuple):
    """A request of an access log, which does not contain its body."""

    method: str
    # The quoted path, with the prefix of the service, such as `/placement`.
    path: str
    query: str
    # `-` if the client has received no response.
    status: str
    # The microversion. None if none was negotiated, or if the log does not contain it.
    version: str | None
    # Number of candidates in the response to a search. None if the log does not contain it.
    candidates: int | None = None


def read_records(lines: Iterable[str]) -> Iterator[LogRecord]:
    """Yield the records of requests. Other lines are skipped."""
    for line in lines:
        record = _from_json(line) if line.startswith("{") else _from_text(line.rstrip("\n"))
        if record is not None:
            yield record


def request_of(line: str) -> LoggedRequest | None:
    """Return the request in a line of an access log, or in the message of a record, or None."""
    match = _REQUEST.search(line)
    if match is None:
        return None
    status = match["status"] or match["uwsgi"]
    count = match["candidates"]
    return LoggedRequest(
        match["method"],
        match["path"],
        match["query"] or "",
        status,
        match["version"],
        None if count is None else int(count),
    )


def _from_text(line: str) -> LogRecord | None:
    match = _LINE.search(line)
    if match is None:
        return None
    global_id = match["global_id"] if (match["global_id"] or "").startswith("req-") else None
    return LogRecord(match["id"], global_id, match["logger"], match["message"], line)


def _from_json(line: str) -> LogRecord | None:
    try:
        members: Any = json.loads(line)
        context = members["context"]
        request_id, global_id = context["request_id"], context["global_request_id"]
        logger, message = members["name"], members["message"]
        text = f"{members['asctime']} {members['levelname']} {logger} [{request_id}] {message}"
    except (ValueError, KeyError, TypeError):
        return None
    return LogRecord(request_id, global_id, logger, message, text) if request_id else None
