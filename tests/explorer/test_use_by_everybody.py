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
        "tree of a part of a name": "#tree/d01",
        "ask": "#ask",
        "ask with an explanation": f"#ask?request={quote(json.dumps(REQUEST))}",
        "consumer": f"#consumer/{demo.consumers[0]}",
        "project": "#consumer?project=web",
        "consumers": "#consumer",
    }


NAMES = (
    "cloud", "cloud as a list", "tree", "tree without a name", "tree of a part of a name", "ask",
    "ask with an explanation", "consumer", "project", "consumers",
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


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, "wide") for name in NAMES),
        ("tree", "narrow"),
        ("ask with an explanation", "narrow"),
    ],
)
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
        "moves": [{
            "consumer": moving, "from": [host], "to": [other], "request": "derived",
            "body": {"allocations": {other: {"resources": {"VCPU": 8, "MEMORY_MB": 4096}}}},
        }],
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
    expect(page.get_by_role("button", name="Copy as curl")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("group", name="Consumers that cannot move")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name=demo.consumers[1])).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("group", name="Hosts that would take consumers")).to_be_focused()
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


def test_the_skip_link_leads_to_the_content_of_the_same_view(watch: Watch) -> None:
    page = watch.open("#ask")
    settle(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()
    assert page.url.endswith("#ask")


def test_a_link_of_a_view_moves_the_focus_to_the_next_view(watch: Watch) -> None:
    page = watch.open("#consumer")
    settle(page)
    page.locator("tbody a").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=2)).to_contain_text("INSTANCE")
    expect(page.get_by_role("main")).to_be_focused()


JOINED = {
    "groups": {
        "": {"resources": {"VCPU": 1, "MEMORY_MB": 512}},
        "_A": {"resources": {"PCPU": 1}, "required": ["HW_CPU_X86_AVX2"]},
        "_B": {"resources": {"FPGA": 1}},
    },
    "same_subtree": [{"of": ["_A", "_B"], "not": []}],
}


@pytest.mark.parametrize(
    ("button", "focused"),
    [
        ("Remove VCPU", "Remove MEMORY_MB"),
        ("Remove group _A", "Add a group"),
        ("Remove HW_CPU_X86_AVX2", "Required traits: add"),
    ],
)
def test_the_focus_stays_nearby_when_a_part_of_the_form_is_removed(
    watch: Watch, button: str, focused: str
) -> None:
    page = watch.open(f"#ask?request={quote(json.dumps(JOINED))}")
    settle(page)
    page.get_by_role("button", name=button, exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=button, exact=True)).to_have_count(0)
    control = page.locator("*:focus")
    expect(control).to_have_accessible_name(focused)


def test_the_focus_moves_to_what_is_added_to_the_form(watch: Watch) -> None:
    page = watch.open(f"#ask?request={quote(json.dumps(JOINED))}")
    settle(page)
    group = page.get_by_role("group", name="Group _B", exact=True).first
    group.get_by_role("button", name="Add a resource").focus()
    page.keyboard.press("Enter")
    expect(group.get_by_label("Resource class").last).to_be_focused()
    page.keyboard.type("VGPU")
    page.keyboard.press("Tab")  # draws the form again
    expect(group.get_by_label("Amount of VGPU")).to_be_focused()
    page.get_by_role("button", name="Add a group").focus()
    page.keyboard.press("Enter")
    expect(page.locator("*:focus")).to_have_value("_1")


def test_the_focus_moves_to_the_first_of_more_rows(watch: Watch) -> None:
    page = watch.open("#consumer")
    settle(page)
    page.get_by_role("button", name="Show more").focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr").nth(50).get_by_role("link").first).to_be_focused()


def test_a_refresh_of_the_list_keeps_the_focus_on_its_host(watch: Watch) -> None:
    page = watch.open("#cloud?as=list")
    settle(page)
    link = page.get_by_role("link", name="gpu-a01", exact=True)
    link.focus()
    with page.expect_response(lambda answer: "include=" in answer.url):
        # A click would move the focus.
        page.get_by_role("button", name="Refresh").evaluate("element => element.click()")
    settle(page)
    expect(link).to_be_focused()


def test_a_press_on_a_small_screen_shows_the_result(open_watch: Open) -> None:
    watch = open_watch("narrow")
    page = watch.open("#ask")
    settle(page)
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.get_by_role("heading", name=re.compile("^[0-9]+ candidates"))).to_be_in_viewport()
    watch.allowed = ("status of 400",)
    page.get_by_label("Resource class").last.fill("NO_SUCH")
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.get_by_role("alert").get_by_role("heading")).to_be_in_viewport()


def respond(page: Page, path: str, body: object) -> None:
    """Respond to requests of a path with this body."""
    page.route(f"**/{path}", lambda route: route.fulfill(json=body))


LONG = "n" * 200
ROOT = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize("place", [f"#tree/{ROOT}", "#consumer?project=p", "#cloud", "#ask"])
def test_long_names_do_not_widen_the_page(open_watch: Open, place: str) -> None:
    watch = open_watch("narrow")
    inventory = {"total": 9, "reserved": 0, "allocation_ratio": 1, "min_unit": 1, "max_unit": 9,
                 "step_size": 1}  # fmt: skip
    host = {"uuid": ROOT, "name": LONG, "generation": 1, "root_provider_uuid": ROOT,
            "parent_provider_uuid": None, "inventories": {LONG.upper(): inventory},
            "usages": {}, "traits": [LONG.upper()], "aggregates": [ROOT]}  # fmt: skip
    consumer = {"uuid": ROOT, "project_id": LONG, "user_id": LONG, "consumer_type": LONG.upper(),
                "allocations": {ROOT: {"resources": {LONG.upper(): 1}}}}  # fmt: skip
    for path, body in {
        "resource_providers?*": {"resource_providers": [host]},
        "rollup": {"sharing": {}},
        "usages?*": {"usages": {LONG.upper(): {"consumer_count": 1, LONG.upper(): 1}}},
        "consumers?*": {"consumers": [consumer]},
    }.items():
        respond(watch.page, path, body)
    suffixes = [f"_{'W' * 40}_{number}" for number in (1, 2)]
    request = {
        "groups": {suffix: {"resources": {"VCPU": 1}} for suffix in suffixes},
        "same_subtree": [{"of": suffixes, "not": []}],
    }
    page = watch.open(f"{place}?request={quote(json.dumps(request))}" if place == "#ask" else place)
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if place == "#cloud":
        table = page.get_by_role("group", name="Totals by class")
        assert table.evaluate("element => element.scrollWidth <= element.clientWidth")
    if place == "#ask":  # suffixes often differ at their ends
        expect(page.locator(".node text")).to_have_text(suffixes)


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


def test_the_options_of_the_map_are_folded_on_a_small_screen(open_watch: Open) -> None:
    page = open_watch("narrow").open("#cloud")
    settle(page)
    expect(page.get_by_role("application")).to_be_in_viewport()
    expect(page.get_by_label("Coloured by")).to_be_hidden()
    page.get_by_text("Options", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("Coloured by").select_option("VCPU")
    expect(page).to_have_url(re.compile("class=VCPU"))
    assert_usable(page)
    page.get_by_text("Options", exact=True).click()
    page.set_viewport_size({"width": 1280, "height": 860})  # the screen was turned
    expect(page.get_by_label("Coloured by")).to_be_visible()
    expect(page.get_by_text("Options", exact=True)).to_be_hidden()
