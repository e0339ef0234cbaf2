"""Servers that receive requests from tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.listener import listening
from tests.kit.service import Service


@pytest.fixture
def live_server(tmp_path: Path) -> Iterator[str]:
    """The base URL of a server on a separate empty database."""
    with Service(tmp_path) as service, listening(service.application) as url:
        yield url
