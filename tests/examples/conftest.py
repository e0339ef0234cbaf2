"""A service for the examples, on the engine of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.direct import PlacementDirect
from tests.kit.builders import database_url, settings
from tests.kit.recorder import Recorder


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    """The requests to a service in this process, on an empty database."""
    with PlacementDirect(settings(database_url(tmp_path))) as adapter:
        yield Recorder(adapter)
