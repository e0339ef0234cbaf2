"""How often and how long a write is tried again, and what it fails with in the end."""

import logging
import random
import time
from enum import StrEnum

from sqlalchemy import exc

from placement.config import DatabaseSettings
from placement.db import codes
from placement.db.failures import refuse_hopeless
from placement.db.messages import one_line
from placement.db.statement import Restart
from placement.errors import DatabaseUnavailable, LostRace

LOG = logging.getLogger(__name__)

FIRST_PAUSE = 0.005  # seconds; doubled with every further attempt
LONGEST_PAUSE = 0.5
DUPLICATE_RETRIES = 3


class Cause(StrEnum):
    """Why a write begins again."""

    CONFLICT = "conflict"  # others have changed what it had read
    DUPLICATE = "duplicate"  # others have created the same thing
    CONSTRAINT = "constraint"  # any other constraint was broken
    DEADLOCK = "deadlock"
    CONNECTION = "connection"  # it was lost, or its server takes no writes
    NO_CONNECTION = "no_connection"  # the pool had none in time
    DATABASE = "database"  # it waited too long for a lock, or was interrupted


def cause_of(error: Exception) -> Cause:
    """Return why a write that fails with this error begins again."""
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
    """Pauses before further attempts, each longer than the one before."""

    def __init__(self) -> None:
        self.attempts = 0

    def wait(self) -> None:
        """Wait for a random time: those who met once should not meet again."""
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self.attempts)
        time.sleep(random.uniform(0, longest))
        self.attempts += 1


class Retries:
    """What one write may still try again; `deadline` is by `time.monotonic`."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self.deadline = time.monotonic() + settings.write_timeout
        self._restarts_left = settings.conflict_retries
        # Somebody created the same thing: a fresh look finds it. Of a constraint that is broken
        # otherwise, fewer looks are enough to see that it stays broken.
        self._duplicates_left = max(DUPLICATE_RETRIES, settings.conflict_retries)
        self._broken_left = DUPLICATE_RETRIES

    def allow(self, error: Exception) -> None:
        """Return if the write may be run again after an error; raise what it fails with if not."""
        if isinstance(error, Restart):
            self._allow_restart()
        elif isinstance(error, exc.IntegrityError):
            self._allow_broken_constraint(error)
        elif isinstance(error, exc.DBAPIError):
            self._allow_fault(error)
        else:
            raise DatabaseUnavailable from error

    def _allow_restart(self) -> None:
        self._restarts_left -= 1
        if self._restarts_left < 0:
            raise LostRace from None

    def _allow_broken_constraint(self, error: exc.IntegrityError) -> None:
        self._duplicates_left -= 1
        self._broken_left -= 1
        if codes.is_duplicate(error):
            if self._duplicates_left < 0:
                raise LostRace from error
        elif self._broken_left < 0:
            raise error

    def _allow_fault(self, error: exc.DBAPIError) -> None:
        refuse_hopeless(error)
        if not codes.is_retriable(error):
            if isinstance(error, exc.OperationalError):
                LOG.error("a write failed: %s", one_line(error))
                raise DatabaseUnavailable from error
            raise error
        LOG.info("a write is tried again: %s", one_line(error))
        if time.monotonic() > self.deadline:
            raise DatabaseUnavailable from error
