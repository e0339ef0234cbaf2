"""Turns at large work. A process executes such work for one request at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from placement.errors import LargeWorkBusy
from placement.runtime import deadline

# Maximum time that a request waits for its turn, in seconds.
MAX_WAIT = 5.0
# The same for a response that is large. Clients and proxies wait as long.
MAX_WAIT_OF_LARGE_RESPONSE = 60.0
LARGE_RESPONSE = 8 * 1024 * 1024  # bytes
# Number of threads that may wait or work for large responses. The shipped servers have 32.
MAX_LARGE_RESPONSES = 20
MAX_NOTED = 1000  # number of noted requests


class ExclusiveWork:
    """Large work, which one request of the process does at a time. Other requests wait."""

    def __init__(self) -> None:
        # Held by the request that is doing large work.
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, patience: float | None = None) -> Iterator[None]:
        """Enter the work as soon as no other request is doing large work.

        Raises LargeWorkBusy after `patience` seconds, or after MAX_WAIT for None.
        """
        with deadline.waiting():
            has_turn = self._lock.acquire(timeout=MAX_WAIT if patience is None else patience)
        if not has_turn:
            raise LargeWorkBusy
        try:
            yield
        finally:
            self._lock.release()


class LargeResponses:
    """Allows one request at a time to make a large response, so that small ones are not delayed.

    The size of a response is not known before. A request is expected to have a large response if
    the last response to the same request was large.
    """

    def __init__(self) -> None:
        # Held by the request whose response is large.
        self._turns = ExclusiveWork()
        # Held by the requests that have or wait for their turn.
        self._places = threading.BoundedSemaphore(MAX_LARGE_RESPONSES)
        # Hashes of the requests whose last response was large.
        self._large: set[int] = set()

    @contextmanager
    def turn(self, request: str) -> Iterator[None]:
        """Enter the work for a request, after other large ones if its response will be large.

        Raises:
            LargeWorkBusy: another request works after the wait, or too many are waiting.
        """
        if hash(request) not in self._large:
            yield
            return
        if not self._places.acquire(blocking=False):
            raise LargeWorkBusy
        try:
            with self._turns.turn(MAX_WAIT_OF_LARGE_RESPONSE):
                yield
        finally:
            self._places.release()

    def note(self, request: str, size: int) -> None:
        """Note the size of the response to a request, in bytes."""
        if size <= LARGE_RESPONSE:
            self._large.discard(hash(request))
            return
        if len(self._large) >= MAX_NOTED:
            self._large.clear()
        self._large.add(hash(request))
