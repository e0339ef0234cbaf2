"""Our `ReportClient` on openstack-placement: runs the tests of ``tests/api`` again.

Tests that need 2.0 are excluded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from falcon_placement_client import ReportClient
from falcon_placement_client.rest import RestApi
from tests.api import test_report_client as ours
from tests.kit.recorder import Recorder
from tests.kit.service import HEADERS
from tests.peer.servers import Server

IDENTITY = {name: value for name, value in HEADERS.items() if name.startswith("X-")}

globals().update(
    {
        name: test
        for name, test in vars(ours).items()
        if name.startswith("test_") and not name.endswith("_at_2_0")
    }
)


@pytest.fixture
def recorder(server: Server, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    @contextmanager
    def serving(_directory: Path) -> Iterator[Recorder]:
        yield emptied(server)

    monkeypatch.setattr(ours, "serving", serving)
    return emptied(server)


def emptied(server: Server) -> Recorder:
    """Send requests to the peer after deleting all of its data."""
    server.empty()
    session = Session(additional_headers=IDENTITY)
    return Recorder(Adapter(session, endpoint_override=server.url, service_type="placement"))


@pytest.fixture
def client(recorder: Recorder) -> ReportClient:
    return ReportClient(recorder)


@pytest.fixture(autouse=True)
def _on_the_peer(recorder: Recorder) -> None:
    """Tests that start separate services use the peer as well."""


def test_the_peer_is_spoken_to_in_the_first_line(recorder: Recorder) -> None:
    assert RestApi(recorder).version == (1, 39)


@pytest.fixture
def writes_trees() -> bool:
    """Whether `client` writes whole trees."""
    return False
