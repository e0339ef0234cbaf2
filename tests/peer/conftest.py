"""These tests run only on request, because they need another server and several minutes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.peer.servers import SQLITE, Server, peer

collect_ignore_glob = [] if os.environ.get("PLACEMENT_PEER") else ["test_*.py"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    directory = tmp_path_factory.mktemp("peer")
    with peer(directory / "peer", f"{SQLITE}{directory}/peer.db") as server:
        yield server
