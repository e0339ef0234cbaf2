"""A gunicorn worker whose threads never wait for clients.

A thread of gunicorn's gthread worker reads its request and writes its response, however long the
client takes. As many slow clients as there are threads therefore stop the service. Here the
worker's loop gathers requests and gives complete ones to threads. If a client does not take its
response at once, the loop sends the rest.

A connection carries one request. So no request can arrive on a connection that is just being
closed because it was idle or because the service stops.
"""

import errno
import os
import resource
import selectors
import signal
import socket
import sys
import time
from functools import partial
from typing import Any

from gunicorn import http, util
from gunicorn.workers.gthread import TConn, ThreadWorker

from placement.wsgi.arrival import Arrival, HeadTooLong
from placement.wsgi.client import Client, SentBody
from placement.wsgi.threads import Threads

# Seconds that a client has to send its request, and again to take the response; one more for each
# SLOWEST bytes in either direction, but never more than PATIENCE from then on.
PATIENCE = 10.0
SLOWEST = 256 * 1024
FAREWELL = 2.0  # seconds that a connection is kept for the client to see its end
BETWEEN_LOOKS = 0.25  # seconds between searches for connections whose time is over
BETWEEN_SIGNS = 0.5  # seconds between signs of life

LONGEST_BODY = 32 * 1024 * 1024  # bytes, where the application does not say
OPEN_FILES = 4096

_BUFFER = 64 * 1024
_NO_ROOM = {errno.EMFILE, errno.ENFILE}
_NOT_NOW = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED}


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn is not typed
    """A worker that gathers requests in its loop and answers them in threads.

    The loop watches a connection for one thing at a time: its request, a client that takes more
    of its response, the client's end.
    """

    wsgi: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._watched: dict[TConn, None] = {}  # the longest waiting first
        self._longest_body = LONGEST_BODY
        self._next_look = 0.0
        self._next_sign = 0.0

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse a configuration of gunicorn that this worker does not support."""
        super().check_config(cfg, log)
        if cfg.is_ssl or cfg.keepalive:
            sys.exit("placement: the worker does no TLS and no keep-alive; a proxy in front does")

    def init_process(self) -> None:
        """Allow for enough open files, and begin to work."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < OPEN_FILES:  # negative is without limit
            more = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        super().init_process()

    def init_signals(self) -> None:
        """Ignore a terminal's Ctrl-C, which reaches workers too: the master stops them."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def get_thread_pool(self) -> Threads[TConn]:
        """Start the threads."""
        return Threads(self.cfg.threads, self._answer)

    def load_wsgi(self) -> None:
        """Load the application and read the limit of its bodies."""
        super().load_wsgi()
        self._longest_body = getattr(self.wsgi, "max_body_size", LONGEST_BODY)
        self.wsgi = partial(SentBody, self.wsgi)

    def notify(self) -> None:
        """Show the master that the worker lives, not more often than it looks."""
        now = time.monotonic()
        if now >= self._next_sign:
            self._next_sign = now + BETWEEN_SIGNS
            super().notify()

    def run(self) -> None:
        """Serve until the master stops the worker, and then the requests that have arrived."""
        super().run()
        if self.nr_conns:
            # The time for that is over. Python would wait for threads that may never end.
            os._exit(0)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop at once, without the locks that gthread takes in this signal handler."""
        os._exit(0)

    # -- the loop: a connection is accepted, watched, and dropped ---------------------------

    def accept(self, listener: Any) -> bool:
        """Accept one connection; return whether there was one."""
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
        self._gather(conn)  # most clients have sent all of their request by now
        return True

    def _watch(self, conn: TConn, event: int, act: Any) -> None:
        self.poller.register(conn.sock, event, partial(self._notice, conn, act))
        self._watched[conn] = None

    def _notice(self, conn: TConn, act: Any, _client: Client) -> None:
        """Act, unless an earlier event of the same turn has dropped the connection."""
        if conn in self._watched:
            act(conn)

    def _unwatch(self, conn: TConn) -> None:
        """Watch a connection no more, if it is watched."""
        if conn in self._watched:
            self.poller.unregister(conn.sock)
            del self._watched[conn]

    def _drop(self, conn: TConn) -> None:
        self._unwatch(conn)
        self.nr_conns -= 1
        conn.arrival.close()
        conn.close()

    def _make_room(self) -> None:
        """Drop the connection that has waited longest for its request, or for its client's end."""
        for conn in self._watched:
            if not conn.sock.unsent:
                self._drop(conn)
                return

    def murder_pending(self) -> None:
        """Drop connections whose time is over.  The loop calls this."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + BETWEEN_LOOKS
        for conn in [conn for conn in self._watched if conn.timeout < now]:
            self._drop(conn)

    # -- a request comes, a thread answers it, the answer goes ------------------------------

    def _gather(self, conn: TConn) -> None:
        try:
            is_over = not self._receive(conn)
        except BlockingIOError:
            is_over = False
        except HeadTooLong:
            self._refuse(conn)
            return
        except OSError:
            self._drop(conn)
            return
        if is_over and not conn.arrival.size:
            self._drop(conn)
        elif is_over or conn.arrival.complete:
            self._hand_over(conn)
        elif conn not in self._watched:
            self._watch(conn, selectors.EVENT_READ, self._gather)

    def _receive(self, conn: TConn) -> bytes:
        """Take what the client has sent, and return it; nothing at the end of what it sends.

        Raises OSError, also BlockingIOError for none yet, and HeadTooLong.
        """
        arrival = conn.arrival
        data: bytes = conn.sock.recv(_BUFFER)
        if data:
            arrival.take(data)
            _extend(conn, len(data))
        if arrival.expects and not arrival.complete:
            arrival.expects = False
            conn.sock.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        return data

    def _hand_over(self, conn: TConn) -> None:
        """Give a request to a thread; the parser refuses one that the client has not completed."""
        self._unwatch(conn)
        conn.arrival.complete = True
        conn.parser = http.get_parser(self.cfg, conn.arrival.pieces(), conn.client)
        conn.initialized = conn.data_ready = True
        self.tpool.give(conn)

    def _answer(self, conn: TConn) -> None:
        try:
            self.handle(conn)
        except BaseException:
            self.log.exception("a request was not answered")
        finally:
            self.method_queue.defer(self.finish_request, conn, None)

    def _refuse(self, conn: TConn) -> None:
        self._unwatch(conn)
        conn.arrival.complete = True
        util.write_error(conn.sock, 431, "Request Header Fields Too Large", "the head is too long")
        self._send(conn)

    def finish_request(self, conn: TConn, _future: Any) -> None:
        """Send the rest of the response once the thread is done with a connection."""
        conn.arrival.close()
        conn.timeout = time.monotonic() + PATIENCE
        self._send(conn)

    def _send(self, conn: TConn) -> None:
        try:
            self._unwatch(conn)
            _extend(conn, conn.sock.flush())
            if conn.sock.unsent:
                self._watch(conn, selectors.EVENT_WRITE, self._send)
                return
            request = conn.parser and conn.parser.mesg
            if request and request.should_close() and conn.arrival.whole:
                self._drop(conn)  # the client has said that it sends no more, and nothing is left
                return
            # Closed while the client may still send, the connection might be reset.
            conn.sock.shutdown(socket.SHUT_WR)
            conn.timeout = time.monotonic() + FAREWELL
            self._watch(conn, selectors.EVENT_READ, self._see_off)
        except (OSError, ValueError):
            self._drop(conn)

    def _see_off(self, conn: TConn) -> None:
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
        """At the end, accept the connections that the kernel holds and would reset."""
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                while self.accept(listener):
                    pass
                listener.close()

    def _cap_keepalive(self, deadline: float) -> None:
        """At the end, wait only until the deadline for clients that have sent nothing."""
        for conn in self._watched:
            if not conn.arrival.size:
                conn.timeout = min(conn.timeout, deadline)


def _extend(conn: TConn, size: int) -> None:
    """Give a client the time for so many bytes that it has sent or taken."""
    conn.timeout = min(conn.timeout + size / SLOWEST, time.monotonic() + PATIENCE)
