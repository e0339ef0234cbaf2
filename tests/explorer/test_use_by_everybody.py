"""Keyboard alone, screen readers, small screens, both themes."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.explorer.browser import Watch
from tests.explorer.cloud import Demo
from tests.explorer.conftest import Open

# A request without candidates; the response is an explanation.
REQUEST = {
    "groups": {
        "": {"resources": {"VCPU": 2}, "required": ["HW_CPU_X86_SGX"]},
        "_NIC": {"resources": {"SRIOV_NET_VF": 1}},
        "_NUMA": {"required": ["HW_NUMA_ROOT"]},
    },
    "same_subtree": [{"of": ["_NIC", "_NUMA"], "not": []}],
    "isolate": ["_NIC"],
    "tolerate": ["COMPUTE_NODE"],
    "order": [{"by": "free", "resource_class": "VCPU", "first": "least"}],
}


def places(demo: Demo) -> dict[str, str]:
    """Return each view in a state that has something to show."""
    return {
        "cloud": "",
        "cloud as a list": "#cloud?as=list",
        "tree": f"#tree/{demo.provider('numa-d01')}",
        "tree without a name": "#tree",
        "ask": "#ask",
        "ask with an explanation": f"#ask?request={quote(json.dumps(REQUEST))}",
        "consumer": f"#consumer/{demo.consumers[0]}",
        "project": "#consumer?project=web",
        "consumers": "#consumer",
    }


NAMES = (
    "cloud", "cloud as a list", "tree", "tree without a name", "ask", "ask with an explanation",
    "consumer", "project", "consumers",
)  # fmt: skip


def settle(page: Page) -> None:
    page.wait_for_load_state("networkidle")
    expect(page.locator(".state progress:visible")).to_have_count(0)


# The rules of axe about colours, which are all that differs between the themes.
OF_COLOURS = ("color-contrast", "link-in-text-block")


def faults(page: Page, *rules: str) -> list[tuple[str, list[str]]]:
    """Return the rules of axe that a page breaks, of all or these, with the elements."""
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    violations = Axe().run(page, options=options).response["violations"]
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations]


def assert_usable(page: Page) -> None:
    """Assert that a page has no fault in either theme, and is not wider than the screen."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert faults(page, *OF_COLOURS) == []


@pytest.mark.parametrize("size", ["wide", "narrow"])
@pytest.mark.parametrize("name", NAMES)
def test_a_view_has_no_fault_that_axe_knows(
    open_watch: Open, demo: Demo, name: str, size: str
) -> None:
    page = open_watch(size).open(places(demo)[name])
    settle(page)
    assert_usable(page)


def open_departure(watch: Watch, demo: Demo) -> Page:
    """Return the page of a host whose departure has been simulated, by the keyboard alone.

    One consumer moves, one cannot move and one is undecided, so that every part is shown.
    """
    host, other = demo.provider("compute-a01"), demo.provider("compute-a02")
    moving, stuck, undecided = demo.consumers[:3]
    plan = {
        "fits": None, "claims": [], "complete": False, "undecided": [undecided],
        "moves": [{"consumer": moving, "from": [host], "to": [other], "request": "derived"}],
        "unplaceable": [{
            "consumer": stuck, "code": "capacity", "text": "No room.", "request": "remembered",
        }],
    }  # fmt: skip
    watch.page.route("**/simulations", lambda route: route.fulfill(json=plan))
    page = watch.open(f"#tree/{host}")
    settle(page)
    page.get_by_role("button", name="What if this host goes?").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".departure h2")).to_have_text("1 consumer undecided")
    settle(page)
    return page


@pytest.mark.parametrize(
    "name", ["cloud", "cloud as a list", "ask with an explanation", "consumers"]
)
def test_a_table_on_a_small_screen_shows_all_columns_without_scrolling(
    open_watch: Open, demo: Demo, name: str
) -> None:
    page = open_watch("narrow").open(places(demo)[name])
    settle(page)
    assert_whole(page)


def test_a_departure_on_a_small_screen_shows_all_columns(open_watch: Open, demo: Demo) -> None:
    assert_whole(open_departure(open_watch("narrow"), demo))


def assert_whole(page: Page) -> None:
    """Assert that no table is wider than its place, and that cells state their columns."""
    tables = page.locator(".scroll:has(table)")
    expect(tables.first).to_be_visible()
    for each in tables.all():
        assert each.evaluate("element => element.scrollWidth <= element.clientWidth")
    script = "element => getComputedStyle(element, '::before').content"
    cell = tables.first.locator("td").first
    assert cell.get_attribute("data-title")
    assert cell.evaluate(script).startswith('"')


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_a_departure_has_no_fault_that_axe_knows(open_watch: Open, demo: Demo, size: str) -> None:
    assert_usable(open_departure(open_watch(size), demo))


def test_the_keyboard_alone_leads_through_a_departure(watch: Watch, demo: Demo) -> None:
    """Focus stays on the button; Tab leads to both tables, which scroll, and to their links."""
    page = open_departure(watch, demo)
    button = page.get_by_role("button", name="What if this host goes?")
    expect(button).to_be_focused()
    expect(button).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.get_by_role("group", name="Cannot move")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name=demo.consumers[1])).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("group", name="Would move")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(".departure").get_by_role("link", name="compute-a02")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="compute-a02", level=1)).to_be_visible()


def test_the_keyboard_alone_leads_from_the_map_to_a_consumer(watch: Watch) -> None:
    page = watch.open()
    settle(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".detail strong")).to_have_text("compute-a02")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    expect(page.locator(".detail strong")).to_have_text("compute-a01")
    page.keyboard.press("Enter")
    consumer = page.locator(".consumers button").first
    consumer.focus()
    page.keyboard.press("Enter")
    expect(consumer).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="All that it holds").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Consumer", exact=True)).to_be_visible()


def test_the_keyboard_alone_joins_two_groups(watch: Watch) -> None:
    request = {"groups": {"_A": {"resources": {"PCPU": 1}}, "_B": {"resources": {"FPGA": 1}}}}
    page = watch.open(f"#ask?request={quote(json.dumps(request))}")
    settle(page)
    page.locator(".node[data-suffix=_A]").focus()
    page.keyboard.press("Enter")
    page.locator(".node[data-suffix=_B]").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".rules li")).to_have_count(1)


def test_every_control_can_be_reached_with_tab(watch: Watch) -> None:
    page = watch.open("#ask")
    settle(page)
    kinds = ("a[href]", "button", "input", "select", "summary")
    controls = page.locator(", ".join(f"{kind}:visible" for kind in kinds)).count()
    focused = "[...document.querySelectorAll('*')].indexOf(document.activeElement)"
    reached = set()
    for _ in range(controls + 10):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(focused))
    assert len(reached) >= controls


def test_an_address_shows_the_same_to_another_user(open_watch: Open, watch: Watch) -> None:
    page = watch.open()
    settle(page)
    page.get_by_label("Coloured by").select_option("DISK_GB")
    page.get_by_label("Grouped by").select_option("aggregate")
    expect(page).to_have_url(re.compile("class=DISK_GB.*group=aggregate"))
    place = page.url.partition("/explorer/")[2]
    other = open_watch().open(place)
    settle(other)
    expect(other.get_by_label("Coloured by")).to_have_value("DISK_GB")
    expect(other.get_by_label("Grouped by")).to_have_value("aggregate")
