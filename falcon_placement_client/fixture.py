"""`PlacementFixture`: the service for tests on `fixtures`, such as nova's functional tests.

Import it instead of `placement.tests.functional.fixtures.placement` of openstack-placement. It
requires the packages falcon-placement and fixtures.
"""

from collections.abc import Mapping
from typing import Any

import fixtures
import requests
from requests.adapters import HTTPAdapter

from falcon_placement_client import service


class PlacementFixture(fixtures.Fixture):
    """A service in this process. All `requests` sessions can reach it at `endpoint`.

    Attributes:
        token: of an administrator, for X-Auth-Token.
        endpoint: URL of the service; only this process can use it.
    """

    token = "admin"  # noqa: S105 - the service has noauth2
    endpoint = "http://placement.direct"

    def __init__(
        self, conf_fixture: Any = None, db: bool = True, register_opts: bool = True
    ) -> None:
        """Store the configuration.

        Args:
            conf_fixture: a fixture of oslo.config, whose `conf` has the options; None: defaults.
            db: whether the service gets a new SQLite database; otherwise it uses the configured
                one, whose schema exists.
            register_opts: accepted for compatibility; the service registers missing options.

        Raises:
            ValueError: there is neither a new database nor a configured one.
        """
        super().__init__()
        if conf_fixture is None and not db:
            raise ValueError("db=False needs a conf_fixture with the connection of a database")
        self._conf = None if conf_fixture is None else conf_fixture.conf
        self._db = db
        self._adapter: Any = None

    def _setUp(self) -> None:  # noqa: N802 - the name in fixtures
        """Start the service.  Raises ServiceNotInstalled."""
        testing = service.load("testing", "PlacementFixture")
        direct = testing.direct(self._conf, private=self._db)
        self._adapter = direct.__enter__()
        self.addCleanup(direct.__exit__, None, None, None)
        inner = self._adapter.session.session.get_adapter(self.endpoint)
        transport = _Transport(inner, self.token, testing.IDENTITY)
        usual, endpoint = requests.Session.get_adapter, self.endpoint

        def get_adapter(session: requests.Session, url: str) -> Any:
            return transport if url.startswith(endpoint) else usual(session, url)

        self.useFixture(fixtures.MonkeyPatch("requests.Session.get_adapter", get_adapter))

    def get(self, url: str, version: str | None = None) -> requests.Response:
        """Return the response to a GET, at a microversion such as `1.39`."""
        return self._send("GET", url, version)

    def put(self, url: str, data: Any = None, version: str | None = None) -> requests.Response:
        """Return the response to a PUT. `data` is sent as JSON unless it is None."""
        return self._send("PUT", url, version, data)

    def post(self, url: str, data: Any = None, version: str | None = None) -> requests.Response:
        """Return the response to a POST. `data` is sent as JSON unless it is None."""
        return self._send("POST", url, version, data)

    def delete(self, url: str, version: str | None = None) -> requests.Response:
        """Return the response to a DELETE."""
        return self._send("DELETE", url, version)

    def _send(
        self, method: str, url: str, version: str | None, data: Any = None
    ) -> requests.Response:
        # The adapter of the service has a default version, but tests set the version themselves.
        headers = {"OpenStack-API-Version": f"placement {version or '1.0'}"}
        answer: requests.Response = self._adapter.request(url, method, json=data, headers=headers)
        return answer


class _Transport(HTTPAdapter):
    """Passes requests on. If a request has a certain token, or no token, it gets an identity."""

    def __init__(self, inner: Any, token: str, identity: Mapping[str, str]) -> None:
        super().__init__()
        self._inner = inner
        self._token = token
        self._identity = identity

    def send(
        self, request: requests.PreparedRequest, *options: Any, **more_options: Any
    ) -> requests.Response:
        if request.headers.get("X-Auth-Token", self._token) == self._token:
            for name, value in self._identity.items():
                request.headers.setdefault(name, value)
        answer: requests.Response = self._inner.send(request, *options, **more_options)
        return answer
