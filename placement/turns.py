"""Turns at large work, which a process gives to one request at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from placement import deadline
from placement.errors import LargeWorkBusy

# Seconds that a request waits for its turn.
PATIENCE = 5.0


class Turns:
    """Lets one request at a time do large work, while the other requests of the process wait."""

    def __init__(self) -> None:
        # Held by the request that does large work.
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Enter the work when no other request does such work.

        Raises:
            LargeWorkBusy: another request was still working after the wait.
        """
        with deadline.waiting():
            has_turn = self._lock.acquire(timeout=PATIENCE)
        if not has_turn:
            raise LargeWorkBusy
        try:
            yield
        finally:
            self._lock.release()
