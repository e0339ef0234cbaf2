"""A gunicorn worker that uses waitress, whose threads never wait for clients."""

import os
import resource
import signal
import sys
import time
from typing import Any

from gunicorn.workers.base import Worker as BaseWorker

from placement.compat import waitress
from placement.wsgi.request import WorkerSettings
from placement.wsgi.server import LINGER_TIMEOUT, YIELD_SECONDS, Server

MAX_BODY = 32 * 1024 * 1024  # bytes, if the application does not set a limit
OPEN_FILES = 4096
TICK = 1.0  # seconds between heartbeats, and between checks of deadlines


class Worker(BaseWorker):  # type: ignore[misc]  # gunicorn is not typed
    """A worker with one event loop for all connections, and `threads` that process requests."""

    # False after the worker was asked to stop (attribute of gunicorn).
    alive: bool

    @classmethod
    def check_config(cls, cfg: Any, _log: Any) -> None:
        """Refuse gunicorn settings that this worker does not support."""
        if cfg.is_ssl:
            sys.exit("placement: the worker does not support TLS; terminate it in a proxy")

    def init_process(self) -> None:
        """Raise the limit of open files, and start the worker."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < OPEN_FILES:  # a negative value means unlimited
            more = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        super().init_process()

    def init_signals(self) -> None:
        """Ignore Ctrl-C in a terminal. Workers receive it as well, but the master stops them."""
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        """Serve until the master stops the worker. Then finish the requests that have arrived."""
        self._listen()
        while self.alive and self.ppid == os.getppid():
            self._turn(TICK)
            self.alive = self.alive and self.settings.answered < self.max_requests
        self._stop_listening()
        end = time.monotonic() + self.cfg.graceful_timeout
        while self.watched.connections() and time.monotonic() < end:
            self._turn(TICK / 10)
        if self.watched.connections():
            os._exit(0)  # a normal exit would wait for threads that may never end

    def _listen(self) -> None:
        self.watched = waitress.Watched()
        self.settings = WorkerSettings(
            self.cfg, self.log, getattr(self.wsgi, "max_body_size", MAX_BODY)
        )
        threads = waitress.start_threads(self.cfg.threads)
        self.servers = [
            Server(self.wsgi, listener.sock, self.watched, threads, self.settings)
            for listener in self.sockets
        ]
        self.settings.connection_limit = len(self.watched) + self.cfg.worker_connections
        self.next_look = 0.0

    def _stop_listening(self) -> None:
        """Stop accepting connections.

        Clients that have sent nothing get time to notice the close.
        """
        self.settings.stopping = True
        for server in self.servers:
            server.stop()
        moment = time.monotonic() + LINGER_TIMEOUT
        for channel in self.watched.connections():
            if channel.request is None and not channel.requests:
                channel.deadline = min(channel.deadline, moment)

    def _turn(self, seconds: float) -> None:
        """Report to the master that the worker is alive, and serve for at most `seconds`."""
        yields = any(server.yields_until for server in self.servers)
        self.watched.turn(YIELD_SECONDS if yields else seconds)
        for server in self.servers:
            # An idle process has accepted the connection.
            server.yields_until = server.yields_until or None
        now = time.monotonic()
        if now < self.next_look:
            return
        self.next_look = now + seconds
        self.notify()
        for channel in self.watched.connections():
            channel.drop_late(now)
        for server in self.servers:
            server.full = False

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop the worker."""
        self.alive = False
        for server in self.servers:
            server.pull_trigger()
