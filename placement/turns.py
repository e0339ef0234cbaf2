"""Turns at large work. A process executes such work for one request at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from placement import deadline
from placement.errors import LargeWorkBusy

# Maximum time that a request waits for its turn, in seconds.
PATIENCE = 5.0


class Turns:
    """Allows one request at a time to do large work. Other requests of the process wait."""

    def __init__(self) -> None:
        # Held by the request that is doing large work.
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Enter the work as soon as no other request is doing large work.

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
