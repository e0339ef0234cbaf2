"""What is read from access logs, and what counts as a difference of two responses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from falcon_placement_client.announced import PAGE, READS
from falcon_placement_client.comparison import read_log
from falcon_placement_client.responses import Request, ServerResponse, differences

UUID = "5ca1ab1e-0000-4000-8000-00000000000a"
REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("line", "requests"),
    [
        (
            "2026-11-26 22:30:01.123 7 INFO placement.access [req-1 - - -] 10.0.0.1 "
            f'"GET /resource_providers/{UUID}/usages" status: 200 len: 9 microversion: 1.19 '
            "time: 0.002000 statements: 2",
            [Request("GET", f"/resource_providers/{UUID}/usages", 19)],
        ),
        (
            '{"message": "10.0.0.1 \\"GET /placement/traits?name=in:A,B\\" status: 200 len: 9 '
            'microversion: 1.6 time: 0.002 statements: 1"}',
            [Request("GET", "/traits", 6, "name=in:A,B")],
        ),
        (
            "[pid: 7|app: 0|req: 1/1] 10.0.0.1 () {40 vars in 600 bytes} [Thu Nov 26 22:30:01 "
            "2026] GET /placement/allocation_candidates?resources=VCPU%3A1&limit=1000 => "
            "generated 99 bytes in 8 msecs (HTTP/1.1 200) 9 headers in 300 bytes (1 switches on "
            "core 0)",
            [
                Request("GET", "/allocation_candidates", each, "resources=VCPU%3A1&limit=1000")
                for each in (36, 39)
            ],
        ),
        (
            f'10.0.0.1 - - [26/Nov/2026:22:30:01 +0000] "GET /allocations/{UUID} HTTP/1.1" 200 '
            '99 "-" "nova-compute keystoneauth1/5.8"',
            [Request("GET", f"/allocations/{UUID}", each) for each in (36, 39)],
        ),
        ('10.0.0.1 "GET /consumers" status: 200 len: 9 microversion: 2.0 time: 0.1', []),
        ('10.0.0.1 "GET /traits" status: 200 len: 9 microversion: 2.0 time: 0.1', []),
        ('10.0.0.1 "PUT /traits/CUSTOM_A" status: 201 len: 0 microversion: 1.6', []),
        ('slow: "GET /traits" took 2.000 s and 3 statements: search 1.9', []),
        ('10.0.0.1 "GET /healthcheck" status: 200 len: 2 microversion: -', []),
        ("unexpected error in GET /traits", []),
    ],
)
def test_reads_in_a_line(line: str, requests: list[Request]) -> None:
    assert list(read_log([line], [36, 39])) == requests


def response(body: Any, status: int = 200, **headers: str) -> ServerResponse:
    always = {
        "content-type": "application/json",
        "openstack-api-version": "placement 1.39",
        "vary": "OpenStack-API-Version",
        "x-openstack-request-id": "req-1",
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ServerResponse(status, always | named, json.dumps(body).encode())


LIST = Request("GET", "/traits", 39)


def test_the_order_of_lists_and_what_proxies_add_do_not_differ() -> None:
    one = response({"a": [{"x": 1, "y": [1, 2]}, 3]}, server="gunicorn")
    other = response(
        {"a": [3, {"y": [2, 1], "x": 1}]},
        vary="Accept-Encoding, openstack-api-version",
        content_type="application/json; charset=UTF-8",
        x_openstack_request_id="req-2",
    )
    assert differences(LIST, one, other) == {}


def error(detail: str, code: str = "placement.undefined_code") -> ServerResponse:
    fields = {"status": 404, "title": "Not Found", "code": code, "detail": detail}
    return response({"errors": [{**fields, "request_id": "req-1"}]}, 404)


def test_errors_may_have_other_words_but_not_other_codes_and_phrases() -> None:
    one, other = error("No such trait: A."), error("The resource could not be found: A")
    assert differences(LIST, one, other) == {}
    assert differences(LIST, one, error("x", "placement.other")).keys() == {"code"}
    phrase = error("No resource provider with uuid A found")
    assert differences(LIST, one, phrase).keys() == {"phrases"}


def test_candidates_of_a_limit_are_compared_by_their_number() -> None:
    request = Request("GET", "/allocation_candidates", 39, "resources=VCPU:1&limit=1")
    lists: list[list[Any]] = [[{"allocations": {"a": 1}}], [{"allocations": {"b": 1}}], [{}, {}]]
    one, other, two = (
        response({"allocation_requests": found, "provider_summaries": {}}) for found in lists
    )
    assert differences(request, one, other) == {}
    assert differences(request, one, two).keys() == {"body"}
    unlimited = Request("GET", "/allocation_candidates", 39, "resources=VCPU:1")
    assert differences(unlimited, one, other).keys() == {"body"}


def test_each_announced_difference_is_below_a_heading_of_its_page() -> None:
    lines = (REPOSITORY / PAGE).read_text().splitlines()
    headings = {line for line, below in itertools.pairwise(lines) if below == "=" * len(line)}
    assert {row.section for row in READS} <= headings
    assert len({row.name for row in READS}) == len(READS)
