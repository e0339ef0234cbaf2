"""A pytest plugin with fixtures for tests of programs that use a placement service.

pytest loads the plugin wherever the client is installed. The fixtures require the service,
falcon-placement. If it is not installed, a test that uses a fixture fails, and the message contains
the package to install.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

# Loads a cloud file, whose path is relative to the test file. Returns the UUIDs of the providers by
# name.
LoadCloud = Callable[[str | Path], dict[str, str]]


@pytest.fixture
def placement_service() -> Iterator["Adapter"]:
    """Return a keystoneauth1 adapter of an empty service in this process, on SQLite.

    Use it as `ReportClient(placement_service)`. The caller has the roles admin and service.
    """
    with _testing("placement_service").direct() as adapter:
        yield adapter


@pytest.fixture
def placement_url() -> Iterator[str]:
    """Return the URL of an empty server process, on SQLite.

    Use it as `ReportClient.at(placement_url, "admin")`.
    """
    with _testing("placement_url").serving() as url:
        yield url


@pytest.fixture
def placement_cloud(request: pytest.FixtureRequest) -> LoadCloud:
    """Return a function that loads a cloud file: `placement_cloud("file.yaml")`.

    If the test uses `placement_url`, the providers and consumers in the file are created in the
    server. Otherwise, they are created in `placement_service`.
    """
    _testing("placement_cloud")
    # PERF: pytest imports the plugin in each run.
    from falcon_placement_client import loader  # noqa: PLC0415

    return lambda path: loader.load(request.path.parent / path, _adapter(request))


def _adapter(request: pytest.FixtureRequest) -> "Adapter":
    if "placement_url" in request.fixturenames:
        from falcon_placement_client.identity import connect  # noqa: PLC0415

        return connect(request.getfixturevalue("placement_url"), "admin")
    adapter: Adapter = request.getfixturevalue("placement_service")
    return adapter


def _testing(fixture: str) -> Any:
    """Return the module of the service. If the service is not installed, fail the test."""
    from falcon_placement_client import service  # noqa: PLC0415

    try:
        return service.load("testing", f"the fixture {fixture}")
    except service.ServiceNotInstalled as error:
        pytest.fail(str(error), pytrace=False)
