"""Waitress, with deadlines, and with connections that end without a loss."""

import errno
import select
import socket
import time
from typing import Any

from placement.compat import waitress
from placement.wsgi.request import Request

# Seconds that a client has to send its request, and again to take the answer; one more for each
# MIN_RATE bytes in either direction, but never more than CLIENT_TIMEOUT from then on.
CLIENT_TIMEOUT = 10.0
MIN_RATE = 256 * 1024
LINGER_TIMEOUT = 2.0  # seconds that a client has to see the end of its connection
YIELD_SECONDS = 0.001  # for which a busy process leaves a new connection to idle ones

_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class RefusalAnswer(waitress.ErrorAnswer):
    """The answer to what is no request, with a line in the log as gunicorn has."""

    def execute(self) -> None:
        """Log and answer."""
        client, error = self.channel.addr[0], self.request.error
        self.channel.adj.log.warning("Invalid request from ip=%s: %r", client, error.body)
        super().execute()


class Channel(waitress.Connection):
    """A connection with a deadline, which its client can see end."""

    parser_class, task_class, error_task_class = Request, waitress.Answer, RefusalAnswer
    request: Any
    close_when_flushed: bool
    linger = True  # whether the client may still be sending when the connection ends
    lingers = False  # the client has everything, and what it still sends is ignored

    def __init__(self, *args: Any, **options: Any) -> None:
        self._allow(CLIENT_TIMEOUT)
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
            self._allow(CLIENT_TIMEOUT)
        self._extend(len(data))
        return bool(super().received(data))

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def _extend(self, size: int) -> None:
        self.deadline = min(self.deadline + size / MIN_RATE, time.monotonic() + CLIENT_TIMEOUT)

    def drop_late(self, now: float) -> None:
        """End the connection if its time is over and nothing of the client has arrived."""
        if now < self.deadline or self.requests:
            return
        if self.total_outbufs_len or self.lingers:
            self.handle_close()
        else:
            self.read_event()  # which closes where nothing has arrived

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
        self.flush()
        if self.connected and not self.total_outbufs_len:
            self.lingers, self.close_when_flushed = True, False
            self._allow(LINGER_TIMEOUT)
            self.socket.shutdown(socket.SHUT_WR)

    def write_soon(self, data: bytes) -> int:
        """Send what the client takes now and keep the rest."""
        try:
            return int(super().write_soon(data))
        except OSError as error:  # no temporary file, or no room in it
            self.adj.log.error("an answer cannot be kept: %s", error)
            self.will_close = True
            raise

    def keeps_alive(self) -> bool:
        """Return whether the client may send another request."""
        return bool(self.adj.keep_seconds())

    def after_flush(self, size: int) -> None:
        """Give the client time for the rest of the answer, or for its next request."""
        if not self.requests and (self.request is not None or self.total_outbufs_len):
            self._extend(size)
        elif self.total_outbufs_len:
            self._allow(CLIENT_TIMEOUT)
        else:
            self._allow(self.adj.keep_seconds() or LINGER_TIMEOUT)

    def handle_close(self) -> None:
        """Close, and give up what was gathered."""
        super().handle_close()
        if self.request is not None:
            self.request.close()


class Server(waitress.Listener):
    """A listener, which makes room for a newcomer where there are too many connections."""

    channel_class = Channel
    full = False  # no file can be opened, and no connection closed for it
    yields_until: float | None = None  # a newcomer is left to idle processes; 0: no longer

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
        if len(self.watched) > self.adj.connection_limit:
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
        channels = self.watched.connections()
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
        self.close_socket()
