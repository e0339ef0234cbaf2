"""Servers to send requests to."""

import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from placement import app
from tests.kit.builders import make_database


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self) -> None:
        # The inherited method looks up the name of this machine, which can take seconds.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]
        self.setup_environ()


class _Silent(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def live_server(tmp_path: Path) -> Iterator[str]:
    """The base URL of a server on an empty database of its own."""
    settings, database = make_database(tmp_path)
    application = app.create_app(settings, database)
    with make_server("127.0.0.1", 0, application, _Server, _Silent) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    database.dispose()
