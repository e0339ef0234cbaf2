"""The REST API over a keystoneauth1 adapter. Values are JSON, and errors are exceptions."""

import logging
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from falcon_placement_client.errors import (
    ClientError,
    NoPlacementService,
    RefusedError,
    RestError,
    ServiceTooOld,
    refusal,
    unreachable,
)

if TYPE_CHECKING:
    # PERF: commands that do not need an adapter start faster without it.
    import requests
    from keystoneauth1.adapter import Adapter

LOG = logging.getLogger(__name__)

Version = tuple[int, int]
Result = TypeVar("Result")

LEAST: Version = (1, 36)
MAX_V1: Version = (1, 39)
V2: Version = (2, 0)
# Version of requests without consumer types. Consumers keep their types.
TYPES_UNSTATED: Version = LEAST
NOT_ACCEPTABLE = 406  # status of the response to an unsupported version

_ADVICE = "is the endpoint that of placement?"


class RestApi:
    """One service. Thread-safe."""

    def __init__(self, adapter: "Adapter", at_most: Version = V2, **options: Any) -> None:
        """Create the API.

        Args:
            adapter: sends the requests.
            at_most: newest microversion to use.
            options: options of each request of the adapter, such as `timeout`.
        """
        self._adapter = adapter
        self._options = options
        self._at_most = at_most
        self._version: Version | None = None
        # Whether the service supports 2.0 but not /provider_trees. A request determines this.
        self.lacks_trees = False

    @property
    def adapter(self) -> "Adapter":
        """The adapter that sends the requests."""
        return self._adapter

    @property
    def version(self) -> Version:
        """The microversion in use. If the service refuses it, `run` negotiates it again.

        Raises:
            ServiceTooOld: the service does not support 1.36.
        """
        if self._version is None:
            self._version = self._negotiate()
        return self._version

    @property
    def supports_v2(self) -> bool:
        """Whether the service supports placement 2.0."""
        return self.version >= V2

    @property
    def writes_trees(self) -> bool:
        """Whether the service supports `PUT /provider_trees`.

        A request may show that it does not.
        """
        return self.supports_v2 and not self.lacks_trees

    def require_v2(self, feature: str) -> None:
        """Raise ServiceTooOld, with the name of a feature, if the service does not support 2.0."""
        if not self.supports_v2:
            version = f"{self.version[0]}.{self.version[1]}"
            raise ServiceTooOld(
                f"{feature} needs placement 2.0; "
                + (
                    f"the service supports {version}"
                    if self._at_most >= V2
                    else f"requests are limited to {version}: see --os-placement-api-version"
                )
            )

    def run(self, operation: Callable[[], Result]) -> Result:
        """Return the result of an operation. Repeat it if the service has changed its version.

        After a downgrade, a service refuses the previous version with 406. Requests of the
        operation may then be repeated: reads, and writes that compare with the state that was read.
        """
        version = self.version
        try:
            return operation()
        except ClientError as error:
            if _refuses_version(error):
                self._version = self._negotiate()
            # Another thread may have already negotiated between two requests of this operation.
            if self.version == version:
                raise
        LOG.info("the service supports placement %d.%d now, not %d.%d", *self.version, *version)
        return operation()

    def check_service(self) -> None:
        """Raise a ClientError if the server is not a placement service that can be used."""
        self._negotiate()

    def get(self, path: str, version: Version | None = None) -> Any:
        """Return the JSON value at a path. Raises RefusedError, like all of these methods."""
        return self.send("GET", path, None, version)

    def put(
        self, path: str, body: Mapping[str, Any] | None = None, version: Version | None = None
    ) -> Any:
        """Send a body, if there is one. Return the JSON value in the response, or None."""
        return self.send("PUT", path, body, version)

    def put_tree(self, root: str, body: Mapping[str, Any]) -> Any:
        """Write a whole tree. If the response is 404, `writes_trees` becomes false."""
        try:
            return self.put(f"/provider_trees/{root}", body, V2)
        except RefusedError as refusal:
            # The service would create a missing root, so the path is the unknown object.
            if refusal.status == 404:
                self.lacks_trees = True
            raise

    def post(self, path: str, body: Mapping[str, Any], version: Version | None = None) -> Any:
        """Send a body. Return the JSON value in the response, or None."""
        return self.send("POST", path, body, version)

    def find(self, path: str) -> Any:
        """Return the JSON value at a path, or None if the status of the response is 404."""
        try:
            return self.get(path)
        except RefusedError as refusal:
            if refusal.status == 404:
                return None
            raise

    def delete(self, path: str) -> bool:
        """Delete the object at a path. Return whether it existed."""
        try:
            self.send("DELETE", path)
        except RefusedError as refusal:
            if refusal.status == 404:
                return False
            raise
        return True

    def pages(
        self, query: str, version: Version | None = None, noun: str = "resource_providers"
    ) -> Iterator[Mapping[str, Any]]:
        """Yield the objects in a list. The service may return the list in pages."""
        path = f"/{noun}?{query}"
        response = self.get(path, version)
        while True:
            yield from response[noun]
            if not response.get(f"{noun}_links"):
                return
            response = self.get(f"{path}&marker={response[noun][-1]['uuid']}", version)

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        version: Version | None = None,
    ) -> Any:
        """Send a request at the given microversion, or at the version in use.

        Raises:
            RefusedError: the response has an error status.
            NoPlacementService: the response is not JSON.
            keystoneauth1.exceptions.ClientException: there is no response.
        """
        response = self.respond(method, path, body, version)
        request = f"{method} {path.partition('?')[0]}"
        if response.status_code >= 300:
            raise refusal(request, response)
        if not response.content:
            return None
        try:
            return response.json()
        except (ValueError, RecursionError):
            raise NoPlacementService(f"{request}: the response is not JSON; {_ADVICE}") from None

    def respond(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        version: Version | None = None,
        **options: Any,
    ) -> "requests.Response":
        """Send a request like `send`. Return the response, with any status.

        options: options of this request of the adapter.
        Raises: keystoneauth1.exceptions.ClientException: there is no response.
        """
        major, minor = version or self.version
        # The version is set here, because the adapter does not know placement's microversions.
        headers = {
            "Accept": "application/json",
            "OpenStack-API-Version": f"placement {major}.{minor}",
        }
        from keystoneauth1.exceptions import ConnectFailure  # noqa: PLC0415

        try:
            return self._adapter.request(
                path,
                method,
                json=body,
                headers=headers,
                microversion=None,
                redirect=False,  # the adapter would send the token to any server
                raise_exc=False,
                **{**self._options, **options},
            )
        except ConnectFailure as error:
            # The text of the error repeats the path and names classes of libraries.
            raise type(error)(unreachable(error)) from error

    def _negotiate(self) -> Version:
        self.lacks_trees = False
        document = self._version_document()
        try:
            lines = {line["id"]: line for line in document["versions"]}
            newest = _version_of(lines["v1.0"]["max_version"])
        except (LookupError, TypeError, ValueError):
            raise NoPlacementService(
                f"GET /: the response lists no versions of placement; {_ADVICE}"
            ) from None
        if newest < LEAST:
            raise ServiceTooOld(
                f"the service supports placement 1.0 to {newest[0]}.{newest[1]}; "
                f"{LEAST[0]}.{LEAST[1]} or later is needed"
            )
        if "v2.0" in lines and self._at_most >= V2:
            return V2
        return min(newest, self._at_most, MAX_V1)

    def _version_document(self) -> Any:
        """Return the version document. A service lists 2.0 only to requests at 2.0."""
        if self._at_most >= V2:
            try:
                return self.get("/", V2)
            except ClientError as error:
                if not _refuses_version(error):
                    raise
        return self.get("/", (1, 0))


def retry(
    attempt: Callable[[], Result],
    pauses: Iterable[float],
    is_retriable: Callable[[ClientError], bool] = lambda error: error.is_conflict,
) -> Result:
    """Return the result of `attempt`. Repeat it after conflicts with other writers.

    Args:
        attempt: the operation.
        pauses: maximum seconds before each repetition; the actual pause is random.
        is_retriable: returns whether a repetition may succeed after an error.

    Raises:
        ClientError: the error of the last attempt.
    """
    for pause in pauses:
        try:
            return attempt()
        except ClientError as error:
            if not is_retriable(error):
                raise
            LOG.debug("another client wrote first: %s", error)
        time.sleep(random.uniform(0, pause))
    return attempt()


def _refuses_version(error: ClientError) -> bool:
    return isinstance(error, RestError) and error.status == NOT_ACCEPTABLE


def _version_of(text: str) -> Version:
    major, _, minor = text.partition(".")
    return int(major), int(minor)
