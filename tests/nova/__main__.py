"""nova's own tests of its report client, against this service: in process, and over HTTP.

nova's fixtures extend one of openstack-placement's tests. Here it is the service's, under the same
path. Everything else is nova's. `PLACEMENT_ENGINE` is the engine of the service over HTTP.

Runs on unittest: nova's base class for tests removes attributes that pytest still needs.
"""

from __future__ import annotations

import sys
import unittest
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session

from placement.tests.functional.fixtures.placement import PlacementFixture
from tests.kit import forked
from tests.kit.engines import ENGINE, empty_database, server
from tests.kit.processes import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

TESTS = "nova.tests.functional.test_report_client"


@contextmanager
def in_process() -> Iterator[Adapter]:
    """The service of the fixture, in this process: nova's own adapter reaches it."""
    yield Adapter(Session(auth=None), raise_exc=False)


@contextmanager
def over_http() -> Iterator[Adapter]:
    """A server process on an empty database. nova's service user has the role service."""
    with TemporaryDirectory() as home:
        database = empty_database(Path(home))
        with serving(Path(home), [database], OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP="true") as [
            server
        ]:
            identity = {"X-Auth-Token": "admin", "X-Roles": "admin,service"}
            session = Session(auth=None, additional_headers=identity)
            url = f"http://127.0.0.1:{server.port}"
            with mock.patch.object(PlacementFixture, "endpoint", url):
                yield Adapter(session, raise_exc=False)


def run(service: Callable[[], AbstractContextManager[Adapter]]) -> bool:
    """Run each of nova's tests on a separate service; return whether all passed."""
    from nova.tests.functional import fixtures as nova_fixtures

    set_up = nova_fixtures.PlacementFixture.setUp
    requests_of_tests: list[int] = []

    def set_up_on_service(self: Any) -> None:
        set_up(self)
        context = service()
        self._client = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        send = self._client.request
        requests_of_tests.append(0)

        def request(*args: Any, **options: Any) -> Any:
            requests_of_tests[-1] += 1
            return send(*args, **options)

        self._client.request = request

    with mock.patch.object(nova_fixtures.PlacementFixture, "setUp", set_up_on_service):
        suite = unittest.defaultTestLoader.loadTestsFromName(TESTS)
        result = unittest.TextTestRunner(verbosity=1).run(suite)
    print(
        f"{service.__name__}: {result.testsRun} tests, {sum(requests_of_tests)} requests, "
        f"{len(result.failures)} failures, {len(result.errors)} errors, "
        f"{len(result.skipped)} skipped"
    )
    return result.wasSuccessful() and all((result.testsRun, sum(requests_of_tests)))


if __name__ == "__main__":
    # Each test of nova has temporary files in a directory that it deletes.
    forked.prepare()
    if ENGINE != "sqlite":
        server()
    sys.exit(not all([run(in_process), run(over_http)]))
