"""A request that arrives in pieces, gathered until it is complete."""

import re
import tempfile
from collections.abc import Generator, Iterator

IN_MEMORY = 256 * 1024  # bytes; a longer request is kept in a temporary file
LONGEST_HEAD = 256 * 1024  # bytes of request line and headers
LONGEST_LINE = 8 * 1024  # bytes of the line before a chunk, and of a line of the trailer
OVERHEAD = 1024 * 1024  # bytes of head, trailer and lines between chunks

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"^content-length:[ \t]*([0-9]{1,18})[ \t]*\r?$", re.I | re.M)
_CHUNKED = re.compile(rb"^transfer-encoding:.*chunked", re.I | re.M)
_EXPECTS = re.compile(rb"^expect:[ \t]*100-continue", re.I | re.M)
_CHUNK = re.compile(rb"([0-9a-f]{1,15})[ \t]*(;.*)?\r", re.I)

Following = Generator[None, bytes, None]


class HeadTooLong(Exception):
    """The request line and headers do not end."""


class _Malformed(Exception):
    """The request does not show where it ends."""


class Arrival:
    """The bytes of one request so far, and whether it is complete.

    Only as much of HTTP is understood here as that takes. A malformed request counts as complete:
    the parser gets what there is, and refuses it.
    """

    def __init__(self, longest_body: int) -> None:
        """Take the bytes of the longest body; the rest of a longer one is not waited for."""
        self._longest = longest_body
        self._bytes = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._following = self._follow()
        next(self._following)
        self.size = 0
        self.complete = False
        self.expects = False  # the client waits for "100 Continue"

    def take(self, data: bytes) -> None:
        """Add bytes that were received.  Raises HeadTooLong."""
        self.size += len(data)
        self._bytes.write(data)
        try:
            self._following.send(data)
        except (StopIteration, _Malformed):
            self.complete = True
        if self.size > 2 * self._longest + OVERHEAD:
            self.complete = True

    def pieces(self) -> Iterator[bytes]:
        """Return the bytes so far, in pieces."""
        self._bytes.seek(0)
        return iter(lambda: self._bytes.read(64 * 1024), b"")

    def close(self) -> None:
        """Give up the memory or the temporary file."""
        self._bytes.close()

    def _follow(self) -> Following:
        """Take the bytes as they are sent, and end where the request ends."""
        # The head ends with an empty line, whose three other bytes may have come before.
        buffer = bytearray()
        end = None
        while end is None:
            searched = len(buffer)
            buffer += yield
            end = _END_OF_HEAD.search(buffer, max(0, searched - 3))
            if end is None and len(buffer) > LONGEST_HEAD:
                raise HeadTooLong
        # The body follows in chunks, or has the length that the head says; else there is none.
        head = bytes(buffer[: end.start() + 1])
        del buffer[: end.end()]
        length = _LENGTH.search(head)
        self.expects = not buffer and _EXPECTS.search(head) is not None
        if _CHUNKED.search(head):
            yield from self._follow_chunks(buffer)
        elif length is not None and int(length[1]) <= self._longest:
            yield from _skip(buffer, int(length[1]))

    def _follow_chunks(self, buffer: bytearray) -> Following:
        total = 0
        while chunk := _CHUNK.fullmatch((yield from _line(buffer))):
            size = int(chunk[1], 16)
            if size == 0:
                while (yield from _line(buffer)) != b"\r":
                    pass  # of the trailer
                return
            total += size
            if total > self._longest:
                return
            yield from _skip(buffer, size + 2)


def _line(buffer: bytearray) -> Generator[None, bytes, bytes]:
    """Take a line off the buffer, without its line feed."""
    while (end := buffer.find(b"\n")) < 0:
        if len(buffer) > LONGEST_LINE:
            raise _Malformed
        buffer += yield
    line = bytes(buffer[:end])
    del buffer[: end + 1]
    return line


def _skip(buffer: bytearray, count: int) -> Following:
    """Take so many bytes off the buffer."""
    while len(buffer) < count:
        count -= len(buffer)
        buffer.clear()
        buffer += yield
    del buffer[:count]
