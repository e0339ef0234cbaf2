"""Extensions of waitress, where it has no option.

waitress documents only `serve()` and its options. The classes below extend its private classes as
the worker requires. The policy (limits, deadlines, the end of connections) is in `placement/wsgi`,
in the hooks that these classes add.
"""

import re
import select
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import BaseWSGIServer
from waitress.task import (
    ErrorTask,
    Task,
    ThreadedTaskDispatcher,
    WSGITask,
    build_http_date,
    queue_logger,
)
from waitress.utilities import BadRequest, Error, RequestHeaderFieldsTooLarge

__all__ = [
    "Adjustments", "Answer", "BadRequest", "Connection", "Error", "ErrorAnswer", "Listener",
    "RequestHeaderFieldsTooLarge", "StrictParser", "Watched", "start_threads",
]  # fmt: skip

# Bytes of a response that are buffered in memory; longer responses are buffered in a file.
BUFFER_SIZE = 2**20
_READ, _WRITE = select.EPOLLIN | select.EPOLLPRI, select.EPOLLOUT
_REQUEST_LINE = re.compile(rb"[!-~]+ [!-~]+ HTTP/1\.[01]")
_FOLDED = re.compile(rb"\r\n[ \t]")
_CODINGS = re.compile(rb"^transfer-encoding:[ \t]*(.*?)[ \t]*\r$", re.M)


class StrictParser(HTTPRequestParser):  # type: ignore[misc]  # waitress is not typed
    """A request parser that rejects ambiguous heads."""

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head.  Raises ParsingError."""
        line = header_plus.partition(b"\r\n")[0]
        if not _REQUEST_LINE.fullmatch(line) or _FOLDED.search(header_plus):
            raise ParsingError("Malformed request line or header")
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # a length of 5,000 digits, or half of an IPv6 address
            raise ParsingError(str(error)) from None
        if self._is_ambiguous(header_plus.lower()):
            raise ParsingError("The end of the body is ambiguous")
        if "close" in self.headers.get("CONNECTION", "").lower():
            self.connection_close = True

    def _is_ambiguous(self, head: bytes) -> bool:
        """Return whether another server might find the end of the body at a different position."""
        codings = _CODINGS.findall(head) if b"transfer-encoding" in head else []
        if not codings:
            return False
        return codings != [b"chunked"] or not self.chunked or "CONTENT_LENGTH" in self.headers


class _Head(Task):  # type: ignore[misc]
    """The head of a response: the headers of the application and of the connection."""

    def build_response_header(self) -> bytes:
        """Return the head. Mark the response as chunked, or as the last one on the connection."""
        has_length = self.content_length is not None or not self.has_body
        self.chunked_response = not has_length and self.version == "1.1"
        has_end = has_length or self.chunked_response
        if self.request.connection_close or not has_end or not self.channel.keeps_alive():
            self.set_close_on_finish()
        elif self.version == "1.0" and not self.close_on_finish:
            self.response_headers.append(("Connection", "keep-alive"))
        if self.chunked_response:
            self.response_headers.append(("Transfer-Encoding", "chunked"))
        lines = [f"HTTP/{self.version} {self.status}", f"Date: {build_http_date(self.start_time)}"]
        lines += map("%s: %s".__mod__, self.response_headers)
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Answer(_Head, WSGITask):  # type: ignore[misc]
    """A response of the application."""

    # Whether the head has been sent (attribute of waitress).
    wrote_header: bool

    @property
    def has_body(self) -> bool:
        """Whether bytes follow the head."""
        return bool(self.request.command != "HEAD" and super().has_body)

    def get_environment(self) -> dict[str, Any]:
        """Return the environment with the path as it was sent: `//traits` is not `/traits`."""
        environ: dict[str, Any] = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        return environ

    def write(self, data: bytes) -> None:
        """Send the head and the first piece of the body in one packet."""
        if self.wrote_header or self.content_length is None or not (data and self.has_body):
            super().write(data)
            return
        piece = data[: self.content_length]
        self.content_bytes_written = len(piece)
        head = self.build_response_header()
        self.wrote_header = True
        self.channel.write_soon(head + piece)


class ErrorAnswer(_Head, ErrorTask):  # type: ignore[misc]
    """The response to an invalid request. The application does not receive such a request."""

    def execute(self) -> None:
        """Send the response with its length."""
        self.version = "1.1"  # the version of the request is unknown
        body = self.request.error.to_response("")[2]
        self.response_headers.append(("Content-Length", str(len(body))))
        super().execute()


def flushed(application: Any, environ: Any, start_response: Any) -> Iterator[bytes]:
    """Call the application. Close its body only after the response has been sent.

    waitress closes an empty body before it sends the head.
    """
    written: list[Any] = []

    def start(*status: Any) -> Any:
        written[:] = [start_response(*status)]
        return written[0]

    body = application(environ, start)
    try:
        yield from body
        for write in written:
            write(b"")
    finally:
        if hasattr(body, "close"):
            body.close()


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection that reports sent bytes and releases the memory of sent buffers."""

    # Buffers of responses that have not been sent yet. Never empty (attribute of waitress).
    outbufs: list[OverflowableBuffer]

    def keeps_alive(self) -> bool:
        """Return whether the connection may remain open after a response."""
        return True

    def after_flush(self, size: int) -> None:
        """Called after `size` bytes have been sent."""

    def flush(self) -> None:
        """Send as much as the client currently accepts."""
        self._flush_exception(self._flush_some)

    def write_soon(self, data: bytes) -> int:
        """Send the data that the client currently accepts, and buffer the rest.

        PERF: waitress buffers all data before it sends them, long responses in a file.
        """
        with self.outbuf_lock:
            sent = 0
            if self.connected and not self.total_outbufs_len:
                sent = self._flush_exception(partial(self._send_some, data), do_close=False)[0]
            super().write_soon(memoryview(data)[sent:] if sent else data)
        return len(data)

    def _send_some(self, data: bytes, do_close: bool) -> int:
        """Send as much as the client currently accepts. Return the number of sent bytes."""
        rest = memoryview(data)
        while rest and (size := self.send(rest, do_close)):
            rest = rest[size:]
        sent = len(data) - len(rest)
        if sent:
            self.last_activity = time.time()
            self.after_flush(sent)
        return sent

    def _flush_some(self, do_close: bool = True) -> bool:
        before = self.total_outbufs_len
        flushed = bool(super()._flush_some(do_close=do_close))
        self.after_flush(before - self.total_outbufs_len)
        if not self.total_outbufs_len and self.outbufs[-1].buf is not None:
            self.outbufs[-1].close()
            self.outbufs, self.current_outbuf_count = [OverflowableBuffer(BUFFER_SIZE)], 0
        return flushed

    def read_event(self) -> None:
        """Receive pending data before the loop polls the connection."""
        wasyncore.read(self)


class Listener(BaseWSGIServer):  # type: ignore[misc]
    """A listener on an existing socket, which is bound to a port or a path."""

    def __init__(
        self, application: Any, sock: Any, watched: "Watched", threads: Any, settings: Any
    ) -> None:
        super().__init__(
            partial(flushed, application), watched, _sock=sock, dispatcher=threads, adj=settings,
            sockinfo=(sock.family, 0, 0, None), bind_socket=False,
        )  # fmt: skip
        # The sockets for which the event loop waits.
        self.watched = watched

    def getsockname(self) -> tuple[str, Any]:
        """Return the host and the port, or the path of a Unix socket."""
        address = self.socket.getsockname()
        return address[:2] if isinstance(address, tuple) else ("unix", address)

    def fix_addr(self, addr: Any) -> tuple[str, Any]:
        """Return the address of a client."""
        return addr if isinstance(addr, tuple) else ("", "")

    def close_socket(self) -> None:
        """Close the listener, but not the trigger of the event loop."""
        wasyncore.dispatcher.close(self)


class Watched(dict[int, Any]):
    """The objects of the event loop by file descriptor: listeners, connections and the trigger.

    PERF: the loop of waitress examines all of them in each iteration. With hundreds of idle
    connections, this takes longer than a response. The state of an idle connection can only change
    if its client sends data.
    """

    def __init__(self) -> None:
        super().__init__()
        # Polls the file descriptors.
        self._events = select.epoll()
        # File descriptor -> the events that are polled.
        self._flags: dict[int, int] = {}
        # File descriptors whose polled events may have changed.
        self._unsettled: set[int] = set()

    def __setitem__(self, file: int, watched: Any) -> None:
        super().__setitem__(file, watched)
        self._unsettled.add(file)

    def __delitem__(self, file: int) -> None:
        super().__delitem__(file)
        self._unsettled.discard(file)
        self._wait_for(file, 0)

    def connections(self) -> list[Any]:
        """Return all connections."""
        return [each for each in self.values() if isinstance(each, Connection)]

    def turn(self, seconds: float) -> None:
        """Wait for events for at most `seconds`, and handle the events."""
        for file in tuple(self._unsettled):
            watched = self[file]
            # PERF: most connections can be written to, or closed, without waiting for an event.
            if file not in self._flags and watched.writable():
                wasyncore.write(watched)
                if file not in self:  # closed
                    continue
            flags = _READ * watched.readable()
            flags |= _WRITE * (watched.writable() and not watched.accepting)
            self._wait_for(file, flags)
            if flags == _READ and isinstance(watched, Connection):
                self._unsettled.discard(file)  # the connection is idle
        happened = [(file, events, self[file]) for file, events in self._events.poll(seconds)]
        for file, events, watched in happened:
            if self.get(file) is watched:  # not closed, and its descriptor was not reused
                self._unsettled.add(file)
                wasyncore.readwrite(watched, events)

    def _wait_for(self, file: int, flags: int) -> None:
        before = self._flags.pop(file, 0)
        if flags:
            self._flags[file] = flags
        if flags and before and flags != before:
            self._events.modify(file, flags)
        elif flags and not before:
            self._events.register(file, flags)
        elif before and not flags:
            self._events.unregister(file)


def start_threads(count: int) -> Any:
    """Start the threads that handle requests. Do not log messages about queued requests."""
    queue_logger.disabled = True
    threads = ThreadedTaskDispatcher()
    threads.set_thread_count(count)
    return threads
