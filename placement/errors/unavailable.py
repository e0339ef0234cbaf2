"""Errors of requests that the service cannot currently process."""

from placement.errors.base import (
    CLAIM_CONTENTION,
    DATABASE_UNAVAILABLE,
    DATABASE_UNUSABLE,
    LARGE_WORK_BUSY,
    OUTCOME_UNKNOWN,
    REQUEST_DEADLINE,
    SEARCH_EXHAUSTED,
    STATEMENT_TIMEOUT,
    PlacementError,
)


class Unavailable(PlacementError):
    """The service cannot currently process the request. The same request may succeed later."""

    # Seconds after which a client may retry the request, or None if a retry would not succeed.
    retry_after: int | None = 1


class DatabaseUnavailable(Unavailable):
    """The database does not respond, or does not have enough capacity for this request.

    Args:
        cause: for operators, the error of the database.
    """

    code = DATABASE_UNAVAILABLE

    def __init__(self, cause: str) -> None:
        super().__init__("The database is unavailable or overloaded; retry later")
        self._cause = cause

    @property
    def complaint(self) -> str:
        """One line for operators, with the error of the database."""
        return f"the database is unavailable: {self._cause}"


class DatabaseUnusable(Unavailable):
    """The service cannot use the database until an operator corrects a fault.

    Args:
        reason: description of the error, for clients.
        complaint: for operators, with the failed command, the error of the database, and a remedy.
    """

    code = DATABASE_UNUSABLE
    retry_after = None

    def __init__(self, reason: str, complaint: str) -> None:
        super().__init__(f"The database cannot be used: {reason}; see the server's log")
        self.reason = reason
        # The arguments, which are used to raise an equal error again.
        self.arguments = (reason, complaint)

    @property
    def complaint(self) -> str:
        """One line for operators, with the error of the database and a remedy."""
        return "the database cannot be used: {}: {}".format(*self.arguments)


class OutcomeUnknown(Unavailable):
    """The database failed during a COMMIT, so it is unknown whether the COMMIT succeeded."""

    code = OUTCOME_UNKNOWN

    def __init__(self) -> None:
        super().__init__(
            "The database failed during a COMMIT, and it is unknown whether the change was made; "
            "read the objects before you send the request again"
        )


class StatementTooLong(Unavailable):
    """A statement has reached its time limit. A retry would reach the limit again."""

    code = STATEMENT_TIMEOUT
    retry_after = None

    def __init__(self) -> None:
        super().__init__(
            "The database takes too long for this request; request less (limit, fewer conditions, "
            "in_tree, member_of), or raise [placement_database]statement_timeout"
        )


class SearchExhausted(Unavailable):
    """The search has used up its limit on work before it found a candidate."""

    code = SEARCH_EXHAUSTED

    def __init__(self, steps: int) -> None:
        super().__init__(
            f"The search found no candidate within {steps} steps of work, and stopped; "
            f"narrow the request (in_tree, member_of, required, fewer groups) or raise "
            f"[placement]max_search_steps"
        )


class DeadlineExceeded(Unavailable):
    """The work for a request has exceeded the deadline. Nothing has changed."""

    code = REQUEST_DEADLINE

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The request exceeded {seconds:g} seconds of work, and nothing was changed; "
            f"request less at once (limit, fewer groups, claims or members), or raise "
            f"[placement]request_deadline"
        )


class ClaimContention(Unavailable):
    """A claim lost all candidates to concurrent writers until the write timeout."""

    code = CLAIM_CONTENTION

    def __init__(self, tries: int) -> None:
        super().__init__(
            f"Concurrent writers took each of the {tries} candidates that were tried; "
            f"send the request again"
        )


class LargeWorkBusy(Unavailable):
    """The server process is busy with another large request."""

    code = LARGE_WORK_BUSY
    retry_after = 5

    def __init__(self) -> None:
        super().__init__(
            "The server process is busy with another large request (a simulation, headroom, or a "
            "response of megabytes), and works on one at a time; retry later"
        )
