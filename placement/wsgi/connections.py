"""The connections of a worker: each one is watched, or in the hands of one thread.

All threads wait together, and each thing that happens wakes one of them. It then has the connection
to itself, until it has it watched again or drops it.
"""

import errno
import select
import socket
import time
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock
from typing import Any

from gunicorn.workers.gthread import TConn

from placement.wsgi.arrival import Arrival
from placement.wsgi.client import Client

# Seconds that a client has to send its request, and again to take the response; one more for each
# SLOWEST bytes in either direction, but never more than PATIENCE from then on.
PATIENCE = 10.0
SLOWEST = 256 * 1024
FAREWELL = 2.0  # seconds that a connection is kept for the client to see its end

# What is watched for. After it has happened once, nothing is until it is watched for again.
NOTHING = select.EPOLLONESHOT
RECEIVE = select.EPOLLIN | NOTHING
SEND = select.EPOLLOUT | NOTHING

# Why no connection is accepted: nobody has come, or there is no room.
_NOBODY = {errno.EAGAIN, errno.EWOULDBLOCK}
_NO_ROOM = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
# Or that one was lost on its way, which says nothing of the listener and of those behind.
_LOST = {
    errno.ECONNABORTED,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ENONET,
    errno.ENOPROTOOPT,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EPROTO,
}
_LOST_IN_A_ROW = 64  # after which others have their turn


class Connection(TConn):  # type: ignore[misc]  # gunicorn is not typed
    """A connection, with its one request.

    act: what is done when that happens for which it is watched.
    """

    sock: Client

    def __init__(
        self,
        cfg: Any,
        sock: socket.socket,
        address: Any,
        server: Any,
        longest_body: int,
        act: Callable[["Connection"], None],
    ) -> None:
        """longest_body: bytes."""
        super().__init__(cfg, Client(sock), address, server)
        sock.setblocking(False)
        self.act = act
        self.file = sock.fileno()
        self.is_registered = False  # by the kernel, as one that may be watched
        self.arrival = Arrival(longest_body)
        self.allow(PATIENCE)

    def allow(self, seconds: float) -> None:
        """Give the client so much time from now on."""
        self.timeout = time.monotonic() + seconds

    def extend(self, size: int) -> None:
        """Give the client the time for so many bytes that it has sent or taken."""
        self.timeout = min(self.timeout + size / SLOWEST, time.monotonic() + PATIENCE)


class Connections:
    """The connections that a worker accepts, and has not dropped.

    number: how many there are. Whoever takes one off those that are watched may act on it.
    """

    def __init__(self, cfg: Any, longest_body: int, act: Callable[[Connection], None]) -> None:
        """Accept none yet; `act` is what is done with each one that is accepted."""
        self.number = 0
        self._make = partial(Connection, cfg, longest_body=longest_body, act=act)
        self._most = cfg.worker_connections
        self._lock = Lock()  # for all that follows, and the number
        self._watched: dict[int, Connection] = {}  # by file descriptor; the longest waiting first
        self._events = select.epoll()
        # Those that connections are accepted from, by file descriptor, and which wait for room.
        self._listeners: dict[int, tuple[Any, Any]] = {}
        self._full: set[int] = set()
        self._newcomers: set[int] = set()  # where a thread gives way

    def open(self, listeners: Iterable[Any]) -> None:
        """Accept connections from now on."""
        for listener in listeners:
            listener.setblocking(False)
            self._listeners[listener.fileno()] = listener, listener.getsockname()
            self._events.register(listener, RECEIVE)

    def shut(self) -> None:
        """Accept no more, but those that the kernel holds, and would reset."""
        arrived: list[Connection] = []
        with self._lock:
            listeners, self._listeners = self._listeners, {}
            self._full.clear()
            self._newcomers.clear()
            for listener, address in listeners.values():
                # The master has it open too, so the kernel would go on to tell of it.
                self._events.unregister(listener)
                arrived += iter(partial(self._accept, listener, address), None)
                listener.close()
        for conn in arrived:
            self.watch(conn, RECEIVE, conn.act)

    def next(self, give_way: Callable[[], None], timeout: float | None = None) -> Connection | None:
        """Wait for an event, of which no other thread hears, and return what is to be acted on.

        give_way: waits while others had better accept a newcomer. timeout: seconds. Nothing is
        returned after them, and where somebody else was faster.
        """
        is_left_to_us = bool(self._newcomers)
        # Those who were accepted come first, so that none of them waits for ever.
        for file, _ in self._events.poll(0 if is_left_to_us else timeout, maxevents=1):
            with self._lock:
                if file not in self._listeners:
                    return self._watched.pop(file, None)
                self._newcomers.add(file)
            give_way()
            with self._lock:
                if file in self._newcomers:
                    self._newcomers.remove(file)
                    return self._accept_at(file)
            return None
        return self._newcomer() if is_left_to_us else None

    def watch(self, conn: Connection, event: int, act: Callable[[Connection], None]) -> None:
        """Let whichever thread hears of the event act."""
        conn.act = act
        with self._lock:
            self._watched[conn.file] = conn
            if conn.is_registered:
                self._events.modify(conn.file, event)
            else:
                self._events.register(conn.file, event)
                conn.is_registered = True

    def drop(self, conn: Connection) -> None:
        """End a connection that this thread has to itself."""
        with self._lock:
            self._drop(conn)

    def drop_late(self) -> None:
        """End those whose time is over."""
        now = time.monotonic()
        with self._lock:
            for conn in [conn for conn in self._watched.values() if conn.timeout < now]:
                self._drop(conn)

    def hurry(self, seconds: float) -> None:
        """Wait no longer than that for clients that have sent nothing."""
        with self._lock:
            for conn in self._watched.values():
                if not conn.arrival.size:
                    conn.timeout = min(conn.timeout, time.monotonic() + seconds)

    def _newcomer(self) -> Connection | None:
        """Accept a connection for which another thread gives way, or end that."""
        with self._lock:
            for file in self._newcomers:
                conn = self._accept(*self._listeners[file]) if self.number < self._most else None
                if conn is None:
                    self._newcomers.remove(file)
                    self._events.modify(file, RECEIVE)
                return conn
        return None

    # -- with the lock ----------------------------------------------------------------------

    def _accept_at(self, file: int) -> Connection | None:
        """Accept a connection, and watch for the next one if there is room."""
        conn = self._accept(*self._listeners[file])
        if self.number >= self._most:
            self._make_room()
        if self.number >= self._most:
            self._full.add(file)
        else:
            self._events.modify(file, RECEIVE)
        return conn

    def _accept(self, listener: Any, server: Any) -> Connection | None:
        """Return a connection that has arrived, if one has; server: the address it came to."""
        for _ in range(_LOST_IN_A_ROW):
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in _LOST:
                    continue
                if error.errno in _NO_ROOM:
                    self._make_room()
                elif error.errno not in _NOBODY:
                    raise
                return None
            self.number += 1
            return self._make(sock, address, server)
        return None

    def _make_room(self) -> None:
        """Drop the connection that has waited longest for its request, or for its client's end."""
        for conn in self._watched.values():
            if not conn.sock.unsent:
                self._drop(conn)
                return

    def _drop(self, conn: Connection) -> None:
        self._watched.pop(conn.file, None)
        self.number -= 1
        conn.arrival.close()
        conn.close()
        while self._full:
            self._events.modify(self._full.pop(), RECEIVE)
