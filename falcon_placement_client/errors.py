"""What can go wrong at a client; every text says where, and what to do about it."""


class ClientError(Exception):
    """The base of what this package raises, but for keystoneauth1's errors of connections."""

    # Whether another client wrote first: the same may succeed after another look.
    is_conflict = False


class ProviderTreeError(ClientError, ValueError):
    """A tree that cannot be so, or a provider that it does not have."""


class ConsumerError(ClientError, ValueError):
    """A consumer, or what one holds, that cannot be so."""


class RestError(ClientError):
    """A server did not do what it was asked for; the text says where and why, on one line."""


class NoPlacementService(ClientError):
    """What answers is not a placement service: another one, or something before it."""


class ServiceTooOld(ClientError):
    """The service does not speak the microversions that are needed."""


class UpdateFailed(ClientError):
    """A tree could not be written; what was written before stays, and the next update goes on."""


class ReshapeNeeded(ClientError):
    """Inventory that is in use would have to move, and the allocations of it were not given.

    Drivers raise it when they are called without allocations, and so does an update.
    """


class ReshapeFailed(ClientError):
    """A reshape was refused; neither inventories nor allocations have changed.

    is_stale: whether others have written since tree and allocations were read, so that it may
    succeed once they are read again.
    """

    def __init__(self, text: str, *, is_stale: bool = False) -> None:
        super().__init__(text)
        self.is_stale = self.is_conflict = is_stale


class NoCandidates(ClientError):
    """Nothing can serve a request now."""


class AllocationConflict(ClientError):
    """The allocations of a consumer are not as the caller thought, or what is to be fits nowhere.

    is_conflict: whether another client wrote first, so that another look may help.
    """


def reason(error: BaseException) -> str:
    """Return the system's own words, which lie below the layers that wrap them."""
    from keystoneauth1 import exceptions  # noqa: PLC0415

    if isinstance(error, exceptions.ConnectTimeout):
        return "no answer in time"
    layer: BaseException | None = error
    if isinstance(error, exceptions.ConnectionError):
        # Its text is the URL, and the text of what it was raised for.
        layer = error.__context__ or error
    text = " ".join(str(layer).split())[:200] or type(layer).__name__
    while layer is not None:
        if isinstance(layer, OSError) and layer.strerror:
            return str(layer.strerror).lower()
        layer = _below(layer)
    return text


def _below(error: BaseException) -> BaseException | None:
    """Return the error that another one wraps: by `raise from`, as urllib3 does, or as argument."""
    argument = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
    below: BaseException | None = (
        error.__cause__ or getattr(error, "reason", None) or argument or error.__context__
    )
    return below
