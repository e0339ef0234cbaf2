"""A gunicorn worker whose threads never wait for clients.

A thread of gunicorn's own (gthread) reads its request and writes its answer, however long the
client takes: as many clients as there are threads, that send or read slowly or not at all, stop
the service. Here the worker's loop gathers requests, and threads get those that are complete.
What a client does not take of its answer at once is left to the loop as well.

A connection carries one request: nothing that is sent can meet a connection that is being closed
because it was idle, or because the service stops.
"""

import errno
import os
import resource
import selectors
import signal
import socket
import sys
import time
from collections import deque
from functools import partial
from typing import Any

from gunicorn import http, util
from gunicorn.workers.gthread import TConn, ThreadWorker

from placement.wsgi.arrival import Arrival, HeadTooLong

# A client has so many seconds to send its request, and to take the answer; one more for each
# SLOWEST bytes that come or go.
PATIENCE = 10.0
SLOWEST = 256 * 1024
# Seconds that a connection is kept for the client to see its end, and bytes of answers that the
# loop holds for one client; beyond them its thread waits.
FAREWELL = 2.0
UNSENT = 8 * 1024 * 1024
BETWEEN_LOOKS = 0.25  # seconds

LONGEST_BODY = 32 * 1024 * 1024  # bytes, where the application does not say
OPEN_FILES = 4096

_BUFFER = 64 * 1024
_NO_ROOM = {errno.EMFILE, errno.ENFILE}
_NOT_NOW = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED}


class Client:
    """The socket of a client, as gunicorn writes to it: what is sent is taken, at once."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._unsent: deque[memoryview] = deque()
        self.until = 0.0  # when the client must have taken all

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def setblocking(self, flag: bool) -> None:
        """Stay as it is: nobody waits for a client here."""

    def sendall(self, data: bytes) -> None:
        """Send what the client takes now and keep the rest; wait only when that is much.

        Raises TimeoutError, or another OSError for a client that is gone.
        """
        if not self._unsent:
            self.until = time.monotonic() + PATIENCE
        self._unsent.append(memoryview(data))
        while not self.flush() and sum(map(len, self._unsent)) > UNSENT:
            left = self.until - time.monotonic()
            with selectors.DefaultSelector() as selector:
                selector.register(self._sock, selectors.EVENT_WRITE)
                if left <= 0 or not selector.select(left):
                    raise TimeoutError("the client does not take its answer")

    def flush(self) -> bool:
        """Send what the client takes now; whether that is all."""
        while self._unsent:
            try:
                sent = self._sock.send(self._unsent[0])
            except BlockingIOError:
                return False
            self.until += sent / SLOWEST
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                self._unsent.popleft()
        return True


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn is not typed
    """Gathers requests in its loop, answers them in threads.

    A connection is watched by the loop for one thing at a time: for its request, for a client
    that takes more of its answer, for the client's end.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._watched: dict[TConn, None] = {}  # the longest waiting first
        self._longest_body = LONGEST_BODY
        self._next_look = 0.0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse what this worker does not do."""
        super().check_config(cfg, log)
        if cfg.is_ssl or cfg.keepalive:
            sys.exit("placement: the worker does no TLS and no keep-alive; a proxy in front does")

    def init_process(self) -> None:
        """Begin to work."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < OPEN_FILES:  # negative is without limit
            more = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        super().init_process()

    def init_signals(self) -> None:
        """A terminal's Ctrl-C reaches workers too; they stop when the arbiter tells them."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def load_wsgi(self) -> None:
        """Load the application and look at the limit of its bodies."""
        super().load_wsgi()
        self._longest_body = getattr(self.wsgi, "max_body_size", LONGEST_BODY)

    def run(self) -> None:
        """Serve until told to stop, and then what has come by then."""
        super().run()
        if self.nr_conns:
            # The time for that is over. Python would wait for threads that may never end.
            os._exit(0)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop at once: no lock may be taken in a signal handler, as gthread does."""
        os._exit(0)

    # -- the loop: a connection is accepted, watched, and dropped ---------------------------

    def accept(self, listener: Any) -> bool:
        """Accept one connection; whether there was one."""
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:
                self._make_room()
            elif error.errno not in _NOT_NOW:
                raise
            return False
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        conn = TConn(self.cfg, sock, address, listener.getsockname())
        conn.sock = Client(sock)
        conn.arrival = Arrival(self._longest_body)
        conn.timeout = time.monotonic() + PATIENCE
        self._watch(conn, selectors.EVENT_READ, self._gather)
        return True

    def _watch(self, conn: TConn, event: int, act: Any) -> None:
        self.poller.register(conn.sock, event, partial(act, conn))
        self._watched[conn] = None

    def _unwatch(self, conn: TConn) -> None:
        self.poller.unregister(conn.sock)
        del self._watched[conn]

    def _drop(self, conn: TConn) -> None:
        if conn in self._watched:
            self._unwatch(conn)
        self.nr_conns -= 1
        conn.arrival.close()
        conn.close()

    def _make_room(self) -> None:
        """Drop the connection that has waited for its request longest."""
        for conn in self._watched:
            if not conn.arrival.complete:
                self._drop(conn)
                return

    def murder_pending(self) -> None:
        """Drop connections whose time is over; called by the loop."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + BETWEEN_LOOKS
        for conn in [conn for conn in self._watched if conn.timeout < now]:
            self._drop(conn)

    # -- a request comes, a thread answers it, the answer goes ------------------------------

    def _gather(self, conn: TConn, _client: Client) -> None:
        arrival = conn.arrival
        try:
            data = conn.sock.recv(_BUFFER)
            if data:
                arrival.take(data)
                conn.timeout += len(data) / SLOWEST
            if arrival.expects and not arrival.complete:
                arrival.expects = False
                conn.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        except BlockingIOError:
            return
        except HeadTooLong:
            self._refuse(conn)
            return
        except OSError:
            self._drop(conn)
            return
        if not data and not arrival.size:
            self._drop(conn)
        elif arrival.complete or not data:
            # A client that has ended early is told so by the parser.
            arrival.complete = True
            self._unwatch(conn)
            conn.parser = http.get_parser(self.cfg, arrival.pieces(), conn.client)
            conn.initialized = conn.data_ready = True
            self.enqueue_req(conn)

    def _refuse(self, conn: TConn) -> None:
        self._unwatch(conn)
        conn.arrival.complete = True
        util.write_error(conn.sock, 431, "Request Header Fields Too Large", "the head is too long")
        self._send(conn)

    def handle_request(self, req: Any, conn: TConn) -> bool:
        """Answer a request, in a thread."""
        try:
            return bool(super().handle_request(req, conn))
        except TimeoutError as error:
            self.log.info("Gave up %s: %s", conn.client, error)
            return False

    def finish_request(self, conn: TConn, _future: Any) -> None:
        """Go on with a connection whose thread is done with it."""
        conn.arrival.close()
        self._send(conn)

    def _send(self, conn: TConn, _client: Client | None = None) -> None:
        try:
            if conn in self._watched:
                self._unwatch(conn)
            if not conn.sock.flush():
                conn.timeout = conn.sock.until
                self._watch(conn, selectors.EVENT_WRITE, self._send)
                return
            # A connection that is closed before the client has seen the end may be reset.
            conn.sock.shutdown(socket.SHUT_WR)
            conn.timeout = time.monotonic() + FAREWELL
            self._watch(conn, selectors.EVENT_READ, self._see_off)
        except (OSError, ValueError):
            self._drop(conn)

    def _see_off(self, conn: TConn, _client: Client) -> None:
        try:
            if conn.sock.recv(_BUFFER):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop(conn)

    # -- the end ----------------------------------------------------------------------------

    def set_accept_enabled(self, enabled: bool) -> None:
        """At the end, accept all that the kernel has, for it would reset it."""
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                while self.accept(listener):
                    pass
                listener.close()

    def _cap_keepalive(self, deadline: float) -> None:
        """At the end, who has sent nothing is waited for until the deadline only."""
        for conn in self._watched:
            if not conn.arrival.size:
                conn.timeout = min(conn.timeout, deadline)
