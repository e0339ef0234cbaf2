"""A TCP proxy in front of a database, which cuts connections at critical moments."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import selectors
import socket
import threading
from enum import Enum

COMMIT = b"COMMIT"
# The PREPARE of a statement of MariaDB that ends with a COMMIT, and its name.
PREPARE = re.compile(rb"PREPARE (\w+) FROM 'BEGIN NOT ATOMIC .*COMMIT; END'", re.DOTALL)

PROTOCOL = b"\n"  # first byte of the greeting of a MariaDB server, after the head of its packet
TLS = 8  # in the second byte of the server's capabilities


def without_tls(greeting: bytes) -> bytes:
    """Remove the offer of TLS from the greeting of a MariaDB server, so that proxies can read."""
    if greeting[4:5] != PROTOCOL:
        return greeting  # an error
    at = greeting.index(b"\0", 5) + 1 + 14  # after the version, and 14 bytes
    return greeting[:at] + bytes([greeting[at] & ~TLS]) + greeting[at + 1 :]


class Cut(Enum):
    """The moment at which a connection is cut."""

    NEVER = "never"
    BEFORE_COMMIT = "the COMMIT does not reach the database"
    AFTER_COMMIT = "the COMMIT is carried out, its answer is lost"


class Proxy:
    """Forwards bytes between clients and ports of this machine. cut: the simulated fault.

    Connections are distributed over the ports in turn, without ports that have no listener. One of
    `every` COMMITs is cut at random, alone or at the end of a prepared statement. `sent` has the
    bytes from clients, up to each response.
    """

    def __init__(self, *targets: int, seed: int = 0) -> None:
        self.cut = Cut.NEVER
        self.every = 1
        self.most: int | None = None  # None cuts any number of COMMITs
        self.cuts = 0
        self.sent: list[bytes] = []
        self._clients: set[socket.socket] = set()
        self._targets = targets
        self._turns = itertools.count()
        self._random = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def redirect(self, *targets: int) -> None:
        """Lead new connections to these ports. Without ports, refuse them."""
        self._targets = targets

    def sever(self) -> None:
        """Cut all connections. The database continues to execute their statements."""
        for client in self._clients.copy():
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            self._clients.add(client)
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), self._connect() as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._both_ways(client, server)
        self._clients.discard(client)

    def _connect(self) -> socket.socket:
        for _ in self._targets:
            port = self._targets[next(self._turns) % len(self._targets)]
            with contextlib.suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", port))
        raise ConnectionRefusedError

    def _both_ways(self, client: socket.socket, server: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, server)
            ready.register(server, selectors.EVENT_READ, client)
            last = server
            greeted = False
            committing = {COMMIT}
            while True:
                for key, _events in ready.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    data = source.recv(1 << 16)
                    if not data:
                        return
                    if source is server and not greeted:
                        data = without_tls(data)
                    greeted = True
                    if source is client and last is server:
                        self.sent.append(data)
                    elif source is client:
                        self.sent[-1] += data
                    last = source
                    if source is client and (prepared := PREPARE.search(data)):
                        committing.add(b"EXECUTE " + prepared[1])
                    # A COMMIT is a separate packet, or a prepared statement has it; ROLLBACKs and
                    # other statements are forwarded.
                    commits = source is client and any(each in data[:64] for each in committing)
                    if commits and self._is_cut():
                        if self.cut is Cut.AFTER_COMMIT:
                            server.sendall(data)
                            server.recv(1 << 16)
                        return
                    key.data.sendall(data)

    def _is_cut(self) -> bool:
        if self.cut is Cut.NEVER or self._random.randrange(self.every) or self.cuts == self.most:
            return False
        self.cuts += 1
        return True
