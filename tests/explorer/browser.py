"""A headless Chromium, and rules that no page of the explorer may violate."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.kit.missing import skip

EXECUTABLE = shutil.which("chromium") or shutil.which("google-chrome")

# The browser must not send requests of its own to other hosts.
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT = 60_000  # milliseconds that a view may take on a busy machine

SIZES = {"wide": (1280, 860), "narrow": (390, 844)}


expect.set_options(timeout=WAIT)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a browser until the block ends. Without one, the test is skipped."""
    if EXECUTABLE is None:
        skip("no chromium is installed", "PLACEMENT_BROWSER")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS)
        yield browser
        browser.close()


class Watch:
    """The messages and requests of a page. allowed: console errors that a test provokes."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.allowed: tuple[str, ...] = ()
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self._host = urlsplit(url).netloc
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("request", self._request)
        page.set_default_timeout(WAIT)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme != "data" and address.netloc != self._host:
            self.strangers.append(request.url)

    def open(self, place: str = "") -> Page:
        """Open a view of the explorer, such as "#tree/UUID"."""
        self.page.goto(f"{self.url}/explorer/{place}")
        return self.page

    def check(self) -> None:
        """Assert that there were no hidden errors and no requests to other hosts."""
        unexpected = [
            error for error in self.errors if not any(text in error for text in self.allowed)
        ]
        assert unexpected == []
        assert self.strangers == []


@contextmanager
def watched(
    browser: Browser, url: str, size: str = "wide", *, dark: bool = False
) -> Iterator[Watch]:
    """Create a page in a separate context, and check it at the end."""
    width, height = SIZES[size]
    origin = "http://" + urlsplit(url).netloc
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=origin)
    watch = Watch(context.new_page(), url)
    try:
        yield watch
        watch.check()
    finally:
        context.close()
