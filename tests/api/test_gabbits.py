"""Run the gabbits: each file in ``gabbits/`` in order, and each request in it as a test."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Collection, Iterator
from types import ModuleType
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
    parametrize(metafunc, gabbi_fixtures, "gabbits")


def parametrize(
    metafunc: pytest.Metafunc, fixtures: ModuleType, way: str, names: Collection[str] = ()
) -> None:
    """Run the gabbits with the fixtures of a module.

    Args:
        metafunc: the test to give parameters to.
        fixtures: has a class for each fixture that a gabbit names.
        way: begins the names of the tests, by which gabbi's plugin knows what to start and to stop.
        names: the gabbits, without their suffix; empty: all.
    """
    # Starts and stops the fixtures of the files whose tests are selected.
    metafunc.config.pluginmanager.import_plugin("gabbi.pytester")
    ids, arguments = zip(*_tests(fixtures, way, names), strict=True)
    metafunc.parametrize(("test", "result"), arguments, ids=ids)


def _tests(
    fixtures: ModuleType, way: str, names: Collection[str]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Read the gabbits; yields what gabbi's plugin expects: a name, a callable, its argument."""
    result = PyTestResult()
    for suite in _suites(fixtures, names):
        tests = list(suite)
        yield f"start_{way}:{type(tests[0]).__name__}", (suite.start, result)
        for test in tests:
            yield f"{way}:{type(test).__name__}", (test, result)
        yield f"stop_{way}:{type(tests[0]).__name__}", (suite.stop, None)


def _suites(fixtures: ModuleType, names: Collection[str]) -> Iterator[Any]:
    url = gabbi_fixtures.service_url()
    intercept = None if gabbi_fixtures.LIVE_URL else gabbi_fixtures.local_application
    host, port, prefix, ssl = utils.host_info_from_target(url)
    paths = [gabbi_fixtures.GABBITS / f"{name}.yaml" for name in names]
    for path in paths or sorted(gabbi_fixtures.GABBITS.glob("*.yaml")):
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
            fixtures,
            intercept,
            prefix=prefix,
            handlers=[handler() for handler in HANDLERS],
            test_loader_name="gabbits",
        )
