"""The socket of a client, which no thread waits for."""

import socket
import tempfile
from collections import deque
from contextlib import suppress
from typing import IO, Any

AT_ONCE = 1024 * 1024  # bytes sent in one turn
UNSENT = 1024 * 1024  # bytes of one response in memory; the rest is kept in a temporary file
PIECE = 64 * 1024  # bytes read from that file together


class Client:
    """A socket, in the form that gunicorn writes to: sending does not block.

    A thread fills it, and the loop flushes it when the thread is done.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Take a socket that does not block."""
        self.unsent = 0  # bytes
        self._sock = sock
        self._pieces: deque[memoryview] = deque()
        self._rest: IO[bytes] | None = None
        self._begun = 0  # bytes of the rest that have become pieces

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def setblocking(self, flag: bool) -> None:
        """Do nothing: the socket never blocks."""

    def send(self, data: bytes) -> int:
        """Do nothing: gunicorn would tell the client to continue, which the loop has done."""
        return len(data)

    def sendall(self, data: bytes) -> None:
        """Send what the client takes now and keep the rest.

        Raises OSError: the client is gone, or no more can be kept.
        """
        self.unsent += len(data)
        if self._rest is not None:
            self._rest.write(data)
            return
        self._pieces.append(memoryview(data))
        self.flush()
        if self.unsent > UNSENT:
            self._rest = tempfile.TemporaryFile()  # noqa: SIM115

    def flush(self) -> int:
        """Send what the client takes now, `AT_ONCE` or little more; return how many bytes."""
        flushed = 0
        with suppress(BlockingIOError):
            while self.unsent and flushed < AT_ONCE:
                piece = self._pieces[0] if self._pieces else self._read()
                count = self._sock.send(piece)
                flushed += count
                self.unsent -= count
                self._pieces[0] = piece[count:]
                if count == len(piece):
                    self._pieces.popleft()
        return flushed

    def close(self) -> None:
        """Close the socket and forget what is unsent."""
        self._sock.close()
        self._pieces.clear()
        if self._rest is not None:
            self._rest.close()

    def _read(self) -> memoryview:
        assert self._rest is not None  # what is unsent and no piece is there
        self._rest.seek(self._begun)
        piece = memoryview(self._rest.read(PIECE))
        self._begun += len(piece)
        self._pieces.append(piece)
        return piece
