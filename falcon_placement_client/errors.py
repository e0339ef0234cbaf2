"""Errors of the client, whose messages state the cause and the remedy."""


class ClientError(Exception):
    """The base class of all errors of this package, except for keystoneauth1's errors."""

    # Whether another client wrote first; if so, a retry with fresh data may succeed.
    is_conflict = False


class ProviderTreeError(ClientError, ValueError):
    """A tree is inconsistent, or does not have a provider."""


class ConsumerError(ClientError, ValueError):
    """A consumer or its allocations are malformed."""


class RestError(ClientError):
    """The error of a failed request of a command, with a message of one line."""


class NoPlacementService(ClientError):
    """The endpoint is not a placement service."""


class ServiceTooOld(ClientError):
    """The service does not support the required microversions."""


class UpdateFailed(ClientError):
    """A tree could not be written completely. The next update continues."""


class ReshapeNeeded(ClientError):
    """Inventory in use has to move, but no allocations were given.

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
    """A consumer is no hold: it was released, confirmed, or written by another client."""


class AllocationConflict(ClientError):
    """The allocations of a consumer have changed, or the new allocations do not fit.

    Attributes:
        is_conflict: whether another client wrote first; if so, a retry may succeed.
    """


def reason(error: BaseException) -> str:
    """Return the message of the operating system that other errors wrap."""
    from keystoneauth1 import exceptions  # noqa: PLC0415

    if isinstance(error, exceptions.ConnectTimeout):
        return "no answer in time"
    layer: BaseException | None = error
    if isinstance(error, exceptions.ConnectionError):
        # Its text is the URL and the text of its cause.
        layer = error.__context__ or error
    text = " ".join(str(layer).split())[:200] or type(layer).__name__
    while layer is not None:
        if isinstance(layer, OSError) and layer.strerror:
            return str(layer.strerror).lower()
        layer = _below(layer)
    return text


def _below(error: BaseException) -> BaseException | None:
    """Return the error that another one wraps, as its cause or, in urllib3, as an argument."""
    argument = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
    below: BaseException | None = (
        error.__cause__ or getattr(error, "reason", None) or argument or error.__context__
    )
    return below
