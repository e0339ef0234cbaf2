"""Run the gabbits: each file in ``gabbits/`` in order, and each request in it as a test."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Iterator
from typing import Any

import pytest
from gabbi import handlers, suitemaker, utils
from gabbi.driver import test_pytest  # noqa: F401  (the function that is parametrised)
from gabbi.handlers import jsonhandler
from gabbi.reporter import PyTestResult

from tests.api import gabbi_fixtures, gabbi_tables
from tests.api.gabbi_handlers import CandidatesHandler, SummariesHandler

HANDLERS = [CandidatesHandler, SummariesHandler, *handlers.RESPONSE_HANDLERS]

# gabbi makes a parser for each of 13,000 JSON paths, of which 240 are different.
jsonhandler.json_parser.parse = functools.cache(jsonhandler.json_parser.parse)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    # Starts and stops the fixtures of the files whose tests are selected.
    metafunc.config.pluginmanager.import_plugin("gabbi.pytester")
    ids, arguments = zip(*_tests(), strict=True)
    metafunc.parametrize(("test", "result"), arguments, ids=ids)


def _tests() -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Read the gabbits; yields what gabbi's plugin expects: a name, a callable, its argument."""
    result = PyTestResult()
    for suite in _suites():
        tests = list(suite)
        yield f"start_gabbits:{type(tests[0]).__name__}", (suite.start, result)
        for test in tests:
            yield f"gabbits:{type(test).__name__}", (test, result)
        yield f"stop_gabbits:{type(tests[0]).__name__}", (suite.stop, None)


def _suites() -> Iterator[Any]:
    url = gabbi_fixtures.service_url()
    intercept = None if gabbi_fixtures.LIVE_URL else gabbi_fixtures.local_application
    host, port, prefix, ssl = utils.host_info_from_target(url)
    for path in sorted(gabbi_fixtures.GABBITS.glob("*.yaml")):
        suite = gabbi_tables.load(path)
        # Each test has a client of its own, and to read certificates takes each 0.1 s.
        suite["defaults"] = {**suite["defaults"], "ssl": ssl, "cert_validate": ssl}
        yield suitemaker.test_suite_from_dict(
            unittest.TestLoader(),
            path.stem,
            suite,
            str(path.parent),
            host,
            port,
            gabbi_fixtures,
            intercept,
            prefix=prefix,
            handlers=[handler() for handler in HANDLERS],
            test_loader_name="gabbits",
        )
