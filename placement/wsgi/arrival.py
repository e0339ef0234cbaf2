"""A request that arrives in pieces, gathered until it is complete."""

import re
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import IO

IN_MEMORY = 256 * 1024  # bytes; a longer request is kept in a temporary file
LONGEST_HEAD = 256 * 1024  # bytes of request line and headers
LONGEST_LINE = 8 * 1024  # bytes of the line before a chunk, and of a line of the trailer
OVERHEAD = 2 * 1024 * 1024  # bytes of head, trailer and lines between chunks

_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
# The headers that say how a request goes on.
_FIELD = re.compile(rb"^(content-length|transfer-encoding|expect):(.*)$", re.M)
_SPACE = b" \t\r"
_LENGTH = re.compile(rb"0*([0-9]{1,18})")
_OLD = re.compile(rb".* HTTP/1\.0\r?$", re.M)
_CHUNK = re.compile(rb"([0-9a-f]{1,15})[ \t]*(;.*)?\r", re.I)

Following = Generator[None, bytes, None]


class HeadTooLong(Exception):
    """The request line and headers do not end."""


class _Malformed(Exception):
    """The request does not show where it ends."""


@dataclass(frozen=True, slots=True)
class _Way:
    """How a request goes on after its head.

    length: bytes of a body that is not chunked. expects: the client waits for "100 Continue".
    """

    chunked: bool = False
    length: int = 0
    expects: bool = False

    @classmethod
    def of(cls, head: bytes) -> "_Way":
        """Read it from the head.  After a head that the parser refuses, nothing is waited for."""
        fields = _FIELD.findall(head.lower())
        if not fields:
            return _ENDS  # PERF: most are questions
        values: dict[bytes, list[bytes]] = defaultdict(list)
        for name, value in fields:
            values[name].append(value.strip(_SPACE))
        lengths, expectations = values[b"content-length"], values[b"expect"]
        codings = values[b"transfer-encoding"]
        chunked = b",".join(codings).split(b",")[-1].strip(_SPACE) == b"chunked"
        is_old = _OLD.match(head) is not None
        length = _LENGTH.fullmatch(lengths[0]) if lengths else None
        if (
            set(expectations) - {b"100-continue"}
            or len(lengths) > 1
            or (codings and (lengths or is_old or not chunked))
        ):
            return cls()
        return cls(chunked, int(length[1]) if length else 0, bool(expectations) and not is_old)


_ENDS = _Way()


class Arrival:
    """The bytes of one request so far, and whether it is complete.

    Only as much of HTTP is understood here as that takes. A malformed request counts as complete:
    the parser gets what there is, and refuses it.
    """

    def __init__(self, longest_body: int) -> None:
        """Take the bytes of the longest body; the rest of a longer one is not waited for."""
        self._longest = longest_body
        self._bytes: IO[bytes] = BytesIO()
        self._following = self._follow()
        next(self._following)
        self.size = 0
        self._body = 0  # bytes that are announced
        self.complete = False
        self.whole = False  # and nothing has come after it
        self.expects = False  # the client waits for "100 Continue"

    def take(self, data: bytes) -> None:
        """Add bytes that were received.  Raises HeadTooLong."""
        self.size += len(data)
        self._keep(data)
        try:
            self._following.send(data)
        except StopIteration as end:
            self.complete, self.whole = True, end.value
        except _Malformed:
            self.complete = True
        if self.size - self._body > OVERHEAD:
            self.complete = True

    def pieces(self) -> Iterator[bytes]:
        """Return the bytes so far, in pieces."""
        self._bytes.seek(0)
        return iter(lambda: self._bytes.read(64 * 1024), b"")

    def close(self) -> None:
        """Give up the memory or the temporary file."""
        self._bytes.close()

    def _keep(self, data: bytes) -> None:
        # PERF: a file of the library that does so takes several times as long for a small request.
        if self.size > IN_MEMORY and isinstance(self._bytes, BytesIO):
            memory = self._bytes
            self._bytes = tempfile.TemporaryFile()  # noqa: SIM115
            self._bytes.write(memory.getbuffer())
        self._bytes.write(data)

    def _follow(self) -> Generator[None, bytes, bool]:
        """Take the bytes as they are sent, and end where the request ends.

        Return whether all of it has come, and nothing after it; of chunks nobody says.
        """
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
        way = _Way.of(head)
        self.expects = way.expects and not buffer
        if way.chunked:
            yield from self._follow_chunks(buffer)
            return False
        if way.length > self._longest:
            return False
        self._body = way.length
        yield from _skip(buffer, way.length)
        return not buffer

    def _follow_chunks(self, buffer: bytearray) -> Following:
        while chunk := _CHUNK.fullmatch((yield from _line(buffer))):
            size = int(chunk[1], 16)
            if size == 0:
                while (yield from _line(buffer)) != b"\r":
                    pass  # of the trailer
                return
            self._body += size
            if self._body > self._longest:
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
