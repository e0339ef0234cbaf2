"""Errors of the client. Their messages contain the cause and the remedy."""


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
        return "no answer in time"
    layer: BaseException | None = error
    while isinstance(layer, exceptions.ConnectionError) and layer.__context__:
        layer = layer.__context__  # the text of this error is the URL and the text of its cause
    text = " ".join(str(layer).split())[:200] or type(layer).__name__
    while layer is not None:
        if isinstance(layer, OSError) and layer.strerror:
            return str(layer.strerror).lower()
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
