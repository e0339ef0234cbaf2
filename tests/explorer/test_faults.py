"""Services that are broken, slow, or refuse requests. Services behind proxies. Scripts as names."""

from __future__ import annotations

import json
import re
import time
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Route, expect

from tests.explorer.browser import WAIT, Watch, watched
from tests.explorer.cloud import Demo
from tests.explorer.prefix import behind_prefix
from tests.kit.processes import send


def refusal(status: int, detail: str, **members: str) -> str:
    return json.dumps({"errors": [{"status": status, "detail": detail, **members}]})


GUARDED = ("**/resource_providers*", "**/resource_classes", "**/traits")
SCRIPT, SHOWN = (f"<img src=x onerror=alert(1)>{end}" for end in ("\u202e", r"\u{202e}"))


def test_a_service_without_response_is_reported_and_tried_again(watch: Watch) -> None:
    watch.allowed = ("ERR_CONNECTION_REFUSED",)
    page = watch.page
    page.route("**/resource_providers*", lambda route: route.abort("connectionrefused"))
    watch.open()
    expect(page.get_by_role("alert")).to_contain_text("The service does not answer")
    page.unroute("**/resource_providers*")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".state")).to_contain_text("201 providers ·")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_error_ends_with_the_next_action(watch: Watch) -> None:
    watch.allowed = ("status of 400",)
    page = watch.open("#cloud?filter=colour%3Dred")
    expect(page.get_by_role("alert")).to_contain_text("colour")
    expect(page.locator(".title .state")).to_contain_text("201 providers ·")
    page.get_by_label("Filter (a part of a name").fill("required=HW_NUMA_ROOT")
    page.keyboard.press("Enter")
    expect(page.locator("#totals-title")).to_contain_text("that match the filter")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_failure_of_the_service_is_shown_with_the_request_id(watch: Watch) -> None:
    watch.allowed = ("status of 503",)
    error = refusal(503, "The database is away.", request_id="req-7")
    watch.page.route("**/resource_providers*", lambda route: route.fulfill(status=503, body=error))
    page = watch.open()
    expect(page.get_by_role("alert")).to_contain_text("The database is away.")
    expect(page.get_by_role("alert")).to_contain_text("req-7")


def test_a_response_of_another_program_is_reported(watch: Watch) -> None:
    watch.page.route(
        "**/resource_providers*", lambda route: route.fulfill(status=200, body="<h1>Welcome</h1>")
    )
    page = watch.open()
    expect(page.get_by_role("alert")).to_contain_text("Is there a proxy in between?")


def test_a_slow_service_shows_that_something_goes_on(watch: Watch) -> None:
    held: list[Route] = []
    page = watch.page
    page.route("**/resource_providers*", lambda route: held.append(route))
    watch.open()
    expect(page.get_by_role("progressbar", name="Loading providers")).to_be_visible()
    # Navigating to another view does not wait for the response.
    page.unroute("**/resource_providers*")
    page.get_by_role("link", name="Consumer").click()
    expect(page.get_by_role("heading", name="Consumer", exact=True)).to_be_visible()


def test_a_forbidden_view_shows_a_plain_message(watch: Watch) -> None:
    watch.allowed = ("status of 403",)
    error = refusal(403, "The rule placement:inventories:list does not admit you.")
    watch.page.route("**/resource_providers*", lambda route: route.fulfill(status=403, body=error))
    page = watch.open()
    expect(page.get_by_role("alert")).to_contain_text("Your role does not allow this")


def test_candidates_are_returned_without_permission_for_explanations(watch: Watch) -> None:
    watch.allowed = ("status of 403",)

    def answer(route: Route) -> None:
        if "explain" in (route.request.post_data or ""):
            route.fulfill(status=403, body=refusal(403, "no"))
        else:
            route.continue_()

    watch.page.route("**/allocation_candidates", answer)
    page = watch.open("#ask")
    page.get_by_role("button", name="Which hosts can serve this?").click()
    expect(page.locator(".answer h2").first).to_contain_text(re.compile("^[0-9]+ candidates"))
    expect(page.locator(".answer")).to_contain_text("Your role does not allow you to see why")


def test_a_guarded_service_asks_for_a_token_and_keeps_it_in_memory(watch: Watch) -> None:
    watch.allowed = ("status of 401",)
    page = watch.page
    answered: list[str | None] = []  # the tokens of requests
    page.on("requestfinished", lambda each: answered.append(each.headers.get("x-auth-token")))

    def guard(route: Route) -> None:
        if route.request.headers.get("x-auth-token") == "right":
            headers = {**route.request.headers, "x-auth-token": "admin"}
            route.continue_(headers=headers)
        else:
            route.fulfill(status=401, body='{"error": {"message": "no"}}')

    def as_guarded(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"noauth2"', '"keystone"'))

    page.route("**/explorer/", as_guarded)
    for path in GUARDED:
        page.route(path, guard)
    watch.open()
    dialog = page.get_by_role("dialog", name="Token")
    dialog.get_by_label("Token").fill("wrong")
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("refused this token")
    # A request that is refused later would ask again.
    deadline = time.monotonic() + WAIT / 1000
    while answered.count("wrong") < len(GUARDED):
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)
    dialog.get_by_label("Token").fill("wröng")  # no header can hold it
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog.locator("input:invalid")).to_be_attached()
    page.keyboard.press("Escape")
    expect(page.get_by_role("alert")).to_contain_text("No token")
    page.get_by_role("button", name="Try again").click()
    dialog.get_by_label("Token").fill("right")
    dialog.get_by_role("button", name="Use it").click()
    expect(page.locator(".state")).to_contain_text("201 providers ·")
    kept = page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    assert kept == '[{},{},""]'


def test_names_that_are_scripts_stay_text(watch: Watch, demo: Demo) -> None:
    answer = send(demo.process.port, "POST", "/resource_providers", {"name": SCRIPT}, "2.0")
    uuid = answer.body["uuid"]
    try:
        page = watch.open(f"#tree/{uuid}")
        expect(page.get_by_role("heading", level=1)).to_have_text(SHOWN)
        page = watch.open("#cloud?as=list")
        expect(page.get_by_role("link", name=SHOWN)).to_be_attached()
        assert page.locator("img[src=x]").count() == 0
    finally:
        send(demo.process.port, "DELETE", f"/resource_providers/{uuid}")


def test_an_address_that_is_none_leads_to_the_cloud(watch: Watch) -> None:
    for place in ("#constructor", "#ask", "#toString/x", "#ask", "#__proto__"):
        page = watch.open(place)
        heading = page.get_by_role("heading", name="Cloud")
        expect(heading).to_have_count(0 if place == "#ask" else 1)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_consumer_of_an_address_names_no_other_path(watch: Watch, demo: Demo) -> None:
    page, paths = watch.page, set[str]()
    page.on("request", lambda each: paths.add(urlsplit(each.url).path))
    for place in (f"tree/{demo.provider('compute-a01')}?consumer=", "consumer/"):
        watch.open(f"#{place}..%2F..%2Fidentity")
        expect(page.locator(".empty, aside").first).to_be_visible()
    assert [path for path in paths if "identity" in path] == []


def test_a_suffix_of_an_address_changes_no_other_object(watch: Watch) -> None:
    page = watch.open("#ask?request=resources__proto__%3DVCPU:7")
    expect(page.get_by_role("group", name="Group __proto__", exact=True)).to_be_visible()
    assert page.evaluate("({}).resources") is None


def test_a_script_that_is_not_the_page_s_own_does_not_run(watch: Watch) -> None:
    watch.allowed = ("Content Security Policy",)
    page = watch.open()
    page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = 1';
            const box = document.createElement('div');
            box.innerHTML = '<img src="#" onerror="window.ran = 2">';
            document.body.append(script, box);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.ran") is None


def test_the_page_works_behind_a_prefix(browser: Browser, demo: Demo) -> None:
    # The page is closed before the proxy: it still sends requests when its heading is visible.
    with behind_prefix(demo.process.port) as url, watched(browser, url) as watch:
        page = watch.open()
        expect(page.locator(".state")).to_contain_text("201 providers ·")
        page.goto(f"{url}/explorer")
        expect(page.get_by_role("heading", name="Cloud")).to_be_visible()
        assert page.url.startswith(f"{url}/explorer/")
