"""What can go wrong at a client; every text says where, and what to do about it."""


class ClientError(Exception):
    """The base of what this package raises, but for keystoneauth1's errors of connections."""


class ProviderTreeError(ClientError, ValueError):
    """A tree that cannot be so, or a provider that it does not have."""


class ServiceTooOld(ClientError):
    """The service does not speak the microversions that are needed."""


class ServiceRefusal(ClientError):
    """The service answered a request with an error.

    request: method and path. status: of HTTP. code: the service's error code, empty when it gave
    none. detail: what the service says.
    """

    def __init__(self, request: str, status: int, code: str, detail: str) -> None:
        self.request = request
        self.status = status
        self.code = code
        self.detail = detail
        super().__init__(f"{request} was refused with {status}: {detail}")

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else was faster: the same may succeed after another look."""
        return self.code == "placement.concurrent_update"


class UpdateFailed(ClientError):
    """A tree could not be written; what was written before stays, and the next update goes on."""


class ReshapeNeeded(ClientError):
    """Inventory that is in use would have to move, and the allocations of it were not given.

    Drivers raise it when they are called without allocations, and so does an update.
    """


class ReshapeFailed(ClientError):
    """The service refused a reshape; neither inventories nor allocations have changed."""


class NoCandidates(ClientError):
    """Nothing can serve a request now."""


class AllocationConflict(ClientError):
    """Somebody else has written the allocations of the consumer."""
