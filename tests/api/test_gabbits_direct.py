"""Run the gabbits through `PlacementDirect`."""

from __future__ import annotations

import pytest
from gabbi.driver import test_pytest  # noqa: F401  (the function that is parametrised)

from tests.api import gabbi_direct
from tests.api.gabbi_fixtures import LIVE_URL
from tests.api.test_gabbits import parametrize

pytestmark = pytest.mark.skipif(bool(LIVE_URL), reason="asks no live server")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, gabbi_direct, "direct")
