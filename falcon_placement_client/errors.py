"""Errors of the client. Their messages contain the cause and the remedy."""

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # PERF: commands that do not send requests start faster without it.
    import requests

CONFLICT = "placement.concurrent_update"  # another client has written since the generation was read
_OPENSSL = re.compile(r"^\[SSL: \w+\] | \(_ssl\.c:\d+\)$")  # around a text
MAX_REPEATED = 80  # maximum length of a value in an error, in characters


class ClientError(Exception):
    """The base class of all errors in this package. Errors of keystoneauth1 are not included."""

    # Whether another client has written first. If so, a retry with fresh data may succeed.
    is_conflict = False


class ProviderTreeError(ClientError, ValueError):
    """A tree is inconsistent or does not contain a provider."""


class ConsumerError(ClientError, ValueError):
    """A consumer or its allocations are not valid."""


class RestError(ClientError):
    """A request of a command has failed. The message is one line.

    Attributes:
        status: the status of the response, or None without a response of the service.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


class NoPlacementService(ClientError):
    """The endpoint is not a placement service."""


class ServiceTooOld(ClientError):
    """The service does not support the required microversions."""


class UpdateFailed(ClientError):
    """A tree could not be written completely. The next update continues the write."""


class ReshapeNeeded(ClientError):
    """Inventory in use has to move, but no allocations were passed.

    Drivers and updates raise this error if they are called without allocations.
    """


class ReshapeFailed(ClientError):
    """The service refused a reshape. Inventories and allocations have not changed.

    Attributes:
        is_stale: whether other clients have written since tree and allocations were read; if so, a
            retry with fresh data may succeed.
    """

    def __init__(self, text: str, *, is_stale: bool = False) -> None:
        super().__init__(text)
        self.is_stale = self.is_conflict = is_stale


class NoCandidates(ClientError):
    """No candidate currently satisfies a request."""


class HoldExpired(ClientError):
    """A consumer is not a hold: it was released, confirmed, or written by another client."""


class AllocationConflict(ClientError):
    """The allocations of a consumer have changed, or the new allocations do not fit.

    Attributes:
        is_conflict: whether another client wrote first; if so, a retry may succeed.
    """


def reason(error: BaseException) -> str:
    """Return the message of the operating system, which other errors wrap."""
    from keystoneauth1 import exceptions  # noqa: PLC0415

    if isinstance(error, exceptions.ConnectTimeout):
        return "no response in time"
    layer: BaseException | None = error
    while isinstance(layer, exceptions.ConnectionError) and layer.__context__:
        layer = layer.__context__  # the text of this error is the URL and the text of its cause
    text = " ".join(str(layer).split())[:200] or type(layer).__name__
    while layer is not None:
        if getattr(layer, "reason", None) == "WRONG_VERSION_NUMBER":
            return "the server does not use TLS, so its URL begins with http://"
        if isinstance(layer, OSError) and layer.strerror:
            return _OPENSSL.sub("", layer.strerror).lower()
        layer = _below(layer)
    return text


def unreachable(error: BaseException) -> str:
    """Return one sentence about a connection of keystoneauth1 that failed."""
    request = getattr(error.__context__, "request", None)
    # The identity service may be the one that cannot be reached.
    url = getattr(request, "url", None) or "the service"
    return f"cannot reach {url.partition('?')[0]}: {reason(error)}"


def _below(error: BaseException) -> BaseException | None:
    """Return the error that another error wraps: its cause or, in urllib3, its argument."""
    argument = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
    below: BaseException | None = (
        error.__cause__ or getattr(error, "reason", None) or argument or error.__context__
    )
    return below


class RefusedError(RestError):
    """The response to a request is an error."""

    #: The status of the response.
    status: int

    def __init__(self, request: str, status: int, code: str, detail: str, offer: str = "") -> None:
        #: Method and path, without the query.
        self.request = request
        #: The server's error code, or empty without a code.
        self.code = code
        #: The server's error message, in one line.
        self.detail = detail
        #: A text with the versions that the server supports, if it lists them.
        self.offer = offer
        #: Whether another client has written concurrently.
        self.is_conflict = code == CONFLICT
        super().__init__(f"{request} was refused with {status}: {detail}", status)


def refusal(request: str, response: "requests.Response") -> RefusedError:
    """Return the error for a refusal or a redirection. request: method and path."""
    error = _error_object(response)
    detail = str(error.get("detail") or response.reason or "no reason given")
    if response.status_code < 400 and "Location" in response.headers:
        detail += f" to {response.headers['Location']}; redirections are not followed"
    code = str(error.get("code", ""))
    offer = ""
    if "min_version" in error and "max_version" in error:
        offer = f"it offers {error['min_version']} to {error['max_version']}"
    return RefusedError(request, response.status_code, code, " ".join(detail.split()), offer)


def _error_object(response: "requests.Response") -> dict[str, Any]:
    """Return the error object of a response. Empty if the response contains none."""
    try:
        error = response.json()["errors"][0]
    except (ValueError, LookupError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}


class RequestError(ClientError, ValueError):
    """A candidate request is malformed, or cannot be expressed for a server.

    Args:
        key: the parameter, the key of a flavor, or the path of a member; the text begins with it.
        text: description of the error.
    """

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        super().__init__(f"{key}: {text}")


def bad_value(key: str, value: str, text: str) -> RequestError:
    """Return the error for a value, with an excerpt of limited length."""
    repeated = value if len(value) <= MAX_REPEATED else f"{value[:MAX_REPEATED]}…"
    return RequestError(f"{key}={repeated}", text)


def path_of(*steps: str | int) -> str:
    """Return the path of a member in the same form as in responses: `groups._NIC.required[0]`."""
    path = ""
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        else:
            path += f".{step}" if step else '[""]'
    return path.removeprefix(".")
