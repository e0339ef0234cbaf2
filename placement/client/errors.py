"""What can go wrong at a client; every text says where, and what to do about it."""


class ClientError(Exception):
    """The base of what this package raises, but for keystoneauth1's errors of connections."""


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
        self.is_stale = is_stale


class NoCandidates(ClientError):
    """Nothing can serve a request now."""


class AllocationConflict(ClientError):
    """Somebody else has written the allocations of the consumer."""
