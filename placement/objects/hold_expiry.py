"""A thread that releases expired holds. Each serving process has one."""

import logging
import os
import random
import threading

from placement.db.engine import Database
from placement.errors import PlacementError
from placement.objects import holds

LOG = logging.getLogger(__name__)

# Seconds between two checks. JITTER prevents the processes from checking at the same time.
INTERVAL = 30.0
JITTER = 0.1


class HoldExpiry:
    """Releases expired holds at an interval, starting with the first request of a process."""

    def __init__(self, database: Database, interval: float = INTERVAL) -> None:
        self._database = database
        self._interval = interval
        # Id of the process that runs the thread. A forked process needs a separate thread.
        self._pid = 0
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def ensure_started(self) -> None:
        """Start the thread of this process unless it is already running."""
        if self._pid == os.getpid():
            return
        with self._lock:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                threading.Thread(target=self._run, name="hold expiry", daemon=True).start()

    def stop(self) -> None:
        """Stop the thread after its current check."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval * random.uniform(1 - JITTER, 1)):
            try:
                released = holds.release_expired(self._database)
            except PlacementError as error:
                # The database may be restarting. The next check finds the remaining holds.
                LOG.warning("expired holds cannot be released for now: %s", error.complaint)
                continue
            except Exception:
                # This is a bug. Without the thread, holds would never expire.
                LOG.exception("expired holds cannot be released")
                continue
            if released:
                LOG.info("released %s expired holds", released)
