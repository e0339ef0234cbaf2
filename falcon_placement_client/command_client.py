"""The REST API for commands, with a fixed version and with errors of one sentence."""

import time
from collections.abc import Mapping
from typing import Any

from falcon_placement_client import identity
from falcon_placement_client.errors import (
    NoPlacementService,
    RefusedError,
    RestError,
    ServiceTooOld,
    reason,
)
from falcon_placement_client.identity import Identity
from falcon_placement_client.rest import LEAST, V2, RestApi, Version

MICROVERSION: Version = (1, 39)  # default, unless a command needs a different version
TIMEOUT_SECONDS = (5.0, 60.0)  # seconds for connecting, and for waiting for a response
POLL_SECONDS = 0.1
# Options of a request of an adapter that is not repeated.
ONCE: Mapping[str, Any] = {"connect_retries": 0, "status_code_retries": 0}


class LostError(RestError):
    """The connection was lost after earlier responses had been received."""


class RestClient(RestApi):
    """A client of one server. Thread-safe."""

    def __init__(
        self,
        url: str | None,
        token: Identity,
        version: Version | None = MICROVERSION,
        at_most: Version = V2,
    ) -> None:
        """Create a client.

        Args:
            url: address of the API, such as `http://127.0.0.1:8778`. None means the same as in
            `identity.connect`.
            token: the value of X-Auth-Token, or a cloud, or an adapter. None means the same as in
            `identity.connect`.
            version: version of requests that state none. None means the newest one of the server.
            at_most: newest version to use if the server supports it.

        Raises:
            RestError: url or token cannot be used.
        """
        super().__init__(identity.connect(url, token), at_most, timeout=TIMEOUT_SECONDS)
        self.url = str(self._adapter.get_endpoint()).rstrip("/")
        self._version = version
        self._is_fixed = version is not None
        # Newest version that the server supports, or None if it has not been requested yet.
        self._newest: Version | None = None

    @property
    def newest(self) -> Version:
        """The newest version that the server supports, or LEAST if it lists no such version."""
        if not self._is_fixed:
            return self.version
        if self._newest is None:
            try:
                self._newest = self._negotiate()
            except (NoPlacementService, ServiceTooOld):
                self._newest = LEAST  # later requests report the reason
        return self._newest

    @property
    def supports_v2(self) -> bool:
        """Whether the server supports placement 2.0. Requests may state an older version."""
        return self.version >= V2 or self.newest >= V2

    def close(self) -> None:
        """Close all connections."""
        self._adapter.session.session.close()

    def wait(self, seconds: float) -> None:
        """Wait until the server responds to `GET /`. Raises RestError after the time limit."""
        from keystoneauth1.exceptions import ClientException  # noqa: PLC0415

        deadline = time.monotonic() + seconds
        while True:
            left = min(5.0, max(0.1, deadline - time.monotonic()))
            try:
                response = self._adapter.get(
                    "/", timeout=left, redirect=False, raise_exc=False, **ONCE
                )
                if response.status_code < 500:
                    return
                problem = f"status {response.status_code}"
            except ClientException as error:
                problem = reason(error)
            if time.monotonic() >= deadline:
                raise RestError(f"no response from {self.url} in {seconds:g} seconds: {problem}")
            time.sleep(POLL_SECONDS)

    def items(self, path: str, member: str) -> list[Any]:
        """Return the list `member` of the JSON value at `path`.  Raises RestError."""
        try:
            response = self.get(path)
        except RefusedError as refusal:
            if refusal.status == 404:
                raise RestError(f"{self.url} is not a placement server: {refusal}") from None
            raise
        members = response.get(member) if isinstance(response, dict) else None
        if not isinstance(members, list):
            raise RestError(f"{self.url} is not a placement server: no {member} at {path}")
        return members

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        version: Version | None = None,
    ) -> Any:
        """Send a request. Retry it if the connection is lost or the server is busy.

        All requests of the commands can be repeated. If the response to a change is lost, reading
        the provider again shows whether the change was made.

        Raises:
            RefusedError: the response has an error status.
            RestError: there is no connection or no permission, or the response is not JSON.
        """
        from keystoneauth1.exceptions import ClientException  # noqa: PLC0415

        try:
            response = super().send(method, path, body, version)
        except RefusedError as refusal:
            self._has_responded()
            raise _sentence(refusal, version or self.version) from None
        except NoPlacementService:
            request = f"{method} {path.partition('?')[0]}"
            raise RestError(f"{request}: {self.url} does not respond in JSON") from None
        except ClientException as error:
            if not self._adapter.connect_retries:  # no response has been received
                is_default = self.url == identity.DEFAULT_URL
                hint = "state --url" if is_default else "check the URL, and that the service runs"
                raise RestError(f"cannot reach {self.url}: {reason(error)}; {hint}") from None
            raise LostError(f"lost {self.url} at {method} {path}: {reason(error)}") from None
        self._has_responded()
        return response

    def _has_responded(self) -> None:
        """From now on, retry lost connections, because the server is running."""
        self._adapter.connect_retries = identity.RETRIES


def _sentence(refusal: RefusedError, version: Version) -> RestError:
    """Return a one-sentence error if the server refuses the caller or the version."""
    match refusal.status:
        case 401:
            text = "the server does not accept the token (401); give one with --token or OS_TOKEN"
        case 403:
            text = f"the token does not permit {refusal.request} (403): {refusal.detail}"
        case 406:
            text = (
                f"the server does not support version {version[0]}.{version[1]} (406): "
                f"{refusal.offer or refusal.detail}"
            )
        case _:
            return refusal
    return RestError(text, refusal.status)
