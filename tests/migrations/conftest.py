"""A database without tables, on the engine of the tests, and the commands on it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from placement import cli
from placement.db.engine import Database
from tests.kit.builders import settings
from tests.kit.engines import empty_database

ENVIRONMENT = "OS_PLACEMENT_DATABASE__CONNECTION"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return empty_database(tmp_path)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(settings(url).database)
    yield made
    made.dispose()


@pytest.fixture
def manage(url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.setenv(ENVIRONMENT, url)
    monkeypatch.setenv("OS_API__AUTH_STRATEGY", "noauth2")  # for placement-status
    return lambda *arguments: cli.main(arguments)
