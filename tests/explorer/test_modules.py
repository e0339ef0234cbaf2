"""The modules of the page without elements: forms of requests, and capacity of inventories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from falcon_placement_client.errors import RequestError
from falcon_placement_client.flavors import flavor_of_request
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.query import parse_query, query_of
from placement.candidates.model import Refusal
from placement.inventory import Stock, capacity, fits
from tests.explorer.browser import watched
from tests.explorer.cloud import Demo
from tests.kit.engines import share
from tests.unit.client.any_request import json_requests

EXAMPLES = settings(
    max_examples=share(200), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def page(browser: Browser, demo: Demo) -> Iterator[Page]:
    """A page that all tests share: they change nothing of it."""
    with watched(browser, demo.url) as watch:
        yield watch.open()


def call(page: Page, module: str, function: str, *arguments: Any) -> Any:
    """Call a function of one of the page's modules, in the browser."""
    script = """async ([module, name, given]) => (await import(module))[name](...given)"""
    return page.evaluate(script, [f"./js/{module}.js", function, list(arguments)])


def canonical(request: Any) -> JsonRequest:
    """Return a request after its conversion to a query and back."""
    return parse_query(query_of(request))


@EXAMPLES
@given(request=json_requests())
def test_the_page_writes_queries_that_say_the_same(page: Page, request: Any) -> None:
    assert parse_query(call(page, "request", "toQuery", request)) == canonical(request)


@EXAMPLES
@given(request=json_requests())
def test_the_page_reads_queries_as_the_clients_do(page: Page, request: Any) -> None:
    assert canonical(call(page, "request", "parse", query_of(request))) == canonical(request)


@EXAMPLES
@given(request=json_requests())
def test_the_page_reads_flavors_as_the_clients_do(page: Page, request: Any) -> None:
    try:
        flavor = flavor_of_request(request)
    except RequestError:  # a flavor cannot say it
        return
    text = "\n".join(f"{key}={value}" for key, value in flavor.items())
    parsed = call(page, "request", "parse", text)
    assert canonical(parsed) == canonical(request)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("groups._NIC.required[0]", ["groups", "_NIC", "required", 0]),
        ('groups[""].resources.VCPU', ["groups", "", "resources", "VCPU"]),
        ("groups.1.member_of[1]", ["groups", "1", "member_of", 1]),
        ("isolate[0]", ["isolate", 0]),
        ("root.required[2]", ["root", "required", 2]),
        ("group_policy", ["group_policy"]),
    ],
)
def test_a_path_of_a_request_is_taken_apart(page: Page, path: str, steps: list[object]) -> None:
    assert call(page, "request", "steps", path) == steps


AMOUNTS = st.integers(1, 40)


@EXAMPLES
@given(
    total=AMOUNTS, reserved=st.integers(0, 10), ratio=st.sampled_from([1.0, 1.5, 0.3, 16.0]),
    used=st.integers(0, 60), units=st.tuples(AMOUNTS, AMOUNTS, st.integers(1, 7)),
)  # fmt: skip
def test_the_largest_free_piece_is_what_the_service_would_give(
    page: Page, total: int, reserved: int, ratio: float, used: int, units: tuple[int, int, int]
) -> None:
    least, most, step = units
    stock = Stock(capacity(total, reserved, ratio), used, least, most, step)
    inventory = {
        "total": total, "reserved": reserved, "allocation_ratio": ratio,
        "min_unit": least, "max_unit": most, "step_size": step,
    }  # fmt: skip
    pieces = [amount for amount in range(1, 41) if fits(stock, amount)]
    assert call(page, "capacity", "largest", inventory, used) == max(pieces, default=0)


def test_each_code_of_a_condition_has_words_for_the_hosts_that_it_leaves(page: Page) -> None:
    """The database filters hosts before any condition of an explanation."""
    for code in set(Refusal) - {Refusal.FILTERED}:
        words = call(page, "explanation_words", "left", {"code": code, "meaning": code.meaning})
        assert not words.startswith("after the condition")


@pytest.mark.parametrize(
    ("shares", "top"),
    [([], 0.05), ([0, 0.01], 0.05), ([0.3, None], 0.3), ([0.51], 0.55), ([0.96], 1), ([1.5], 1)],
)
def test_the_scale_of_colours_ends_at_the_largest_value(
    page: Page, shares: list[float | None], top: float
) -> None:
    assert call(page, "colours", "topOf", shares) == pytest.approx(top)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"), (0.5, "0.5"), (-1, "-1"), (None, ""), ("a b", "a b"), ('a"b', '"a""b"'),
        ("a,b", '"a,b"'), ("a\nb", '"a\nb"'), ("=1+1", "'=1+1"), ("@x", "'@x"), ("-x", "'-x"),
    ],
)  # fmt: skip
def test_a_cell_of_csv_is_quoted_and_is_no_formula(page: Page, value: object, text: str) -> None:
    rows = [{"a": value}, {"b": 1}]
    assert call(page, "exports", "csv", rows) == f"a,b\r\n{text},\r\n,1\r\n"


MOST_USED = """async (hosts) => {
  const { Cloud } = await import("./js/cloud_model.js");
  const cloud = new Cloud();
  const inventory = {total: 10, reserved: 0, allocation_ratio: 1};
  for (const [uuid, used] of Object.entries(hosts)) {
    const stocks = Object.entries(used).map(([name, used]) => ({name, used, inventory}));
    cloud.trees.set(uuid, [{uuid, stocks}]);
  }
  return cloud.mostUsed();
}"""


@pytest.mark.parametrize(
    ("hosts", "name"),
    [
        ([{"PCPU": 10}, {"VCPU": 1}, {"VCPU": 1}], "VCPU"),  # most use it, though not much of it
        ([{"CUSTOM_A": 1, "VCPU": 0}, {"CUSTOM_A": 1, "VCPU": 9}], "CUSTOM_A"),
        ([{"DISK_GB": 0, "VCPU": 0}, {"DISK_GB": 0}], "DISK_GB"),  # none is used, most have it
        ([], ""),
    ],
)
def test_the_map_begins_with_the_class_that_most_hosts_use(
    page: Page, hosts: list[dict[str, int]], name: str
) -> None:
    assert page.evaluate(MOST_USED, {str(key): used for key, used in enumerate(hosts)}) == name
