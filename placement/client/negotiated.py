"""The REST API over a keystoneauth1 adapter, in the newest version that both sides know."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import requests

from placement.client.answers import refusal
from placement.client.errors import NoPlacementService, ServiceTooOld

if TYPE_CHECKING:
    # PERF: commands that need no adapter start without it.
    from keystoneauth1.adapter import Adapter

Version = tuple[int, int]

LEAST: Version = (1, 36)
MOST_OF_FIRST_LINE: Version = (1, 39)
SECOND_LINE: Version = (2, 0)

_ADVICE = "is the endpoint that of placement?"


class NegotiatedApi:
    """One service: JSON in, JSON out, refusals as exceptions; threads may share it."""

    def __init__(self, adapter: "Adapter", at_most: Version = SECOND_LINE) -> None:
        """Take an adapter of the service; at_most: the newest microversion to speak."""
        self._adapter = adapter
        self._at_most = at_most
        self._version: Version | None = None

    @property
    def version(self) -> Version:
        """The microversion that is spoken; the service is asked once.

        Raises ServiceTooOld if it does not speak 1.36.
        """
        if self._version is None:
            self._version = self._negotiate()
        return self._version

    @property
    def speaks_second_line(self) -> bool:
        """Whether the service speaks placement 2.0."""
        return self.version >= SECOND_LINE

    def get(self, path: str) -> Any:
        """Return the JSON value at a path.  Raises RefusedError, as all of these do."""
        return self.send("GET", path)

    def put(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a body, if there is one; return the answer's JSON, None when it has none."""
        return self.send("PUT", path, body)

    def post(self, path: str, body: Mapping[str, Any], version: Version | None = None) -> Any:
        """Send a body; return the answer's JSON, None when it has none."""
        return self.send("POST", path, body, version)

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        self.send("DELETE", path)

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        version: Version | None = None,
    ) -> Any:
        """Send a request, at another microversion than usual if one is given.

        Raises RefusedError for an error status, and keystoneauth1's ClientException when there is
        no answer at all.
        """
        major, minor = version or self.version
        # In the header, so that an adapter needs to know nothing of placement.
        headers = {
            "Accept": "application/json",
            "OpenStack-API-Version": f"placement {major}.{minor}",
        }
        answer = self._adapter.request(
            path, method, json=body, headers=headers, microversion=None, raise_exc=False
        )
        if answer.status_code >= 400:
            raise refusal(f"{method} {path}", answer)
        if not answer.content:
            return None
        try:
            return answer.json()
        except requests.JSONDecodeError:
            raise NoPlacementService(f"{method} {path}: the answer is no JSON; {_ADVICE}") from None

    def _negotiate(self) -> Version:
        document = self.send("GET", "/", version=(1, 0))
        try:
            lines = {line["id"]: line for line in document["versions"]}
            newest = _version_of(lines["v1.0"]["max_version"])
        except (LookupError, TypeError, ValueError):
            raise NoPlacementService(
                f"GET /: the answer lists no versions of placement; {_ADVICE}"
            ) from None
        if newest < LEAST:
            raise ServiceTooOld(
                f"the service speaks placement 1.0 to {newest[0]}.{newest[1]}; "
                f"{LEAST[0]}.{LEAST[1]} or later is needed"
            )
        if "v2.0" in lines and self._at_most >= SECOND_LINE:
            return SECOND_LINE
        return min(newest, self._at_most, MOST_OF_FIRST_LINE)


def _version_of(text: str) -> Version:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
