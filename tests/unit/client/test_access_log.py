"""The records of requests in a log, in each format that services write."""

from __future__ import annotations

import json
import logging

import pytest
from oslo_context import context
from oslo_log.formatters import JSONFormatter

from falcon_placement_client.access_log import (
    ACCESS,
    LoggedRequest,
    LogRecord,
    read_records,
    request_of,
)

OWN = "req-10000000-0000-4000-8000-000000000001"
GLOBAL = "req-20000000-0000-4000-8000-000000000002"
URI = "/placement/traits?name=in:A,B&associated=true"
MESSAGE = f'192.0.2.1 "GET {URI}" status: 200 len: 17 microversion: 1.36'
NUMBERS = " time: 0.004000 statements: 2"
START = f"2026-11-26 22:20:01.123 42 INFO {ACCESS}"
REQUEST = LoggedRequest("GET", "/placement/traits", "name=in:A,B&associated=true", "200", "1.36")


@pytest.mark.parametrize(
    ("line", "global_id", "message"),
    [
        (f"{START} [None {OWN} admin p - - - -] {MESSAGE}{NUMBERS}\n", None, MESSAGE + NUMBERS),
        (f"{START} [{GLOBAL} {OWN} admin p - - - -] {MESSAGE}", GLOBAL, MESSAGE),
        (f"{START} [{OWN} admin p - - -] {MESSAGE}", None, MESSAGE),
        (f"{START} [{OWN}] {MESSAGE}", None, MESSAGE),
        (f"Nov 26 22:20:01 host placement[42]: {START} [None {OWN} -] {MESSAGE}", None, MESSAGE),
    ],
    ids=["this service", "global id", "one id", "no identity", "syslog"],
)
def test_a_record_is_read_in_the_default_formats(
    line: str, global_id: str | None, message: str
) -> None:
    (record,) = read_records([line])
    assert record == LogRecord(OWN, global_id, ACCESS, message, line.rstrip("\n"))
    assert request_of(record.message) == request_of(line) == REQUEST


def test_a_record_is_read_from_json() -> None:
    record = logging.LogRecord(ACCESS, logging.INFO, "x", 1, f"{MESSAGE}{NUMBERS}", None, None)
    of_request = context.RequestContext(request_id=OWN, global_request_id=GLOBAL, overwrite=False)
    vars(record)["context"] = of_request
    line = f"{JSONFormatter().format(record)}\n"
    (read,) = read_records([line])
    assert read[:4] == (OWN, GLOBAL, ACCESS, f"{MESSAGE}{NUMBERS}")
    assert read.text.endswith(f" INFO {ACCESS} [{OWN}] {MESSAGE}{NUMBERS}")
    assert request_of(read.message) == request_of(line) == REQUEST


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ('- "PUT /a/X" status: 201 len: 0 microversion: 1.6', ("PUT", "/a/X", "", "201", "1.6")),
        ('::1 "GET /" status: 200 len: 2 microversion: -', ("GET", "/", "", "200", None)),
        ('::1 "GET /x?" status: - len: 0 microversion: 2.0', ("GET", "/x", "", "-", "2.0")),
        ('- "GET /x?a="b" status: 400 len: 0', ("GET", "/x", 'a="b', "400", None)),
        (
            '192.0.2.1 - - [26/Nov/2026:22:20:01 +0000] "GET /x?a=b HTTP/1.1" 200 53 "-" "nova"',
            ("GET", "/x", "a=b", "200", None),
        ),
        (
            "[pid: 1|app: 0|req: 1/1] ::1 () {30 vars} [Thu Nov 26] GET /x?a=b => generated 53 "
            "bytes in 3 msecs (HTTP/1.1 200) 6 headers",
            ("GET", "/x", "a=b", "200", None),
        ),
    ],
)
def test_the_parts_of_a_request_are_told_apart(line: str, request_: tuple[object, ...]) -> None:
    assert request_of(line) == (*request_, None)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "Traceback (most recent call last):",
        f"{START} [-] started",
        "{not json",
        "{}",
        json.dumps({"context": {}, "name": "x"}),
        json.dumps({"context": []}),
        json.dumps(
            {
                "asctime": "", "levelname": "INFO", "name": "x", "message": "started",
                "context": {"request_id": None, "global_request_id": None},
            }
        ),
    ],
)  # fmt: skip
def test_a_line_of_no_request_is_skipped(line: str) -> None:
    assert list(read_records([line])) == []
