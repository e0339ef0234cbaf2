"""Each view, used with the demonstration cloud."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, Response, Route, expect

from tests.explorer.browser import Watch
from tests.explorer.cloud import Demo
from tests.explorer.conftest import Open

SMALL = {"groups": {"": {"resources": {"VCPU": 2, "MEMORY_MB": 4096}}}, "limit": 5}
NUMA = {
    "groups": {
        "_CPU": {"resources": {"PCPU": 4}},
        "_FPGA": {"resources": {"FPGA": 1}},
        "_NUMA": {"required": ["HW_NUMA_ROOT"]},
    },
    "same_subtree": [{"of": ["_NUMA", "_CPU", "_FPGA"], "not": []}],
}


def asking(request: object) -> str:
    return f"#ask?request={quote(json.dumps(request))}"


def loaded(page: Page) -> None:
    expect(page.locator(".title .state")).to_contain_text("201 providers ·")


# -- cloud ----------------------------------------------------------------------------------


def test_the_cloud_is_a_map_of_all_roots_with_totals(watch: Watch) -> None:
    page = watch.open()
    loaded(page)
    expect(page.get_by_role("application")).to_be_visible()
    row = page.locator("tr", has=page.get_by_role("rowheader", name="VCPU", exact=True))
    expect(row.get_by_role("cell").first).to_have_text("13,376")


def test_totals_equal_the_totals_of_the_service(watch: Watch, demo: Demo) -> None:
    page = watch.open()
    loaded(page)
    providers = demo.get("/resource_providers?include=usages")["resource_providers"]
    used = sum(provider["usages"].get("MEMORY_MB", 0) for provider in providers)
    row = page.locator("tr", has=page.get_by_role("rowheader", name="MEMORY_MB", exact=True))
    expect(row.get_by_role("cell").nth(1)).to_have_text(f"{used:,}")


def test_a_tile_tells_its_host_and_opens_its_tree(watch: Watch) -> None:
    page = watch.open()
    loaded(page)
    page.get_by_role("application").hover(position={"x": 20, "y": 20})
    expect(page.locator(".detail strong")).to_have_text("compute-a01")
    page.get_by_role("application").click(position={"x": 20, "y": 20})
    expect(page.get_by_role("heading", name="compute-a01", level=1)).to_be_visible()


def test_the_first_view_has_names_and_the_colours_of_the_class_that_most_hosts_use(
    watch: Watch,
) -> None:
    watch.page.add_init_script("""
      const write = CanvasRenderingContext2D.prototype.fillText;
      window.written = [];
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.written.push(text);
        return write.call(this, text, ...rest);
      };
    """)
    page = watch.open()
    loaded(page)
    expect(page.get_by_label("Coloured by")).to_have_value("MEMORY_MB")
    written = set(page.evaluate("window.written"))
    assert {"compute-a01", "fpga-d04", "windows-b02", "none", "0%"} <= written
    # On small tiles there is no room.
    page.evaluate("window.written = []")
    page.get_by_label("Tiles").select_option("20")
    assert "compute-a01" not in page.evaluate("window.written")


def test_the_cloud_is_grouped_by_a_trait(watch: Watch) -> None:
    page = watch.open("#cloud?group=trait&trait=HW_CPU_X86_AMD_SEV&as=list")
    loaded(page)
    page.get_by_label("Shown as").select_option("map")
    page.get_by_role("application").focus()
    expect(page.locator(".detail strong")).to_have_text("compute-a01")


def test_the_filter_is_that_of_the_list_of_providers(watch: Watch) -> None:
    page = watch.open()
    loaded(page)
    page.get_by_label("Filter (a part of a name").fill("required=HW_CPU_X86_AMD_SEV")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#totals-title")).to_have_text("Totals of 8 trees that match the filter")
    expect(page).to_have_url(re.compile("filter=required"))


def test_the_filter_takes_a_part_of_a_name_of_any_provider(watch: Watch) -> None:
    page = watch.open("#cloud?as=list&filter=D01-Node1")
    loaded(page)
    expect(page.locator(".stage tbody th")).to_have_text(["numa-d01", "fpga-d01"])  # fullest first


def test_the_list_of_hosts_begins_with_the_fullest(watch: Watch) -> None:
    page = watch.open("#cloud?as=list&class=VCPU")
    loaded(page)
    shares = page.locator(".stage tbody tr td:last-child").all_inner_texts()
    numbers = [int(text.rstrip("%")) for text in shares if text != "none"]
    assert len(numbers) == 50
    assert numbers == sorted(numbers, reverse=True)


def saved(page: Page, place: str, kind: str) -> tuple[str, str]:
    """Save the list in a place, and return the name of the file and its content."""
    with page.expect_download() as download:
        page.locator(place).get_by_role("button", name=f"Save as {kind}").click()
    return download.value.suggested_filename, Path(download.value.path()).read_text()


def test_the_list_of_hosts_is_saved_as_csv_and_json(watch: Watch, demo: Demo) -> None:
    page = watch.open("#cloud?as=list&class=VCPU&filter=compute-a0")
    loaded(page)
    expect(page.locator(".stage tbody tr")).to_have_count(9)
    name, content = saved(page, ".stage", "JSON")
    assert name == "hosts.json"
    hosts = json.loads(content)
    assert [host["host"] for host in hosts] == page.locator(".stage th a").all_inner_texts()
    part = demo.get(f"/resource_providers/{hosts[0]['uuid']}?include=usages")
    assert hosts[0]["used"] == part["usages"]["VCPU"]
    assert hosts[0]["by"] == "use of VCPU"
    assert hosts[0]["use"] == pytest.approx(hosts[0]["used"] / hosts[0]["capacity"])
    name, content = saved(page, ".stage", "CSV")
    assert name == "hosts.csv"
    rows = list(csv.DictReader(content.splitlines()))
    assert rows == [{key: str(value) for key, value in host.items()} for host in hosts]
    totals = json.loads(saved(page, ".totals", "JSON")[1])
    assert totals[0]["class"] == page.locator(".totals tbody th").first.inner_text()


def test_all_consumers_are_saved_and_not_only_the_shown_ones(watch: Watch, demo: Demo) -> None:
    page = watch.open("#consumer")
    expect(page.locator("table.texts tbody tr")).to_have_count(50)
    content = saved(page, ".view", "CSV")[1]
    rows = list(csv.DictReader(content.splitlines()))
    assert len({row["consumer"] for row in rows}) == 100
    first = demo.consumers[0]
    allocations = demo.get(f"/allocations/{first}")["allocations"]
    amounts = {row["provider"]: row["VCPU"] for row in rows if row["consumer"] == first}
    assert amounts == {
        uuid: str(each["resources"].get("VCPU", "")) for uuid, each in allocations.items()
    }


def test_the_colours_of_use_follow_the_values(watch: Watch, demo: Demo) -> None:
    page = watch.open("#cloud?class=VCPU")  # 51 % of the fullest host are used
    loaded(page)
    expect(page.locator(".legend span")).to_contain_text(["0%", "to 18%", "to 37%", "to 55%"])
    expect(page.locator(".legend")).not_to_contain_text("full")
    strongest = page.locator(".legend .swatch").nth(3)
    colour = strongest.evaluate("element => getComputedStyle(element).backgroundColor")
    painted = page.evaluate("""() => {
      const { width, height } = document.querySelector("canvas.map");
      const pen = document.querySelector("canvas.map").getContext("2d");
      const { data } = pen.getImageData(0, 0, width, height);
      const pixels = new Set();
      for (let at = 0; at < data.length; at += 4) pixels.add(data.slice(at, at + 3).join(", "));
      return [...pixels];
    }""")
    assert colour in {f"rgb({pixel})" for pixel in painted}
    # Of the hosts that match the filter, none is as full.
    page.get_by_label("Filter (a part of a name").fill("numa")
    page.keyboard.press("Enter")
    expect(page.locator(".legend")).to_contain_text("to 10%")


def test_a_refresh_asks_only_for_what_has_changed(watch: Watch) -> None:
    page = watch.open()
    loaded(page)
    with page.expect_response(lambda answer: "include=" in answer.url) as again:
        page.get_by_role("button", name="Refresh").click()
    assert again.value.status == 304
    loaded(page)


def test_the_map_shows_how_many_of_a_request_each_host_takes(watch: Watch, demo: Demo) -> None:
    page = watch.open(f"#cloud?as=list&request={quote(json.dumps(SMALL))}")
    expect(page.get_by_label("Coloured by")).to_have_value("?")
    expect(page.locator("caption").first).to_have_text("53 hosts by room for the request")
    expect(page.locator(".legend")).to_contain_text("hosts without room for the request")
    query = "resources=VCPU:2,MEMORY_MB:4096"
    expect(page.locator(".asked")).to_contain_text(f"Room for the request {query}")
    rooms = page.locator(".stage tbody tr td").all_inner_texts()
    numbers = [int(text.replace(",", "")) for text in rooms]
    assert numbers == sorted(numbers, reverse=True)
    body = {"requests": {"r": {"groups": SMALL["groups"]}}}
    assert sum(numbers) == demo.post("/headroom", body)["headroom"]["r"]["fits"] > 0
    page.get_by_label("Shown as").select_option("map")
    page.get_by_role("application").focus()
    expect(page.locator(".detail")).to_contain_text(re.compile("takes [0-9]+ of the request"))
    page.get_by_label("Coloured by").select_option("VCPU")
    expect(page.locator(".legend")).to_contain_text("to 18%")
    expect(page.locator(".asked")).to_be_hidden()


def test_the_cloud_is_followed_live_while_the_page_is_visible(watch: Watch, demo: Demo) -> None:
    page = watch.open("#cloud?as=list&class=VCPU")
    loaded(page)
    # The list before the first poll may show a host that is deleted before it is numbered.
    with page.expect_response(lambda answer: "changes?since=" in answer.url):
        page.get_by_label("Follow live").check()
    body = {"name": "new-host", "uuid": "11111111-0000-4000-8000-000000000001"}
    demo.send("POST", "/resource_providers", body)
    try:
        expect(page.locator(".state")).to_contain_text("202 providers ·", timeout=10_000)
        expect(page.locator(".stage")).to_contain_text("new-host")
    finally:
        demo.send("DELETE", f"/resource_providers/{body['uuid']}")
    expect(page.locator(".state")).to_contain_text("201 providers ·", timeout=10_000)
    expect(page.locator(".stage")).not_to_contain_text("new-host")
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
    page.wait_for_timeout(1200)  # a poll that was under way
    polls: list[str] = []
    page.on("request", lambda request: polls.append(request.url))
    page.wait_for_timeout(2500)
    assert polls == []


def test_a_follower_lists_again_after_its_cursor_has_expired(watch: Watch) -> None:
    watch.allowed = ("status of 410",)
    page = watch.open()
    loaded(page)
    expired = {"errors": [{"status": 410, "title": "Gone", "detail": "The cursor has expired."}]}
    statuses: list[int] = []

    def expire_once(route: Route) -> None:
        if 410 in statuses:
            route.continue_()
        else:
            route.fulfill(status=410, json=expired)

    def lists_again(answer: Response) -> bool:
        """Return whether this is a response to a list after the cursor has expired."""
        statuses.append(answer.status)
        return 410 in statuses and answer.url.endswith("/changes")

    # The route must remain: Playwright does not report a request that the page sends while the last
    # route of a page is removed.
    watch.page.route("**/changes?since=*", expire_once)

    with page.expect_response(lists_again):
        page.get_by_label("Follow live").check()
    expect(page.get_by_label("Follow live")).to_be_checked()


# -- tree -----------------------------------------------------------------------------------


def test_a_tree_shows_each_provider_and_what_is_shared_with_it(watch: Watch, demo: Demo) -> None:
    page = watch.open(f"#tree/{demo.provider('diskless-c01')}")
    expect(page.get_by_role("article", name="diskless-c01")).to_contain_text("MEMORY_MB")
    sharing = page.get_by_role("region", name="Sharing providers")
    expect(sharing.get_by_role("article")).to_have_count(2)


def test_children_are_in_the_order_of_their_names_as_people_count(watch: Watch) -> None:
    def provider(number: int, name: str) -> dict[str, Any]:
        uuids = [f"00000000-0000-4000-8000-{each:012x}" for each in (number, 1)]
        return {"uuid": uuids[0], "name": name, "generation": 0, "root_provider_uuid": uuids[1],
                "parent_provider_uuid": None if number == 1 else uuids[1]}  # fmt: skip

    names = ["card10", "card1", "card2", "host"]
    providers = [provider(4 - number, name) for number, name in enumerate(names)]
    body = {"resource_providers": providers}
    watch.page.route("**/resource_providers?in_tree=*", lambda route: route.fulfill(json=body))
    watch.page.route("**/rollup", lambda route: route.fulfill(json={"sharing": {}}))
    page = watch.open(f"#tree/{providers[-1]['uuid']}")
    expect(page.locator(".branches h3")).to_have_text(["card1", "card2", "card10"])


def test_a_consumer_lights_up_here_and_tells_what_it_holds_elsewhere(
    watch: Watch, demo: Demo
) -> None:
    held, *_others = demo.get(f"/allocations/{demo.consumers[0]}")["allocations"]
    page = watch.open(f"#tree/{held}")
    page.get_by_role("button", name=re.compile(demo.consumers[0])).click()
    expect(page.locator(".part.lit").first).to_be_attached()
    expect(page.get_by_role("link", name="All that it holds")).to_be_visible()
    expect(page).to_have_url(re.compile(f"consumer={demo.consumers[0]}"))


def test_a_host_says_what_happens_if_it_goes(watch: Watch, demo: Demo) -> None:
    held, *_others = demo.get(f"/allocations/{demo.consumers[0]}")["allocations"]
    page = watch.open(f"#tree/{held}")
    page.get_by_role("button", name="What if this host goes?").click()
    expect(page.locator(".departure h2")).to_have_text(re.compile("^[0-9]+ consumers? can move"))
    table = page.get_by_role("group", name="Hosts that would take consumers")
    expect(table).to_contain_text(demo.consumers[0])
    expect(table.locator("th a").first).to_have_text(re.compile("^[a-z]+-[a-z0-9]+"))
    page.get_by_role("button", name="Copy as curl").click()
    assert f'{{"changes":[{{"drain":["{held}"]}}],"order":[{{"by":"free"' in copied(page, "curl")


def test_a_consumer_that_no_other_host_takes_is_shown_with_the_reason(
    watch: Watch, demo: Demo
) -> None:
    refused = {"code": "capacity", "text": "No room.", "request": "derived"}
    plan = {
        "fits": False, "moves": [], "undecided": [], "claims": [], "complete": True,
        "unplaceable": [{"consumer": demo.consumers[0], **refused}],
    }  # fmt: skip
    watch.page.route("**/simulations", lambda route: route.fulfill(json=plan))
    page = watch.open(f"#tree/{demo.provider('compute-a01')}")
    page.get_by_role("button", name="What if this host goes?").click()
    expect(page.locator(".departure h2")).to_have_text("1 consumer cannot move")
    expect(page.get_by_role("group", name="Cannot move")).to_contain_text("No room.")


def test_a_tree_of_several_pages_is_drawn_whole(watch: Watch) -> None:
    root = "00000000-0000-4000-8000-0000000fffff"

    def provider(number: int) -> dict[str, Any]:
        uuid = f"00000000-0000-4000-8000-{number:012x}"
        parent = None if uuid == root else root
        return {"uuid": uuid, "name": f"p{number}", "generation": 0, "root_provider_uuid": root,
                "parent_provider_uuid": parent}  # fmt: skip

    def answer(route: Route) -> None:
        # Pages are ordered by UUID, and this root is on the last page.
        if "marker" in route.request.url:
            page = {"resource_providers": [provider(1001), provider(0xFFFFF)]}
        else:
            query = urlsplit(route.request.url).query
            links = [{"rel": "next", "href": f"/elsewhere/resource_providers?{query}&marker=x"}]
            providers = [provider(number) for number in range(1, 1001)]
            page = {"resource_providers": providers, "resource_providers_links": links}
        route.fulfill(json=page)

    watch.page.route("**/resource_providers?in_tree=*", answer)
    watch.page.route("**/rollup", lambda route: route.fulfill(json={"sharing": {}}))
    page = watch.open(f"#tree/{root}")
    expect(page.locator(".title")).to_contain_text("1,002 providers")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"p{0xFFFFF}")
    # So many cards would keep the browser busy; they come when they are asked for.
    expect(page.locator("article.card")).to_have_count(201)
    for left in ("801", "601", "401", "201", "1"):
        page.get_by_role("button", name=f"{left} more providers", exact=True).click()
    expect(page.locator("article.card")).to_have_count(1002)
    expect(page.get_by_role("button", name="more providers")).to_have_count(0)


def test_a_provider_that_vanished_is_said_to_be_gone(watch: Watch) -> None:
    page = watch.open("#tree/00000000-0000-4000-8000-000000000000")
    expect(page.locator(".empty")).to_contain_text("It may have been deleted")


def test_a_provider_is_found_by_a_part_of_its_name(watch: Watch) -> None:
    page, part = watch.open("#tree"), "MPUTE-A02"
    page.get_by_label("Part of a name, or UUID").fill(part)
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", name="compute-a02", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile(f"#tree/{part}$"))


def test_the_address_of_a_tree_may_name_a_provider(watch: Watch) -> None:
    name = "numa-d01-node1"
    page = watch.open(f"#tree/{name}")
    expect(page.get_by_role("heading", name="numa-d01", level=1)).to_be_visible()
    page.locator(".consumers button").first.click()
    expect(page).to_have_url(re.compile(f"#tree/{name}.consumer="))


def test_a_name_that_no_provider_has_is_reported(watch: Watch) -> None:
    page = watch.open("#tree/no%2Fhost%3F")
    expect(page.locator(".empty")).to_contain_text("No provider has “no/host?” in its name.")
    expect(page.get_by_label("Part of a name, or UUID")).to_be_visible()


# -- ask ------------------------------------------------------------------------------------


def test_candidates_are_cards_that_light_up_on_the_tree(watch: Watch) -> None:
    page = watch.open(asking(NUMA))
    expect(page.locator(".candidate[aria-pressed=true]")).to_have_count(1)
    marked = page.locator(".drawing .card.marked")
    expect(marked).to_have_count(2)  # the group that asks for no resources is where the CPUs are
    expect(marked.filter(has_text="group _FPGA")).to_contain_text("FPGA 1")


@pytest.mark.parametrize("size", ["wide", "narrow"])
def test_show_on_the_map_leads_to_the_map_and_names_the_request(
    open_watch: Open, size: str
) -> None:
    group = {"resources": {"VCPU": 2, "MEMORY_MB": 4096}, "required": ["HW_CPU_X86_AMD_SEV"]}
    page = open_watch(size).open(asking({"groups": {"": group}}))
    link = page.get_by_role("link", name="Show on the map")
    link.scroll_into_view_if_needed()
    page.get_by_role("heading", name="The hosts that were left out").scroll_into_view_if_needed()
    link.evaluate("element => element.click()")  # without the scrolling of a click
    expect(page.locator(".legend")).to_contain_text("without room for the request")
    asked = page.locator(".asked")
    expect(asked).to_contain_text("resources=VCPU:2,MEMORY_MB:4096")
    expect(asked).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("application")).to_be_in_viewport(ratio=0.9)
    asked.get_by_role("link", name="Change the request").click()
    expect(page.get_by_label("Amount of VCPU")).to_have_value("2")


def test_each_view_begins_at_its_top(open_watch: Open) -> None:
    page = open_watch("narrow").open("#consumer")
    link = page.locator("table tbody a").nth(80)
    link.scroll_into_view_if_needed()
    assert page.evaluate("scrollY") > 0
    link.click()
    expect(page.get_by_role("heading", level=2)).to_contain_text("INSTANCE")
    assert page.evaluate("scrollY") == 0


EXAMPLES = (
    "A small instance",
    "Dedicated CPUs and an FPGA on one NUMA node",
    "Two graphics cards from different providers",
    "A disk that several hosts share",
)


def test_an_example_is_asked_with_one_click(watch: Watch) -> None:
    for title in EXAMPLES:
        page = watch.open("#ask")
        expect(page.locator(".answer h2")).to_have_count(0)
        page.get_by_role("group", name="Examples").get_by_role("button", name=title).click()
        expect(page.locator(".answer h2").first).to_contain_text(re.compile("^[0-9]+ candidates"))
        expect(page).to_have_url(re.compile("request="))


def test_an_example_of_a_refusal_says_why(watch: Watch) -> None:
    page = watch.open("#ask")
    examples = page.get_by_role("group", name="Examples")
    expect(examples.get_by_role("button")).to_have_count(len(EXAMPLES) + 1)
    examples.get_by_role("button", name="More than any host has").click()
    expect(page.get_by_role("heading", name="Why no host can serve this")).to_be_visible()
    expect(page.get_by_label("Amount of VCPU")).to_have_value("497")  # compute-b01 has 496


def test_conditions_that_are_rare_are_folded_unless_they_are_used(watch: Watch) -> None:
    page = watch.open("#ask")
    expect(page.get_by_label("Required traits: add").first).to_be_visible()
    expect(page.get_by_label("Forbidden traits: add").first).to_be_hidden()
    page.get_by_text("More conditions").click()
    expect(page.get_by_label("Forbidden traits: add").first).to_be_visible()
    group = {"resources": {"VCPU": 2}, "forbidden": ["HW_CPU_X86_SGX"]}
    page = watch.open(asking({"groups": {"": group}}))
    expect(page.get_by_role("group", name="Forbidden traits").first).to_contain_text("SGX")


def test_the_form_builds_a_request_of_groups(watch: Watch) -> None:
    page = watch.open("#ask")
    page.get_by_role("button", name="Add a group").click()
    group = page.get_by_role("group", name="Group _1")
    group.get_by_role("button", name="Add a resource").click()
    group.get_by_label("Resource class").fill("SRIOV_NET_VF")
    group.get_by_label("Resource class").press("Tab")
    group.get_by_label("Required traits: add").fill("CUSTOM_PHYSNET_NET1")
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.locator(".answer h2").first).to_contain_text(re.compile("^[0-9]+ candidates"))
    expect(page).to_have_url(re.compile("CUSTOM_PHYSNET_NET1"))
    parameters = parse_qs(page.url.partition("?")[2])
    request = json.loads(parameters["request"][0])
    assert request["groups"]["_1"] == {
        "resources": {"SRIOV_NET_VF": 1},
        "required": ["CUSTOM_PHYSNET_NET1"],
    }


def test_the_form_sorts_hosts_and_tolerates_taints(watch: Watch) -> None:
    page = watch.open("#ask")
    page.get_by_text("Order and taints").click()
    page.get_by_role("button", name="Sort hosts by…").click()
    page.get_by_label("Key 1: name").fill("VCPU")
    page.get_by_label("Key 1: name").press("Tab")
    page.get_by_label("Key 1: which first").select_option("least")
    page.get_by_role("button", name="Sort hosts by…").click()
    page.get_by_label("Key 2: sort by").select_option("trait")
    page.get_by_role("button", name="Sort hosts by…").click()  # has no name yet: is not sent
    page.get_by_label("Key 2: name").fill("HW_CPU_X86_AVX2")
    page.get_by_label("Key 2: name").press("Tab")
    page.get_by_label("Tolerated taints: add").fill("CUSTOM_MAINTENANCE")
    page.get_by_label("Tolerated taints: add").press("Enter")
    page.get_by_text("As URL, JSON and curl").click()
    expect(page.locator(".forms")).to_contain_text("A query string cannot state an order")
    watch.allowed = ("status of 400",)  # the trait of the taint does not exist
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.get_by_role("alert")).to_contain_text("CUSTOM_MAINTENANCE")
    page.get_by_role("button", name="Remove CUSTOM_MAINTENANCE").click()
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.locator(".answer h2").first).to_contain_text(re.compile("^[0-9]+ candidates"))
    parameters = parse_qs(page.url.partition("?")[2])
    assert json.loads(parameters["request"][0])["order"] == [
        {"by": "free", "resource_class": "VCPU", "first": "least"},
        {"by": "trait", "name": "HW_CPU_X86_AVX2", "first": "with"},
    ]
    page.get_by_role("button", name="Remove key 1").click()
    expect(page.get_by_label("Key 1: name")).to_have_value("HW_CPU_X86_AVX2")


def test_a_line_between_two_groups_is_a_rule(watch: Watch) -> None:
    request = {"groups": {"_A": {"resources": {"PCPU": 1}}, "_B": {"resources": {"FPGA": 1}}}}
    page = watch.open("#ask")
    page.get_by_text("Paste a query").click()
    page.get_by_label("Pasted request").fill(json.dumps(request))
    page.get_by_role("button", name="Take it").click()
    one, other = page.get_by_label("Group _A").last, page.get_by_label("Group _B").last
    one.hover()
    page.mouse.down()
    other.hover()
    page.mouse.up()
    expect(page.locator(".rules li")).to_have_count(1)


def test_a_request_is_pasted_as_query_json_or_flavor(watch: Watch) -> None:
    page = watch.open("#ask")
    page.get_by_text("Paste a query").click()
    for number, text in enumerate(
        [
            "resources=VCPU:%d&required=COMPUTE_NODE",
            "GET /allocation_candidates?resources=VCPU:%d&required=COMPUTE_NODE",
            '{"groups": {"": {"resources": {"VCPU": %d}, "required": ["COMPUTE_NODE"]}}}',
            "resources:VCPU=%d\ntrait:COMPUTE_NODE=required",
        ]
    ):
        page.get_by_label("Pasted request").fill(text % (number + 2))
        page.get_by_role("button", name="Take it").click()
        expect(page.get_by_label("Resource class")).to_have_value("VCPU")
        expect(page.get_by_label("Amount of VCPU")).to_have_value(str(number + 2))
        traits = page.get_by_role("group", name="Required traits").first
        expect(traits).to_contain_text("COMPUTE_NODE")


def test_unreadable_input_is_reported(watch: Watch) -> None:
    page = watch.open("#ask")
    page.get_by_text("Paste a query").click()
    page.get_by_label("Pasted request").fill("colour=red")
    page.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("alert")).to_have_text("colour is not a parameter of a request.")
    page.get_by_label("Pasted request").fill("constructor=red")
    page.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("alert")).to_have_text("constructor is not a parameter of a request.")
    page.get_by_label("Pasted request").fill(
        "vcpus=2\nhw:mem_page_size=large\nhw:cpu_policy=dedicated"
    )
    page.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("alert")).to_contain_text("hw:cpu_policy is translated by placement-m")


def test_without_candidates_a_relaxation_is_tried_with_one_click(watch: Watch) -> None:
    request = {"groups": {"": {"resources": {"VCPU": 2}, "required": ["HW_CPU_X86_SGX"]}}}
    page = watch.open(asking(request))
    expect(page.get_by_role("heading", name="Why no host can serve this")).to_be_visible()
    page.locator(".relaxations li", has_text="HW_CPU_X86_SGX").get_by_role("button").click()
    expect(page.locator(".answer h2").first).to_contain_text(re.compile("^[0-9]+ candidates"))
    expect(page).not_to_have_url(re.compile("HW_CPU_X86_SGX"))


def test_a_funnel_names_the_hosts_that_are_left_and_hides_idle_steps(watch: Watch) -> None:
    group = {"resources": {"VCPU": 2}, "required": ["HW_CPU_X86_SGX", "HW_CPU_X86_AVX2"]}
    page = watch.open(asking({"groups": {"": group}}))
    funnel = page.get_by_role("group", name="Conditions: Unsuffixed group")
    rows = funnel.locator("tbody tr")
    expect(rows.first).to_contain_text("all hosts")
    expect(rows.nth(1)).to_contain_text("with the required traits")
    expect(rows.nth(1)).to_contain_text("HW_CPU_X86_SGX")
    expect(rows).to_have_count(2)  # classes, units, room and the other trait took no host
    expect(funnel).not_to_contain_text("max_unit")
    reasons = page.get_by_role("group", name="Reasons")
    expect(reasons).to_contain_text("no provider with trait HW_CPU_X86_SGX")
    expect(page.get_by_role("heading", name="Why hosts cannot serve it")).to_be_visible()


SGX, CPU, VF = "HW_CPU_X86_SGX", {"VCPU": 2}, {"SRIOV_NET_VF": 1}
# Requests for which the text of the explanation proposes a relaxation.
RELAXED: dict[str, dict[str, Any]] = {
    "a trait": {"": {"resources": CPU, "required": [SGX]}},
    "one of several traits": {"": {"resources": CPU, "required": [[SGX, "HW_GPU_API_VULKAN"]]}},
    "of one of two groups": {"": {"resources": CPU, "required": [SGX]}, "_N": {"resources": VF}},
    "of a suffixed group": {"": {"resources": CPU}, "_N": {"resources": VF, "required": [SGX]}},
    "an amount": {"": {"resources": {"VCPU": 100}}},
    "an amount of a group": {"_A": {"resources": {"VCPU": 100}}, "_B": {"resources": CPU}},
    "a forbidden trait": {"": {"resources": CPU, "forbidden": ["COMPUTE_NODE"]}},
}
SENTENCE = re.compile(r"With(?:out)? [^.]*would serve\.")


def test_what_would_help_is_listed_in_the_words_of_the_sentence(watch: Watch, demo: Demo) -> None:
    requests: list[dict[str, Any]] = [{"groups": groups} for groups in RELAXED.values()]
    requests.append({"groups": {"": {"resources": CPU}}, "root": {"required": [SGX]}})
    for request in requests:
        explained = demo.post("/allocation_candidates", {**request, "explain": "summary"})
        sentences = SENTENCE.findall(explained["explanation"]["text"])
        assert sentences
        items = watch.open(asking(request)).locator(".relaxations li")
        for sentence in sentences:
            expect(items.filter(has_text=sentence)).to_have_count(1)
        expect(items).to_have_count(len(explained["explanation"]["relaxations"]))


def test_the_url_and_the_curl_line_can_be_copied(watch: Watch, demo: Demo) -> None:
    page = watch.open(asking(SMALL))
    page.get_by_text("As URL, JSON and curl").click()
    page.get_by_role("button", name="Copy URL").click()
    url = f"{demo.url}/allocation_candidates?resources=VCPU:2,MEMORY_MB:4096&limit=5"
    assert copied(page, "http") == url
    page.get_by_role("button", name="REST calls").click()
    page.get_by_role("dialog").get_by_role("button", name="Copy curl").first.click()
    assert copied(page, "curl").startswith("curl -s ")


def copied(page: Page, beginning: str) -> str:
    """Return the content of the clipboard as soon as it begins with this text."""
    script = "async (text) => (await navigator.clipboard.readText()).startsWith(text)"
    page.wait_for_function(script, arg=beginning)
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_examples_of_hosts_have_names(watch: Watch) -> None:
    request = {"groups": {"": {"resources": {"VCPU": 2}, "required": ["HW_CPU_X86_SGX"]}}}
    page = watch.open(asking(request))
    expect(page.locator("a.example").first).to_have_text(re.compile("^[a-z]+-[a-z0-9]+"))


# -- consumer -------------------------------------------------------------------------------


def test_the_view_of_consumers_begins_with_a_list_of_them(watch: Watch) -> None:
    page = watch.open("#consumer")
    rows = page.locator("table.texts tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(100)  # 40 of the cloud file and 60 of the tests
    expect(page.get_by_role("button", name="Show more")).to_be_hidden()
    uuid = "c0ffee00-0000-4000-8000-000000000031"
    row = rows.filter(has_text=uuid)
    expect(row).to_contain_text("INSTANCE")
    expect(row).to_contain_text("hedy")
    expect(row).to_contain_text("numa-d01-node1 PCPU 8, MEMORY_MB 65,536")
    row.get_by_role("link", name=uuid).click()
    expect(page.get_by_role("heading", level=2)).to_have_text(f"INSTANCE {uuid}")


def test_a_consumer_is_drawn_on_its_trees(watch: Watch, demo: Demo) -> None:
    page = watch.open(f"#consumer/{demo.consumers[0]}")
    expect(page.get_by_role("heading", level=2)).to_have_text(f"INSTANCE {demo.consumers[0]}")
    expect(page.locator(".card.marked").first).to_contain_text("VCPU")
    expect(page.locator(".part.lit").first).to_be_attached()


def test_a_project_tells_its_usages_and_lists_its_consumers(watch: Watch) -> None:
    page = watch.open("#consumer?project=web")
    heading = page.get_by_role("heading", name=re.compile(r"INSTANCE: \d+ consumers"))
    [number] = re.findall(r"\d+", heading.inner_text())
    expect(page.locator("table.texts tbody tr")).to_have_count(int(number))


def test_a_consumer_without_allocations_is_reported(watch: Watch) -> None:
    page = watch.open("#consumer/00000000-0000-4000-8000-000000000000")
    expect(page.locator(".empty")).to_contain_text("has no allocations, or does not exist")
