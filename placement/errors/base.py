"""The base classes of errors, and the codes that clients receive."""

from collections.abc import Iterator
from contextlib import contextmanager

UNDEFINED = "placement.undefined_code"
CONCURRENT_UPDATE = "placement.concurrent_update"
INVENTORY_IN_USE = "placement.inventory.inuse"
DUPLICATE_NAME = "placement.duplicate_name"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
NO_CANDIDATES = "placement.no_candidates"
HOLD_LIMIT = "placement.hold_limit"
HOLD_EXPIRED = "placement.hold_expired"
CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_MISSING_VALUE = "placement.query.missing_value"
CURSOR_EXPIRED = "placement.cursor_expired"
# Codes of 503 responses. They exist since 2.0.
DATABASE_UNAVAILABLE = "placement.database.unavailable"
DATABASE_UNUSABLE = "placement.database.unusable"
OUTCOME_UNKNOWN = "placement.outcome_unknown"
STATEMENT_TIMEOUT = "placement.statement_timeout"
SEARCH_EXHAUSTED = "placement.search_exhausted"
REQUEST_DEADLINE = "placement.request_deadline"
CLAIM_CONTENTION = "placement.claim_contention"
LARGE_WORK_BUSY = "placement.large_work_busy"


class PlacementError(Exception):
    """An error that may be sent to a client."""

    # Machine-readable name, or `UNDEFINED` if clients do not need a specific code.

    code = UNDEFINED

    @property
    def complaint(self) -> str:
        """One line for operators. It may contain more than the text for clients."""
        return str(self)


@contextmanager
def at_member(path: str) -> Iterator[None]:
    """Prefix the texts of errors that the block raises with the path of a body member."""
    try:
        yield
    except PlacementError as error:
        error.args = (f"{path}: {error}",)
        raise


class ConfigurationError(Exception):
    """The service cannot run with this configuration. The text is one line for operators."""


class UsageError(ConfigurationError):
    """The arguments of a command are missing, contradict each other, or have invalid values."""
