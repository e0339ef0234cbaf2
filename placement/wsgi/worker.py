"""A gunicorn worker whose threads never wait for clients.

A thread of gunicorn's gthread worker reads its request and writes its response, however long the
client takes. As many slow clients as there are threads therefore stop the service. Here all threads
wait together, for whatever any client does next. The one that wakes takes what has come. If that
completes a request, it answers, and sends what the client takes at once. There is one thread more
than may answer, so that somebody looks after the clients meanwhile.

A connection carries one request. So no request can arrive on a connection that is just being
closed because it was idle or because the service stops.
"""

import os
import resource
import signal
import socket
import sys
import time
from collections import deque
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from gunicorn import http, util
from gunicorn.workers.gthread import ThreadWorker

from placement.wsgi.arrival import HeadTooLong
from placement.wsgi.client import SentBody
from placement.wsgi.connections import (
    FAREWELL,
    PATIENCE,
    RECEIVE,
    SEND,
    Connection,
    Connections,
)

MOMENT = 0.001  # seconds, in which some request is done if none waits for the database
MOMENTS = 20  # for which a thread gives way
BETWEEN_SIGNS = 1.0  # seconds between signs of life
BETWEEN_LOOKS = 0.1  # seconds between looks at the end whether all is done

LONGEST_BODY = 32 * 1024 * 1024  # bytes, where the application does not say
OPEN_FILES = 4096

_BUFFER = 64 * 1024


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn is not typed
    """A worker whose threads gather requests and answer them.

    A connection is watched for one thing at a time: its request, a client that takes more of its
    response, the client's end.
    """

    wsgi: Any
    connections: Connections

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._news: SimpleQueue[None] = SimpleQueue()  # for the main thread
        self._lock = Lock()  # for the two that follow
        self._room = self.cfg.threads  # for requests that are answered
        self._answered = 0
        self._queue: deque[Connection] = deque()  # with requests for which there was no room

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

    def load_wsgi(self) -> None:
        """Load the application and read the limit of its bodies."""
        super().load_wsgi()
        longest_body = getattr(self.wsgi, "max_body_size", LONGEST_BODY)
        self.connections = Connections(self.cfg, longest_body, self._gather)
        self.wsgi = partial(SentBody, self.wsgi)

    # -- the main thread: signs of life, clients that take too long, the end ----------------

    def run(self) -> None:
        """Serve until the master stops the worker, and then the requests that have arrived."""
        self.connections.open(self.sockets)
        for place in range(self.cfg.threads + 1):
            # Nobody waits at the end of the process for one that never ends.
            Thread(target=self._work, name=f"answers-{place}", daemon=True).start()
        while self.alive and self.is_parent_alive():
            self._look(BETWEEN_SIGNS)
        self.connections.shut()
        self.connections.hurry(FAREWELL)
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while self.connections.number and time.monotonic() < deadline:
            self._look(BETWEEN_LOOKS)
        if self.connections.number:
            # The time for that is over. Python would wait for threads that may never end.
            os._exit(0)

    def _look(self, seconds: float) -> None:
        """Show the master that the worker lives, see who is late, and wait."""
        self.notify()
        self.connections.drop_late()
        with suppress(Empty):
            self._news.get(timeout=seconds)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop."""
        self.alive = False
        self._news.put(None)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop at once, without the locks that gthread takes in this signal handler."""
        os._exit(0)

    # -- the other threads ------------------------------------------------------------------

    def _work(self) -> None:
        try:
            while True:
                self.turn()
        except BaseException:
            self.log.exception("Exception in worker process")
            os._exit(1)  # the master starts another

    def turn(self, timeout: float | None = None) -> bool:
        """Wait for something to do, for so many seconds or for ever, do it, and return whether."""
        conn = self.connections.next(self._give_way, timeout)
        if conn is None:
            return False
        conn.act(conn)
        return True

    def _gather(self, conn: Connection) -> None:
        try:
            is_over = not self._receive(conn)
        except BlockingIOError:
            is_over = False
        except HeadTooLong:
            self._refuse(conn)
            return
        except OSError:
            self.connections.drop(conn)
            return
        if is_over and not conn.arrival.size:
            self.connections.drop(conn)
        elif is_over or conn.arrival.complete:
            self._hand_over(conn)
        else:
            self.connections.watch(conn, RECEIVE, self._gather)

    def _receive(self, conn: Connection) -> bytes:
        """Take what the client has sent, and return it; nothing at the end of what it sends.

        Raises OSError, also BlockingIOError for none yet, and HeadTooLong.
        """
        arrival = conn.arrival
        data: bytes = conn.sock.recv(_BUFFER)
        if data:
            arrival.take(data)
            conn.extend(len(data))
        if arrival.expects and not arrival.complete:
            arrival.expects = False
            conn.sock.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        return data

    def _hand_over(self, conn: Connection) -> None:
        """Answer a request, and those that wait for it; the parser refuses an incomplete one."""
        conn.arrival.complete = True
        conn.parser = http.get_parser(self.cfg, conn.arrival.pieces(), conn.client)
        conn.initialized = conn.data_ready = True
        with self._lock:
            if not self._room:
                self._queue.append(conn)
                return
            self._room -= 1
        self._answer(conn)
        while following := self._following():
            self._answer(following)

    def _give_way(self) -> None:
        """Leave a newcomer to idle processes, and to the threads that are about to be done.

        PERF: Python runs one thread at a time. More of them only help while the requests that they
        answer wait for the database, so that none is done for a while.
        """
        answered = None
        for _ in range(MOMENTS):
            if self._room == self.cfg.threads or answered == self._answered:
                return
            answered = self._answered
            time.sleep(MOMENT)

    def _following(self) -> Connection | None:
        """Return a connection whose request waits to be answered, or make room for another."""
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            self._room += 1
            return None

    def _answer(self, conn: Connection) -> None:
        try:
            self.handle(conn)
        except BaseException:
            self.log.exception("a request was not answered")
        self._answered += 1
        conn.arrival.close()
        conn.allow(PATIENCE)
        self._send(conn)

    def _refuse(self, conn: Connection) -> None:
        conn.arrival.complete = True
        util.write_error(conn.sock, 431, "Request Header Fields Too Large", "the head is too long")
        self._send(conn)

    def _send(self, conn: Connection) -> None:
        """Send the rest of the response, as the client takes it."""
        try:
            conn.extend(conn.sock.flush())
            if conn.sock.unsent:
                self.connections.watch(conn, SEND, self._send)
                return
            request = conn.parser and conn.parser.mesg
            if request and request.should_close() and conn.arrival.whole:
                # The client has said that it sends no more, and nothing is left.
                self.connections.drop(conn)
                return
            # Closed while the client may still send, the connection might be reset.
            conn.sock.shutdown(socket.SHUT_WR)
            conn.allow(FAREWELL)
            self.connections.watch(conn, RECEIVE, self._see_off)
        except (OSError, ValueError):
            self.connections.drop(conn)

    def _see_off(self, conn: Connection) -> None:
        try:
            is_over = not conn.sock.recv(_BUFFER)
        except BlockingIOError:
            is_over = False
        except OSError:
            is_over = True
        if is_over:
            self.connections.drop(conn)
        else:
            self.connections.watch(conn, RECEIVE, self._see_off)
