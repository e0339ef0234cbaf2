"""One server and one browser for all tests, and a new page for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser

from tests.explorer.browser import Watch, chromium, watched
from tests.explorer.cloud import Demo, demonstration

Open = Callable[..., Watch]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demonstration(tmp_path_factory.mktemp("explorer")) as serving:
        yield serving


@pytest.fixture
def watch(browser: Browser, demo: Demo) -> Iterator[Watch]:
    with watched(browser, demo.url) as each:
        yield each


@pytest.fixture
def open_watch(browser: Browser, demo: Demo) -> Iterator[Open]:
    """Open a page of a size."""
    with ExitStack() as exits:

        def begin(size: str = "wide") -> Watch:
            return exits.enter_context(watched(browser, demo.url, size))

        yield begin
