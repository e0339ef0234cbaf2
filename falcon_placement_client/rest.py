"""The REST API over a keystoneauth1 adapter: JSON in, JSON out, failures as exceptions."""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from falcon_placement_client.answers import RefusedError, refusal
from falcon_placement_client.errors import ClientError, NoPlacementService, ServiceTooOld

if TYPE_CHECKING:
    # PERF: commands that need no adapter start without it.
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)

Version = tuple[int, int]
Result = TypeVar("Result")

LEAST: Version = (1, 36)
MOST_OF_FIRST_LINE: Version = (1, 39)
SECOND_LINE: Version = (2, 0)
# Consumers keep their types, also none at all, where the version cannot state one.
TYPES_UNSTATED: Version = LEAST
NOT_ACCEPTABLE = 406  # the status of a version that a service does not speak

_ADVICE = "is the endpoint that of placement?"


class RestApi:
    """One service; threads may share it."""

    def __init__(self, adapter: "Adapter", at_most: Version = SECOND_LINE, **options: Any) -> None:
        """Take an adapter of the service; at_most: the newest microversion to speak.

        options: of each request of the adapter, such as `timeout`.
        """
        self._adapter = adapter
        self._options = options
        self._at_most = at_most
        self._version: Version | None = None

    @property
    def version(self) -> Version:
        """The microversion that is spoken; `run` asks the service again when it is refused.

        Raises ServiceTooOld if it does not speak 1.36.
        """
        if self._version is None:
            self._version = self._negotiate()
        return self._version

    @property
    def speaks_second_line(self) -> bool:
        """Whether the service speaks placement 2.0."""
        return self.version >= SECOND_LINE

    def run(self, operation: Callable[[], Result]) -> Result:
        """Return the result of an operation, run again if the service has other versions by now.

        A service that is rolled back refuses the version that it spoke before, with 406. What was
        sent until then may be sent again: reads, and writes that compare with what was read.
        """
        version = self.version
        try:
            return operation()
        except ClientError as error:
            if isinstance(error, RefusedError) and error.status == NOT_ACCEPTABLE:
                self._version = self._negotiate()
            # Or another thread has found it out, between two requests of this operation.
            if self.version == version:
                raise
        LOG.info("the service speaks placement %d.%d now, it spoke %d.%d", *self.version, *version)
        return operation()

    def get(self, path: str, version: Version | None = None) -> Any:
        """Return the JSON value at a path.  Raises RefusedError, as all of these do."""
        return self.send("GET", path, None, version)

    def put(
        self, path: str, body: Mapping[str, Any] | None = None, version: Version | None = None
    ) -> Any:
        """Send a body, if there is one; return the answer's JSON, None when it has none."""
        return self.send("PUT", path, body, version)

    def post(self, path: str, body: Mapping[str, Any], version: Version | None = None) -> Any:
        """Send a body; return the answer's JSON, None when it has none."""
        return self.send("POST", path, body, version)

    def delete(self, path: str) -> None:
        """Delete what is at a path."""
        self.send("DELETE", path)

    def pages(self, query: str, version: Version | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the providers of a list, of which an answer may have a limited number."""
        path = f"/resource_providers?{query}"
        answer = self.get(path, version)
        while True:
            providers = answer["resource_providers"]
            yield from providers
            if not answer.get("resource_providers_links"):
                return
            answer = self.get(f"{path}&marker={providers[-1]['uuid']}", version)

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        version: Version | None = None,
    ) -> Any:
        """Send a request, at another microversion than usual if one is given.

        Raises RefusedError for an error status, NoPlacementService for an answer that is not JSON,
        and keystoneauth1's ClientException when there is no answer at all.
        """
        major, minor = version or self.version
        # In the header, so that an adapter needs to know nothing of placement.
        headers = {
            "Accept": "application/json",
            "OpenStack-API-Version": f"placement {major}.{minor}",
        }
        answer = self._adapter.request(
            path,
            method,
            json=body,
            headers=headers,
            microversion=None,
            raise_exc=False,
            **self._options,
        )
        request = f"{method} {path.partition('?')[0]}"
        if answer.status_code >= 300:
            raise refusal(request, answer)
        if not answer.content:
            return None
        try:
            return answer.json()
        except ValueError:
            raise NoPlacementService(f"{request}: the answer is no JSON; {_ADVICE}") from None

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


def retry(
    attempt: Callable[[], Result],
    pauses: Iterable[float],
    may_pass: Callable[[ClientError], bool] = lambda error: error.is_conflict,
) -> Result:
    """Return the result of `attempt`, called again after a conflict with another writer.

    pauses: the longest that each further attempt waits, in seconds; a random part of it is waited.
    may_pass: whether another attempt may succeed after an error. Raises what `attempt` raises.
    """
    for pause in pauses:
        try:
            return attempt()
        except ClientError as error:
            if not may_pass(error):
                raise
            LOG.debug("another client wrote first: %s", error)
        time.sleep(random.uniform(0, pause))
    return attempt()


def _version_of(text: str) -> Version:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
