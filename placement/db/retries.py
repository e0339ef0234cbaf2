"""The retries of a write: their number, their intervals, and the errors that end them."""

import logging
import random
import time
from enum import StrEnum

from sqlalchemy import exc

from placement.config import DatabaseSettings
from placement.db import codes
from placement.db.failures import raise_final, raise_if_permanent
from placement.db.messages import one_line
from placement.db.statement import Restart
from placement.errors import LostRace

LOG = logging.getLogger(__name__)

# Seconds. The interval is doubled after each attempt.
FIRST_PAUSE = 0.005
# Seconds.
MAX_PAUSE = 0.5
MAX_DOUBLINGS = 7  # after which the interval has reached its maximum
DUPLICATE_RETRIES = 3


class Cause(StrEnum):
    """The reason for which a write is retried."""

    CONFLICT = "conflict"  # another transaction has changed the rows that were read
    DUPLICATE = "duplicate"  # another transaction has created the same row
    CONSTRAINT = "constraint"  # any other constraint was violated
    DEADLOCK = "deadlock"
    CONNECTION = "connection"  # the connection was lost, or its server accepts no writes
    NO_CONNECTION = "no_connection"  # the pool could not provide a connection in time
    DATABASE = "database"  # a lock wait has timed out, or the statement was interrupted


def cause_of(error: Exception) -> Cause:
    """Return the reason for which a write that failed with this error is retried."""
    if isinstance(error, Restart):
        return Cause.CONFLICT
    if isinstance(error, exc.IntegrityError):
        return Cause.DUPLICATE if codes.is_duplicate(error) else Cause.CONSTRAINT
    if not isinstance(error, exc.DBAPIError):
        return Cause.NO_CONNECTION
    if codes.is_deadlock(error):
        return Cause.DEADLOCK
    return Cause.CONNECTION if codes.is_connection_lost(error) else Cause.DATABASE


class Pauses:
    """Random pauses before retries. Their upper limit doubles each time."""

    def __init__(self) -> None:
        # Number of pauses so far.
        self.attempts = 0

    def wait(self) -> None:
        """Sleep for a random time, so that transactions do not conflict again."""
        longest = min(MAX_PAUSE, FIRST_PAUSE * 2 ** min(self.attempts, MAX_DOUBLINGS))
        time.sleep(random.uniform(0, longest))
        self.attempts += 1


class Retries:
    """The remaining retries of one write."""

    def __init__(self, settings: DatabaseSettings) -> None:
        # End of the retries, on the clock `time.monotonic`.
        self.deadline = time.monotonic() + settings.write_timeout
        # Remaining attempts after conflicts with other transactions.
        self._restarts_left = settings.conflict_retries
        # Remaining attempts if a row already exists. The next attempt finds the row of the other
        # transaction.
        self._duplicates_left = max(DUPLICATE_RETRIES, settings.conflict_retries)
        # Remaining attempts after other violated constraints. These are likely to remain violated.
        self._broken_left = DUPLICATE_RETRIES

    def allow(self, error: Restart | exc.DBAPIError | exc.TimeoutError) -> None:
        """Return if the write may be retried after an error. Otherwise, raise the final error."""
        if isinstance(error, Restart):
            self._restarts_left -= 1
            if self._restarts_left < 0:
                raise LostRace from None
        elif isinstance(error, exc.IntegrityError):
            self._allow_broken_constraint(error)
        elif isinstance(error, exc.DBAPIError):
            raise_if_permanent(error)
            if not codes.is_retriable(error) or time.monotonic() > self.deadline:
                raise_final(error)
            LOG.info("retrying a write: %s", one_line(error))
        else:
            raise_final(error)

    def _allow_broken_constraint(self, error: exc.IntegrityError) -> None:
        self._duplicates_left -= 1
        self._broken_left -= 1
        if codes.is_duplicate(error):
            if self._duplicates_left < 0:
                raise LostRace from error
        elif self._broken_left < 0:
            raise error
