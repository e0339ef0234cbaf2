"""A proxy that serves everything below /placement, as in front of a cloud's services."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "/placement"
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive"}


@contextmanager
def behind_prefix(port: int) -> Iterator[str]:
    """Forward requests to a server of this machine until the block ends. Yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            if not self.path.startswith(f"{PREFIX}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                connection.request(
                    self.command, self.path.removeprefix(PREFIX), body, dict(self.headers)
                )
                answer = connection.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _pass  # noqa: N815 - what the library calls

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    finally:
        server.shutdown()
        server.server_close()
