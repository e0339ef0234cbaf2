"""waitress with deadlines for clients, and with connections that close without data loss."""

import errno
import select
import socket
import time
from typing import Any

from placement.compat import waitress
from placement.wsgi.request import Request

# Time in seconds that a client has to send its request, and the same time to read the response.
# Each MIN_RATE bytes in either direction extend the deadline by one second, up to CLIENT_TIMEOUT
# from now.
CLIENT_TIMEOUT = 10.0
MIN_RATE = 256 * 1024
LINGER_TIMEOUT = 2.0  # seconds that a client has to close its side of the connection
YIELD_SECONDS = 0.001  # seconds for which a busy process leaves a new connection to idle processes

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class RefusalAnswer(waitress.ErrorAnswer):
    """The response to a malformed request. It is logged in the same way as in gunicorn."""

    def execute(self) -> None:
        """Log the error and send the response."""
        client, error = self.channel.addr[0], self.request.error
        self.channel.adj.log.warning("Invalid request from ip=%s: %r", client, error.body)
        super().execute()


class Channel(waitress.Connection):
    """A connection with a deadline. It is closed only after the client has received its end."""

    parser_class, task_class, error_task_class = Request, waitress.Answer, RefusalAnswer
    # The request that is being received, or None between requests (attribute of waitress).
    request: Any
    # Whether to close the connection as soon as all output has been sent (attribute of waitress).
    close_when_flushed: bool
    # Whether the client may still be sending data when the connection is closed.
    linger = True
    # Whether all responses have been sent, so that input from the client is discarded.
    lingers = False

    def __init__(self, *args: Any, **options: Any) -> None:
        self._allow(CLIENT_TIMEOUT)
        super().__init__(*args, **options)
        self.read_event()  # PERF: most clients have sent their request already

    def readable(self) -> bool:
        """Return whether the event loop waits for input from the client."""
        return bool(self.lingers or super().readable())

    def handle_read(self) -> None:
        """Receive data or the end of the input. The application refuses incomplete bodies."""
        try:
            data = self.socket.recv(self.adj.recv_bytes)
        except BlockingIOError:
            if time.monotonic() >= self.deadline:
                self.handle_close()
            return
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
        """Receive data from the client."""
        if self.lingers:
            return False
        if self.request is None and data.strip():
            self._allow(CLIENT_TIMEOUT)
        self._extend(len(data))
        return bool(super().received(data))

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def _extend(self, size: int) -> None:
        self.deadline = min(self.deadline + size / MIN_RATE, time.monotonic() + CLIENT_TIMEOUT)

    def drop_late(self, now: float) -> None:
        """Close the connection if its deadline has passed before a request is complete."""
        if now < self.deadline or self.requests:
            return
        if self.total_outbufs_len or self.lingers:
            self.handle_close()
        else:
            self.read_event()  # closes the connection if there is no input

    def service(self) -> None:
        """Process a request. A thread of the pool calls this method."""
        request = self.requests[0]
        goes_on = len(self.requests) > 1 or self.request is not None or request.unread
        self.linger = bool(goes_on or request.error or not request.connection_close)
        super().service()
        self.adj.answered += 1

    def handle_write(self) -> None:
        """Send data. Shut down the sending side before closing the connection, to avoid a reset."""
        if self.will_close or not (self.close_when_flushed and self.linger):
            super().handle_write()
            return
        self.flush()
        if self.connected and not self.total_outbufs_len:
            self.lingers, self.close_when_flushed = True, False
            self._allow(LINGER_TIMEOUT)
            self.socket.shutdown(socket.SHUT_WR)

    def write_soon(self, data: bytes) -> int:
        """Send the data that the client currently accepts, and buffer the rest."""
        try:
            return int(super().write_soon(data))
        except OSError as error:  # a temporary file cannot be created, or the disk is full
            self.adj.log.error("cannot store an answer: %s", error)
            self.will_close = True
            raise

    def keeps_alive(self) -> bool:
        """Return whether the client may send another request."""
        return bool(self.adj.keep_seconds())

    def after_flush(self, size: int) -> None:
        """Extend the deadline for the rest of the response or for the next request."""
        if not self.requests and (self.request is not None or self.total_outbufs_len):
            self._extend(size)
        elif self.total_outbufs_len:
            self._allow(CLIENT_TIMEOUT)
        else:
            self._allow(self.adj.keep_seconds() or LINGER_TIMEOUT)

    def handle_close(self) -> None:
        """Close the connection and release buffered input."""
        super().handle_close()
        if self.request is not None:
            self.request.close()


class Server(waitress.Listener):
    """A listener that closes an idle connection if there are too many connections."""

    channel_class = Channel
    # Whether no file descriptor is free and no connection can be closed to free one.
    full = False
    # Time until which new connections are left to idle processes, or 0.
    yields_until: float | None = None

    def readable(self) -> bool:
        """Return whether the event loop waits for new connections."""
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
        if len(self.watched) > self.adj.connection_limit:
            self._make_room()

    def _is_busy(self) -> bool:
        """Return whether another process may be less busy than this process."""
        is_alone = self.adj.cfg.workers == 1
        return not is_alone and self.task_dispatcher.active_count > 0 and not self.adj.stopping

    def accept(self) -> Any:
        """Return a connection and its address, or None."""
        try:
            return super().accept()
        except OSError as error:  # other errors concern a single aborted connection
            if error.errno in _NO_ROOM:
                self.full = not self._make_room()
            return None

    def handle_error(self) -> None:
        """Log the error and continue. An error of one connection does not stop the listener."""
        self.adj.log.exception("a connection was not accepted")

    def _make_room(self) -> bool:
        """Close the connection that has been idle for the longest time.

        Return whether there was one.
        """
        channels = self.watched.connections()
        idle = [each for each in channels if not (each.requests or each.total_outbufs_len)]
        if idle:
            min(idle, key=lambda each: each.last_activity).handle_close()
        return bool(idle)

    def stop(self) -> None:
        """Accept only the connections that are already queued.

        The kernel would reset them otherwise.
        """
        for _ in range(self.adj.backlog):
            if not select.select([self.socket], [], [], 0)[0]:
                break
            self.handle_accept()
        self.close_socket()
