"""Clients that notice each request that a server loses."""

from __future__ import annotations

import collections
import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.kit.processes import ANSWER, HEADERS, NoAnswerError, exchange

CLIENTS = 8
PATH = "/traits?associated=true"


class Load:
    """Clients that send requests one after the other, and count what becomes of them.

    kept: each sends as many as it can on one connection, and connects again where the server says
    that an answer was the last one.
    """

    def __init__(self, port: int, path: str = PATH, *, kept: bool = False) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.lost: list[str] = []
        self._port = port
        self._path = path
        self._over = False
        self._act = self._send_kept if kept else self._send

    def _send_kept(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER)
        while not self._over:
            try:
                if connection.sock is None:
                    connection.connect()
                    self.counts["connections"] += 1
            except ConnectionRefusedError:
                self.counts["refused"] += 1
                time.sleep(0.01)
                continue
            try:
                connection.request("GET", self._path, headers=HEADERS)
                answered = connection.getresponse()
                answered.read()
                self.counts[str(answered.status)] += 1
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                connection.close()
        connection.close()

    def _send(self) -> None:
        while not self._over:
            try:
                self.counts[str(exchange(self._port, "GET", self._path)[0])] += 1
            except NoAnswerError as error:
                if isinstance(error.__cause__, ConnectionRefusedError):
                    self.counts["refused"] += 1
                    time.sleep(0.01)
                else:
                    self.lost.append(str(error))

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._act) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            self.await_answers()
            yield
        finally:
            self._over = True
            for thread in threads:
                thread.join()

    def await_answers(self, number: int = 100) -> None:
        """Wait until this number of further requests have received a response."""
        goal = self.counts["200"] + number
        deadline = time.monotonic() + ANSWER
        while self.counts["200"] < goal:
            assert time.monotonic() < deadline, self.counts
            time.sleep(0.01)
