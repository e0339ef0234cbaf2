"""Settings of all tests."""

import gc
import logging
import os
import wsgiref.validate
from collections.abc import Iterator

import hypothesis
import pytest

from tests.kit import rendered

# The duration of an example depends on the load of the machine. Every run uses the same examples,
# so only a change of the code can change the result. `--hypothesis-profile=exploring` tries other
# examples.
hypothesis.settings.register_profile("exploring", deadline=None)
hypothesis.settings.register_profile("certain", deadline=None, derandomize=True)
hypothesis.settings.load_profile("certain")

# Falcon's test client has every answer validated, and the validator wants a type even of an
# answer without a body. Clients of this API expect none there.
wsgiref.validate.check_content_type = lambda status, headers: None  # type: ignore[attr-defined]


# Commands over REST read the caller's credentials from the environment, which must not affect
# tests.
for _name in ("OS_AUTH_PLUGIN", "OS_AUTH_TYPE", "OS_AUTH_URL", "OS_CLOUD", "OS_TOKEN"):
    os.environ.pop(_name, None)


rendered.share()


@pytest.fixture(autouse=True)
def _log_of_one_test() -> Iterator[None]:
    """Take away what a test has added to the log: its streams are closed when it has ended."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def pytest_collection() -> None:
    """Let no garbage collection interrupt the collection of tests."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep collections from visiting modules and thousands of tests, which exist until the end.

    PERF: they took a tenth of the time of the tests of the API.
    """
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """gabbi considers every test with a colon in its name a gabbit, and fails."""
    if ":" in item.name and "test_pytest" not in item.name:
        item.name = item.name.replace(":", "=")
