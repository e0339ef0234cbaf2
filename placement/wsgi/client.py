"""The socket of a client, which no thread waits for, and the answers that go through it."""

import socket
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import IO, Any

AT_ONCE = 1024 * 1024  # bytes sent in one turn
UNSENT = 1024 * 1024  # bytes of one response in memory; the rest is kept in a temporary file
TOGETHER = 64  # pieces sent by one call of the system, which takes 1,024 at most
PIECE = 64 * 1024  # bytes read from that file together


class Client:
    """A socket, in the form that gunicorn writes to: sending does not block.

    The thread that answers fills and flushes it; whichever hears that the client takes more flushes
    the rest. The first piece, which is the head, goes with the second one, or when it is flushed.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Take a socket that does not block."""
        self.unsent = 0  # bytes
        self._holds = True  # the first piece waits for the second
        self._sock = sock
        self._pieces: deque[memoryview] = deque()
        self._rest: IO[bytes] | None = None
        self._begun = 0  # bytes of the rest that have become pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def setblocking(self, flag: bool) -> None:
        """Do nothing: the socket never blocks."""

    def send(self, data: bytes) -> int:
        """Do nothing: gunicorn would tell the client to continue, which the worker has done."""
        return len(data)

    def say(self, data: bytes) -> None:
        """Send at once what is no part of the response.  Raises OSError."""
        self._sock.sendall(data)

    def sendall(self, data: bytes) -> None:
        """Send what the client takes now and keep the rest.

        Raises OSError: the client is gone, or no more can be kept.
        """
        self.unsent += len(data)
        if self._rest is not None:
            self._rest.write(data)
            return
        self._pieces.append(memoryview(data))
        if self._holds:
            self._holds = False
            return
        self.flush()
        if self.unsent > UNSENT:
            self._rest = tempfile.TemporaryFile()  # noqa: SIM115

    def flush(self) -> int:
        """Send what the client takes now, `AT_ONCE` or little more; return how many bytes."""
        flushed = 0
        with suppress(BlockingIOError):
            while self.unsent and flushed < AT_ONCE:
                if not self._pieces:
                    self._read()
                count = self._sock.sendmsg(tuple(islice(self._pieces, TOGETHER)))
                flushed += count
                self.unsent -= count
                self._forget(count)
        return flushed

    def _forget(self, count: int) -> None:
        """Forget so many bytes, which have been sent."""
        while count:
            piece = self._pieces.popleft()
            if len(piece) > count:
                self._pieces.appendleft(piece[count:])
            count -= min(count, len(piece))

    def close(self) -> None:
        """Close the socket and forget what is unsent."""
        self._sock.close()
        self._pieces.clear()
        if self._rest is not None:
            self._rest.close()

    def _read(self) -> None:
        assert self._rest is not None  # what is unsent and no piece is there
        self._rest.seek(self._begun)
        piece = memoryview(self._rest.read(PIECE))
        self._begun += len(piece)
        self._pieces.append(piece)


class SentBody:
    """The body of an answer, which is sent before it is closed: the client has it by then."""

    def __init__(self, application: Any, environ: Any, start_response: Any) -> None:
        """Have the application answer a request."""
        self._client: Client = environ["gunicorn.socket"]
        self._body = application(environ, start_response)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        """Send what the client takes now, and close the body."""
        try:
            self._client.flush()
        finally:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
