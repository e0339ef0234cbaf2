"""A worker that serves an application in this process."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.sock import TCPSocket

from placement.wsgi import worker as worker_module
from placement.wsgi.server import Channel
from placement.wsgi.worker import Worker

PATIENCE = 30  # seconds
TOKEN = b"Host: x\r\nX-Auth-Token: t\r\n"


@dataclass
class Site:
    """A worker, its port, and the requests that its application has seen."""

    worker: Worker
    port: int
    seen: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)

    def connect(self, sent: bytes = b"", receive_buffer: int | None = None) -> socket.socket:
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", self.port))
        sock.sendall(sent)
        return sock

    def answer(self, sent: bytes) -> bytes:
        """Send these bytes and no more; all that comes back until the connection is closed."""
        with self.connect(sent) as sock:
            sock.shutdown(socket.SHUT_WR)
            return rest(sock)

    def channels(self) -> list[Channel]:
        return self.worker.watched.connections()

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.01)


def rest(sock: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    return b"".join(iter(lambda: sock.recv(65536), b""))


def statuses(answers: bytes) -> list[int]:
    """The statuses of answers that follow each other."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", answers)]


def is_open(sock: socket.socket) -> bool:
    """Whether the worker has neither closed the connection nor sent anything."""
    sock.setblocking(False)
    try:
        sock.recv(1)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        sock.settimeout(PATIENCE)
    return False


@contextmanager
def serving(application: Any = None, *, max_body: int = 1000, **options: Any) -> Iterator[Site]:
    """Serve until the block ends; without an application, respond with 200 and record requests."""
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as bound:
        patch.setattr(worker_module, "TICK", 0.05)
        patch.setattr(os, "_exit", lambda code: None)
        cfg = Config()
        for name, value in {
            "threads": 2,
            "keepalive": 75,
            "graceful_timeout": 1,
            **options,
        }.items():
            cfg.set(name, value)
        bound.setblocking(False)
        conf_listener = TCPSocket(bound.getsockname(), cfg, Logger(cfg), fd=os.dup(bound.fileno()))
        worker = Worker(1, os.getppid(), [conf_listener], None, 30, cfg, Logger(cfg))
        site = Site(worker, bound.getsockname()[1])

        def note(environ: dict[str, Any], start_response: Any) -> list[bytes]:
            body = b""
            if environ["REQUEST_METHOD"] == "POST" and "HTTP_X_AUTH_TOKEN" in environ:
                body = environ["wsgi.input"].read()
            site.seen.append((environ, body))
            start_response("200 OK", [("Content-Length", "4")])
            return [b"seen"]

        worker.wsgi = application or note
        worker.wsgi = _Sized(worker.wsgi, max_body)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            site.until(lambda: hasattr(worker, "next_look"))
            yield site
        finally:
            worker.handle_exit(0, None)
            thread.join(PATIENCE)
            for each in worker.servers:
                each.trigger.close()
            worker.tmp.close()
        assert not thread.is_alive()


class _Sized:
    def __init__(self, application: Any, max_body: int) -> None:
        self._application, self.max_body_size = application, max_body

    def __call__(self, environ: Any, start_response: Any) -> Any:
        return self._application(environ, start_response)
