"""The REST API as commands use it: JSON in, JSON out, failures as one sentence."""

import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import requests

from placement.client.answers import RefusedError, error_object, refusal
from placement.client.errors import RestError

MICROVERSION = "1.39"  # unless a command needs another
TIMEOUT_SECONDS = (5.0, 60.0)
TRIES = 3
PAUSE_SECONDS = 0.3
POLL_SECONDS = 0.1
_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_BUSY = frozenset((502, 503, 504))


class LostError(RestError):
    """The connection broke after the server had answered before."""


class RestClient:
    """A client of one server, which any number of threads may use."""

    def __init__(self, url: str, token: str, microversion: str = MICROVERSION) -> None:
        """Take where the API is mounted, as `http://127.0.0.1:8778`, and the X-Auth-Token.

        microversion: of requests that state none. Raises RestError when the URL or the token cannot
        be used at all.
        """
        self.url = url.rstrip("/")
        self.microversion = microversion
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            usable = False
        if not usable:
            raise RestError(f"{url!r} is not the URL of a server; http://127.0.0.1:8778 is one")
        if not (token.isascii() and token.isprintable() and token == token.strip()):
            raise RestError("the token can hold only printable ASCII characters")
        self._answered = False
        # A proxy meant for the outside has no way back to this machine.
        self._trust_env = parts.hostname not in _LOOPBACK
        self._headers = {"Accept": "application/json", "X-Auth-Token": token}
        self._local = threading.local()
        self._sessions: list[requests.Session] = []

    @property
    def _session(self) -> requests.Session:
        """The session of this thread: they are not made to be shared."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = requests.Session()
            session.trust_env = self._trust_env
            session.headers.update(self._headers)
            self._sessions.append(session)
        return session

    def close(self) -> None:
        """Close all connections."""
        for session in self._sessions:
            session.close()

    def wait(self, seconds: float) -> None:
        """Return when the server answers `GET /`.  Raises RestError if it does not in time."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                left = min(5.0, max(0.1, deadline - time.monotonic()))
                response = self._session.get(f"{self.url}/", timeout=left)
                if response.status_code < 500:
                    return
                reason = f"status {response.status_code}"
            except requests.RequestException as error:
                reason = _reason(error)
            if time.monotonic() >= deadline:
                raise RestError(f"no answer from {self.url} in {seconds:g} seconds: {reason}")
            time.sleep(POLL_SECONDS)

    def get(self, path: str, microversion: str | None = None) -> Any:
        """Return the JSON value at `path`, below the mount point, at a version.

        microversion: None for the client's. Raises RefusedError for an error status; RestError
        without a connection, without permission, and for an answer that is not JSON.
        """
        return self._request("GET", path, microversion=microversion)

    def items(self, path: str, member: str) -> list[Any]:
        """Return the list that is `member` of the JSON value at `path`.

        Raises RestError as `get` does, and when the URL is not that of a placement server.
        """
        try:
            answer = self.get(path)
        except RefusedError as refusal:
            if refusal.status == 404:
                raise RestError(f"{self.url} is not a placement server: {refusal}") from None
            raise
        members = answer.get(member) if isinstance(answer, dict) else None
        if not isinstance(members, list):
            raise RestError(f"{self.url} is not a placement server: no {member} at {path}")
        return members

    def put(
        self, path: str, body: Mapping[str, Any] | None = None, microversion: str | None = None
    ) -> Any:
        """Send `body` and return the JSON answer, None when it is empty; raise as `get` does."""
        return self._request("PUT", path, body, microversion)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send `body` and return the JSON answer, None when it is empty; raise as `get` does."""
        return self._request("POST", path, body)

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        microversion: str | None = None,
    ) -> Any:
        microversion = microversion or self.microversion
        response = self._send(method, path, body, microversion)
        self._answered = True
        request = f"{method} {path.partition('?')[0]}"
        if response.status_code >= 300:
            raise _error(request, response, microversion)
        if not response.content:
            return None
        try:
            return response.json()
        except requests.JSONDecodeError:
            raise RestError(f"{request}: {self.url} does not answer in JSON") from None

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, microversion: str
    ) -> requests.Response:
        """Send a request, again if the connection breaks or the server is busy for a moment.

        Every request of the commands can be repeated: reading the provider again shows what a
        request changed whose answer was lost.
        """
        for attempt in range(1, TRIES + 1):
            last = attempt == TRIES
            try:
                response = self._session.request(
                    method,
                    self.url + path,
                    json=body,
                    headers={"OpenStack-API-Version": f"placement {microversion}"},
                    timeout=TIMEOUT_SECONDS,
                    allow_redirects=False,
                )
                if response.status_code not in _BUSY or last:
                    return response
            except requests.RequestException as error:
                if not self._answered:
                    raise RestError(f"cannot reach {self.url}: {_reason(error)}") from None
                if last:
                    text = f"lost {self.url} at {method} {path}: {_reason(error)}"
                    raise LostError(text) from None
            time.sleep(PAUSE_SECONDS * attempt)
        raise AssertionError("unreachable")


def _reason(error: BaseException) -> str:
    """Return the system's own words, which lie below the layers that wrap them."""
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    layer: BaseException | None = error
    while layer is not None:
        if isinstance(layer, OSError) and layer.strerror:
            return str(layer.strerror).lower()
        layer = _below(layer)
    return " ".join(str(error).split())[:200] or type(error).__name__


def _below(error: BaseException) -> BaseException | None:
    """Return the error that another one wraps: by `raise from`, as urllib3 does, or as argument."""
    argument = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
    below: BaseException | None = (
        error.__cause__ or getattr(error, "reason", None) or argument or error.__context__
    )
    return below


def _error(request: str, response: requests.Response, microversion: str) -> RestError:
    status = response.status_code
    refused = refusal(request, response)
    if status == 401:
        return RestError(
            "the server does not accept the token (401); give one with --token or OS_TOKEN"
        )
    if status == 403:
        return RestError(f"the token does not permit {request} (403); use an administrator's")
    if status == 406:
        error, offered = error_object(response), refused.detail
        if "min_version" in error and "max_version" in error:
            offered = f"it offers {error['min_version']} to {error['max_version']}"
        return RestError(f"the server does not speak version {microversion} (406): {offered}")
    return refused
