"""Errors of requests that the service cannot answer now."""

from placement.errors.base import PlacementError


class Unavailable(PlacementError):
    """The service cannot answer now; the same request may succeed later."""

    retry_after: int | None = 1  # seconds; None: a retry would not help


class DatabaseUnavailable(Unavailable):
    """The database does not answer, or has no time for this request."""

    def __init__(self) -> None:
        super().__init__("The database is unavailable or overloaded; retry later")


class DatabaseUnusable(Unavailable):
    """The database does not let the service work until an operator acts.

    reason: what is wrong, for clients. complaint: for operators, what the database said to which
    command and what to do.
    """

    retry_after = None

    def __init__(self, reason: str, complaint: str) -> None:
        super().__init__(f"The database cannot be used: {reason}; the server's log says which")
        self.reason = reason
        self.complaint = f"the database cannot be used: {reason}: {complaint}"
        self.arguments = (reason, complaint)


class OutcomeUnknown(Unavailable):
    """The database failed at a COMMIT, and nobody can say whether it happened."""

    def __init__(self) -> None:
        super().__init__(
            "The database failed while it committed, and whether the change was made could not be "
            "found out; read before you send it again"
        )


class StatementTooLong(Unavailable):
    """A statement reached its limit of time, and would reach it again."""

    retry_after = None

    def __init__(self) -> None:
        super().__init__(
            "The database needs too long for this request; ask for less (limit, fewer conditions, "
            "in_tree, member_of), or raise [placement_database]statement_timeout"
        )


class SearchExhausted(Unavailable):
    """The budget of the search was spent before a first candidate was found."""

    def __init__(self, steps: int) -> None:
        super().__init__(
            f"No candidate was found within {steps} steps of work and some were left to try; "
            f"narrow the request (in_tree, member_of, required, fewer groups) or raise "
            f"[placement]max_search_steps"
        )


class DeadlineExceeded(Unavailable):
    """The work of a request took longer than a request may take; nothing was changed."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The request was not done after {seconds:g} seconds of work, and nothing was changed; "
            f"ask for less at once (limit, fewer groups, claims or members), or raise "
            f"[placement]request_deadline"
        )


class Outpaced(Unavailable):
    """Other callers were faster at every candidate, for as long as a write may take."""

    def __init__(self, tries: int) -> None:
        super().__init__(
            f"Others were faster at each of {tries} candidates that could be claimed; "
            f"send the request again"
        )


class TooManyBodies(Unavailable):
    """The server process has no room for the body of another request."""

    def __init__(self) -> None:
        super().__init__("The server has no room for the body of this request; retry later")
