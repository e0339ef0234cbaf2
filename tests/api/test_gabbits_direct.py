"""Run gabbits through `PlacementDirect`."""

from __future__ import annotations

import pytest
from gabbi.driver import test_pytest  # noqa: F401  (the function that is parametrised)

from tests.api import gabbi_direct
from tests.api.gabbi_fixtures import LIVE_URL
from tests.api.test_gabbits import parametrize

# `PlacementDirect` carries requests and answers and knows no operation. These have each method,
# header, type, status and form of body that it carries; the others would repeat them.
NAMES = (
    "allocations-put",
    "authentication",
    "candidates-errors",
    "claims",
    "content-types-by-version",
    "error-codes-by-version",
    "etag",
    "headers-by-version",
    "language-json",
    "lists-paging",
    "microversions",
    "reshaper",
    "routes-by-version",
    "second-line",
    "traits",
    "versions-and-errors",
)

pytestmark = pytest.mark.skipif(bool(LIVE_URL), reason="asks no live server")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, gabbi_direct, "direct", NAMES)
