"""Waitress, with deadlines, and with connections that end without a loss."""

import errno
import select
import socket
import time
from collections.abc import Iterator
from typing import Any

from waitress import wasyncore
from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer
from waitress.task import ErrorTask, WSGITask, build_http_date

from placement.wsgi.request import Request

# Seconds that a client has to send its request, and again to take the answer; one more for each
# MIN_RATE bytes in either direction, but never more than CLIENT_TIMEOUT from then on.
CLIENT_TIMEOUT = 10.0
MIN_RATE = 256 * 1024
LINGER_TIMEOUT = 2.0  # seconds that a client has to see the end of its connection
YIELD_SECONDS = 0.001  # for which a busy process leaves a new connection to idle ones

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class _Head:
    """The head of an answer: what the application says, and whether the connection goes on."""

    def build_response_header(self: Any) -> bytes:
        """Return the head, and mark the answer as chunked or as the last one."""
        request, adj, length = self.request, self.channel.adj, self.content_length
        self.chunked_response = length is None and self.has_body and self.version == "1.1"
        asked = request.headers.get("CONNECTION", "").lower()
        if (
            self.close_on_finish or adj.stopping or not adj.cfg.keepalive or request.unread
            or request.connection_close or "close" in asked
            or (length is None and self.has_body and not self.chunked_response)
        ):  # fmt: skip
            self.set_close_on_finish()
        elif self.version == "1.0":
            self.response_headers.append(("Connection", "keep-alive"))
        lines = [f"HTTP/{self.version} {self.status}", f"Date: {build_http_date(self.start_time)}"]
        lines += map("%s: %s".__mod__, self.response_headers)
        if self.chunked_response:
            lines.append("Transfer-Encoding: chunked")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


class Answer(_Head, WSGITask):  # type: ignore[misc]
    """An answer of the application."""

    wrote_header: bool

    @property
    def has_body(self) -> bool:
        """Whether bytes follow the head."""
        return bool(self.request.command != "HEAD" and super().has_body)

    def get_environment(self) -> dict[str, Any]:
        """Return the environment, with the path as it was sent: `//traits` is not `/traits`."""
        environ: dict[str, Any] = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        return environ

    def write(self, data: bytes) -> None:
        """Send the head with the first piece of the body, in one packet."""
        if self.wrote_header or self.content_length is None or not (data and self.has_body):
            super().write(data)
            return
        piece = data[: self.content_length]
        self.content_bytes_written = len(piece)
        head = self.build_response_header()
        self.wrote_header = True
        self.channel.write_soon(head + piece)


class Refusal(_Head, ErrorTask):  # type: ignore[misc]
    """The answer to what is no request, which the application does not see."""

    def execute(self) -> None:
        """Answer and say so in the log, as gunicorn does."""
        error, client, self.version = self.request.error, self.channel.addr[0], "1.1"
        self.channel.adj.log.warning("Invalid request from ip=%s: %r", client, error.body)
        self.response_headers.append(("Content-Length", str(len(error.to_response("")[2]))))
        super().execute()


def flushed(application: Any, environ: Any, start_response: Any) -> Iterator[bytes]:
    """Have the application answer, and close its body when the client has even an empty one."""
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


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection with a deadline, which its client can see end."""

    parser_class, task_class, error_task_class = Request, Answer, Refusal
    outbufs: list[Any]
    request: Any
    close_when_flushed: bool
    linger = True  # whether the client may still be sending when the connection ends
    lingers = False  # the client has everything, and what it still sends is ignored

    def __init__(self, *args: Any, **options: Any) -> None:
        self.deadline = time.monotonic() + CLIENT_TIMEOUT
        super().__init__(*args, **options)

    def readable(self) -> bool:
        """Return whether the loop waits for the client to send."""
        return bool(self.lingers or super().readable())

    def handle_read(self) -> None:
        """Take what the client has sent, or its end: the application refuses half a body."""
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except OSError:
            self.handle_close()
            return
        request, self.last_activity = self.request, time.time()
        if data:
            self.received(data)
        elif request is None or request.body_rcv is None:
            self.handle_close()
        else:
            request.leave(ValueError("the body ends early"))
            self.request = None
            self.requests.append(request)
            self.server.add_task(self)

    def received(self, data: bytes) -> bool:
        """Take what the client has sent."""
        if self.lingers:
            return False
        if self.request is None and data.strip():
            self.deadline = time.monotonic() + CLIENT_TIMEOUT
        self._extend(len(data))
        return bool(super().received(data))

    def _extend(self, size: int) -> None:
        self.deadline = min(self.deadline + size / MIN_RATE, time.monotonic() + CLIENT_TIMEOUT)

    def drop_late(self, now: float) -> None:
        """End the connection if its time is over and nothing of the client has arrived."""
        if now < self.deadline or self.requests:
            return
        if self.total_outbufs_len or self.lingers:
            self.handle_close()
        else:
            wasyncore.read(self)  # which closes where nothing has arrived

    def service(self) -> None:
        """Answer a request, on a thread for that."""
        request = self.requests[0]
        goes_on = len(self.requests) > 1 or self.request is not None or request.unread
        self.linger = bool(goes_on or request.error or not request.connection_close)
        super().service()
        self.adj.answered += 1

    def handle_write(self) -> None:
        """Send; before the connection ends, let the client see that (it might be reset)."""
        if self.will_close or not (self.close_when_flushed and self.linger):
            super().handle_write()
            return
        self._flush_exception(self._flush_some)
        if self.connected and not self.total_outbufs_len:
            self.lingers, self.close_when_flushed = True, False
            self.deadline = time.monotonic() + LINGER_TIMEOUT
            self.socket.shutdown(socket.SHUT_WR)

    def write_soon(self, data: bytes) -> int:
        """Send what the client takes now and keep the rest."""
        try:
            return int(super().write_soon(data))
        except OSError as error:  # no temporary file, or no room in it
            self.adj.log.error("an answer cannot be kept: %s", error)
            self.will_close = True
            raise

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Do nothing: no thread waits for a client."""

    def _flush_some(self, do_close: bool = True) -> bool:
        before = self.total_outbufs_len
        flushed = bool(super()._flush_some(do_close=do_close))
        if self.requests or (self.request is None and not self.total_outbufs_len):
            kept = 0 if self.adj.stopping else self.adj.cfg.keepalive
            seconds = CLIENT_TIMEOUT if self.total_outbufs_len else kept or LINGER_TIMEOUT
            self.deadline = time.monotonic() + seconds
        else:
            self._extend(before - self.total_outbufs_len)
        if not self.total_outbufs_len and self.outbufs[-1].buf is not None:
            self.outbufs[-1].close()
            self.outbufs, self.current_outbuf_count = [OverflowableBuffer(2**20)], 0
        return flushed

    def handle_close(self) -> None:
        """Close, and give up what was gathered."""
        super().handle_close()
        if self.request is not None:
            self.request.close()


class Server(BaseWSGIServer):  # type: ignore[misc]
    """A listener, which makes room for a newcomer where there are too many connections."""

    channel_class = Channel
    full = False  # no file can be opened, and no connection closed for it
    yields_until: float | None = None  # a newcomer is left to idle processes; 0: no longer

    def getsockname(self) -> tuple[str, Any]:
        """Return host and port, or the path of a socket of Unix."""
        address = self.socket.getsockname()
        return address[:2] if isinstance(address, tuple) else ("unix", address)

    def fix_addr(self, addr: Any) -> tuple[str, Any]:
        """Return the address of a client."""
        return addr if isinstance(addr, tuple) else ("", "")

    def set_socket_options(self, conn: socket.socket) -> None:
        """Send small answers at once."""
        if conn.family != socket.AF_UNIX:
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def readable(self) -> bool:
        """Return whether the loop waits for newcomers."""
        if self.yields_until:
            if self._is_busy() and time.monotonic() < self.yields_until:
                return False
            self.yields_until = 0.0
        return self.accepting and not self.full

    def handle_accept(self) -> None:
        """Accept a connection, unless an idle process is faster."""
        if self.yields_until is None and self._is_busy():
            self.yields_until = time.monotonic() + YIELD_SECONDS
            return
        self.yields_until = None
        super().handle_accept()
        if len(self._map) > self.adj.connection_limit:
            self._make_room()

    def _is_busy(self) -> bool:
        """Return whether another process may be less busy than this one."""
        is_alone = self.adj.cfg.workers == 1
        return not is_alone and self.task_dispatcher.active_count > 0 and not self.adj.stopping

    def accept(self) -> Any:
        """Return a connection and its address, or None."""
        try:
            return super().accept()
        except OSError as error:  # else it was lost on its way
            if error.errno in _NO_ROOM:
                self.full = not self._make_room()
            return None

    def handle_error(self) -> None:
        """Go on: what is wrong with a connection does not end its listener."""
        self.adj.log.exception("a connection was not accepted")

    def _make_room(self) -> bool:
        """Close the connection that has done nothing for longest; return whether there is one."""
        channels = [each for each in self._map.values() if isinstance(each, Channel)]
        idle = [each for each in channels if not (each.requests or each.total_outbufs_len)]
        if idle:
            min(idle, key=lambda each: each.last_activity).handle_close()
        return bool(idle)

    def stop(self) -> None:
        """Accept what the kernel has, and would reset, and no more."""
        for _ in range(self.adj.backlog):
            if not select.select([self.socket], [], [], 0)[0]:
                break
            self.handle_accept()
        wasyncore.dispatcher.close(self)
