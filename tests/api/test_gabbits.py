"""Run the gabbits: each file of ``gabbits/`` in order, each request in it as a test."""

import pytest
from gabbi import driver
from gabbi.driver import test_pytest  # noqa: F401  (the function that gabbi parametrises)

from tests.api import gabbi_fixtures
from tests.api.gabbi_handlers import CandidatesHandler, SummariesHandler


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    url = gabbi_fixtures.service_url()
    driver.py_test_generator(
        str(gabbi_fixtures.GABBITS),
        url=url,
        # Each test has a client of its own, and to read certificates takes each 0.1 s.
        cert_validate=url.startswith("https:"),
        test_loader_name="gabbits",
        fixture_module=gabbi_fixtures,
        response_handlers=[CandidatesHandler, SummariesHandler],
        metafunc=metafunc,
    )
