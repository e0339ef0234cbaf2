"""Requests with limits on the size that waitress buffers, and with strict parsing."""

import re
from contextlib import suppress
from threading import Lock
from typing import Any

from placement.compat import waitress
from placement.errors import TooManyBodies

MAX_HEAD = 256 * 1024  # bytes of request line and headers
MAX_LINE = 8 * 1024  # bytes of the line before a chunk, and of a trailer
MAX_FRAMING = 256 * 1024  # bytes of a chunked body that are not part of its content
MAX_BODIES = 4  # number of bodies of maximum size that a worker buffers at the same time
UNBOUNDED = 2**60  # bytes
# Bytes of a body in memory; the rest of a longer body is in a temporary file.
IN_MEMORY = 256 * 1024

# No operation reads the body of a request without a token.
_TOKENS = {"X_AUTH_TOKEN", "X_STORAGE_TOKEN"}
_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")


class Overloaded(waitress.Error):  # type: ignore[misc]  # waitress is not typed
    """The response to a request head if the worker has no memory left for the request."""

    code, reason = 503, "Service Unavailable"


class WorkerSettings(waitress.Adjustments):  # type: ignore[misc]
    """The settings of waitress and gunicorn, and the state that a worker's connections share."""

    def __init__(self, cfg: Any, log: Any, max_body: int) -> None:
        super().__init__(
            backlog=cfg.backlog, ident="", clear_untrusted_proxy_headers=False,
            log_socket_errors=False, inbuf_overflow=IN_MEMORY, max_request_header_size=MAX_HEAD,
            # The application refuses longer bodies in the format of the API. waitress would send an
            # error that clients cannot parse, so its own limit must never be reached.
            max_request_body_size=UNBOUNDED,
            # Threads must not wait until the client has read a response, regardless of the size of
            # the response.
            outbuf_high_watermark=UNBOUNDED,
        )  # fmt: skip
        # The settings of gunicorn, its log, and the maximum size of a body in bytes.
        self.cfg, self.log, self.max_body = cfg, log, max_body
        # Whether each response is the last response on its connection.
        self.stopping = False
        # Number of requests that have received a response.
        self.answered = 0
        # Bytes of requests whose response is not complete.
        self.gathered = 0
        # Held while `gathered` changes.
        self._lock = Lock()

    def keep_seconds(self) -> int:
        """Return the maximum idle time of a connection in seconds. 0 allows no further request."""
        return 0 if self.stopping else int(self.cfg.keepalive)

    def gather(self, count: int) -> bool:
        """Add bytes to the total, or subtract them.

        Return whether the total is within the limit.
        """
        with self._lock:
            self.gathered += count
            return count < 0 or self.gathered <= MAX_BODIES * self.max_body


class _Unread:
    """The body of a request that has not been read completely."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    def read(self, _size: int = -1) -> bytes:
        raise self._fault


class Request(waitress.StrictParser):
    """A request with limits."""

    path = ""  # for messages about a head that cannot be parsed
    # The reason why the rest of the body is not read and the connection is closed after the
    # response, or None.
    unread: Exception | None = None

    def __init__(self, adj: WorkerSettings) -> None:
        super().__init__(adj)
        # The bytes of the head that have been received so far.
        self._head = bytearray()
        self._held = 0  # bytes

    def received(self, data: bytes) -> int:
        """Consume bytes. Return how many of them belong to this request."""
        try:
            consumed = self._receive_head(data) if self.body_rcv is None else self._receive(data)
            self._account()
        except OSError as error:  # a temporary file cannot be created, or the disk is full
            self.adj.log.error("cannot store a request body: %s", error)
            self.leave(TooManyBodies())
        return len(data) if self.unread or self.error else consumed

    def _receive_head(self, data: bytes) -> int:
        before, head = len(self._head), self._head
        head += data
        if head.find(b"\r\n\r\n", max(0, before - 3)) < 0 and len(head) < MAX_HEAD:
            if _BARE_LINE_FEED.search(head, before):
                self.error, self.completed = waitress.BadRequest("Bare LF in the head"), True
            return len(data)
        self._head = bytearray()
        consumed: int = super().received(bytes(head)) - before
        if self.error is None and self.body_rcv is not None:
            if self.content_length > self.adj.max_body or not _TOKENS & self.headers.keys():
                self.leave(ValueError("the body is not read"))
        else:
            self.expect_continue = False
        return consumed

    def _receive(self, data: bytes) -> int:
        consumed: int = super().received(data)
        body, size = self.body_rcv, len(self.body_rcv)
        lines = len(getattr(body, "control_line", b"")) + len(getattr(body, "trailer", b""))
        if size > self.adj.max_body:
            self.headers["CONTENT_LENGTH"] = str(size)  # makes the application refuse the request
            self.leave(ValueError("the body is too long"))
        elif self.error or lines > MAX_LINE or self.body_bytes_received - size > MAX_FRAMING:
            self.leave(ValueError("the chunks are malformed or too small"))
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head, unless it contains too many fields or its fields are too long."""
        cfg = self.adj.cfg
        lines = header_plus.split(b"\r\n")  # the request line, the fields, and two empty strings
        longest = max(map(len, lines[1:]))
        if len(lines) - 3 > cfg.limit_request_fields or longest > cfg.limit_request_field_size:
            self.error = waitress.RequestHeaderFieldsTooLarge("too many or too long fields")
        else:
            super().parse_header(header_plus)

    def leave(self, fault: Exception) -> None:
        """Pass the request to the application without the rest of its body."""
        self.unread, self.error, self.expect_continue, self.completed = fault, None, False, True
        self.connection_close = True
        self.close()

    def _account(self) -> None:
        body = self.body_rcv
        held = len(self._head) if body is None else 0 if self.unread else len(body)
        change, self._held = held - self._held, held
        if change and not self.adj.gather(change):
            if body is None:
                self.error, self.completed = Overloaded("Too many requests are being sent"), True
                self._head.clear()
            else:
                self.leave(TooManyBodies())

    def get_body_stream(self) -> Any:
        """Return the body as a file."""
        return _Unread(self.unread) if self.unread else super().get_body_stream()

    def close(self) -> None:
        """Release the memory and the temporary file. Closing may fail if the disk is full."""
        self.adj.gather(-self._held)
        self._held = 0
        with suppress(OSError):
            super().close()
