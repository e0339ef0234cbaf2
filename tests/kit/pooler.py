"""A proxy that lends the connections of a database to its clients, for one transaction each.

A client gets any connection on which the same session variables were set. It keeps the connection
until its transaction ends.
"""

from __future__ import annotations

import random
import socket
import threading
from collections import defaultdict
from typing import BinaryIO

from tests.kit.engines import FAMILY, server
from tests.kit.proxy import without_tls


class Link:
    """One end of a TCP connection."""

    def __init__(self, end: socket.socket) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = end
        self._received: BinaryIO = end.makefile("rb")

    def read(self, size: int) -> bytes:
        """Return this number of bytes.  Raises EOFError at the end of the connection."""
        data = self._received.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        self._received.close()
        self._socket.close()


class Pooler:
    """Subclasses define the protocol of a database."""

    def __init__(self, target: int, seed: int) -> None:
        self.clients = 0  # that have connected
        self.moved = 0  # transactions on another connection than the client's previous one
        self._target = target
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        # The statements that have set variables -> connections that no client uses.
        self._idle: defaultdict[tuple[bytes, ...], list[Link]] = defaultdict(list)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more clients, and close the connections that no client uses."""
        self._listener.close()
        with self._lock:
            for links in self._idle.values():
                for link in links:
                    link.close()

    def log_in(self, client: Link, database: Link) -> None:
        """Pass on the messages until the database has accepted the client."""
        raise NotImplementedError

    def command(self, client: Link) -> bytes:
        """Return the next command.  Raises EOFError if the client leaves."""
        raise NotImplementedError

    def variables(self, command: bytes) -> tuple[bytes, ...]:
        """Return the command if it sets variables of the session that the pooler knows."""
        return ()

    def announces(self, command: bytes) -> bool:
        """Return whether a command sets a property of the next transaction."""
        return False

    def response(self, database: Link) -> tuple[bytes, bool | None]:
        """Return the response to a command, and whether a transaction is open.

        None means that the command has not changed this.
        """
        raise NotImplementedError

    def _accept(self) -> None:
        while True:
            try:
                client, _address = self._listener.accept()
            except OSError:
                return
            self.clients += 1
            threading.Thread(target=self._serve, args=(Link(client),), daemon=True).start()

    def _serve(self, client: Link) -> None:
        previous = Link(socket.create_connection(("127.0.0.1", self._target)))
        held: Link | None = previous
        variables: tuple[bytes, ...] = ()
        try:
            self.log_in(client, previous)
            keeps = False
            while True:
                if held is not None and not keeps:
                    self._idle[variables].append(held)
                    held = None
                command = self.command(client)
                if held is None:
                    held = self._lend(variables)
                    self.moved += held is not previous
                    previous = held
                held.send(command)
                response, is_open = self.response(held)
                client.send(response)
                variables += self.variables(command)
                keeps = self.announces(command) or (keeps if is_open is None else is_open)
        except (EOFError, OSError):
            if held is not None:
                held.close()
        finally:
            client.close()

    def _lend(self, variables: tuple[bytes, ...]) -> Link:
        with self._lock:
            links = self._idle[variables]
            return links.pop(self._random.randrange(len(links)))


class MySql(Pooler):
    """The protocol of MySQL and MariaDB, without TLS."""

    QUIT = 1
    OK, END, ERROR = 0x00, 0xFE, 0xFF
    END_LENGTH = 9
    IN_TRANSACTION = 1

    def log_in(self, client: Link, database: Link) -> None:
        packet = without_tls(self._packet(database))
        while True:
            client.send(packet)
            if packet[3] and packet[4] in {self.OK, self.ERROR}:
                return
            database.send(self._packet(client))
            packet = self._packet(database)

    def command(self, client: Link) -> bytes:
        packet = self._packet(client)
        if packet[4] == self.QUIT:
            raise EOFError
        return packet

    def variables(self, command: bytes) -> tuple[bytes, ...]:
        sets = command[5:].startswith(b"SET ") and not self.announces(command)
        return (command[5:],) if sets else ()

    def announces(self, command: bytes) -> bool:
        return command[5:].startswith(b"SET TRANSACTION ")

    def response(self, database: Link) -> tuple[bytes, bool | None]:
        packets = [self._packet(database)]
        if packets[0][4] == self.OK:
            start = 5 + self._width(packets[0][5])
            state = packets[0][start + self._width(packets[0][start])]
            return packets[0], bool(state & self.IN_TRANSACTION)
        ends = 0  # one after the columns, and one after the rows
        while packets[-1][4] != self.ERROR and ends < 2:
            packets.append(self._packet(database))
            ends += packets[-1][4] == self.END and len(packets[-1]) == self.END_LENGTH
        failed = packets[-1][4] == self.ERROR
        return b"".join(packets), None if failed else bool(packets[-1][-2] & self.IN_TRANSACTION)

    @staticmethod
    def _width(first: int) -> int:
        """Return the bytes of an integer that begins with this byte."""
        return {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(first, 1)

    @staticmethod
    def _packet(link: Link) -> bytes:
        header = link.read(4)
        return header + link.read(int.from_bytes(header[:3], "little"))


class PostgreSql(Pooler):
    """The protocol of PostgreSQL. Like PgBouncer, it does not know the variables of a session."""

    NO_TLS = frozenset({80877103, 80877104})
    ENDS = b"QS"  # messages to which the database responds: a query, and Sync
    TERMINATE, READY, IDLE = b"X", b"Z", b"I"

    def log_in(self, client: Link, database: Link) -> None:
        while True:
            size = client.read(4)
            content = client.read(int.from_bytes(size) - 4)
            if int.from_bytes(content[:4]) not in self.NO_TLS:
                break
            client.send(b"N")
        database.send(size + content)
        client.send(self.response(database)[0])

    def command(self, client: Link) -> bytes:
        messages = b""
        while True:
            message = self._message(client)
            if message[:1] == self.TERMINATE:
                raise EOFError
            messages += message
            if message[:1] in self.ENDS:
                return messages

    def response(self, database: Link) -> tuple[bytes, bool | None]:
        messages = [self._message(database)]
        while messages[-1][:1] != self.READY:
            messages.append(self._message(database))
        return b"".join(messages), not messages[-1].endswith(self.IDLE)

    @staticmethod
    def _message(link: Link) -> bytes:
        head = link.read(5)
        return head + link.read(int.from_bytes(head[1:]) - 4)


POOLERS = {"mariadb": MySql, "postgresql": PostgreSql}


def pooled(url: str, seed: int) -> tuple[str, Pooler]:
    """The URL of a server's database through a new pooler, and the pooler."""
    pooler = POOLERS[FAMILY](server().port, seed)
    return url.replace(f":{server().port}/", f":{pooler.port}/"), pooler
