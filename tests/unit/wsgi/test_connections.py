"""Which thread has a connection, and which connections there are."""

import errno
import os
import select
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from gunicorn.config import Config

from placement.wsgi.connections import RECEIVE, Connection, Connections

MOST = 4
SOON = 0.05  # seconds for what has happened to be told


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound


@pytest.fixture
def connections(listener: socket.socket) -> Connections:
    cfg = Config()
    cfg.set("worker_connections", MOST)
    opened = Connections(cfg, 1000, act)
    opened.open([listener])
    return opened


def act(_conn: Connection) -> None:
    """Nothing."""


def at_once() -> None:
    """Nobody else is there to accept."""


def connect(listener: socket.socket) -> socket.socket:
    return socket.create_connection(listener.getsockname())


def following(connections: Connections) -> Connection:
    """The next one that there is, sooner or later."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        conn = connections.next(at_once, 60)
        if conn is not None:
            return conn
    raise AssertionError("nobody has come")


def test_what_one_thread_has_no_other_hears_of_until_it_is_watched_again(
    connections: Connections, listener: socket.socket
) -> None:
    with connect(listener) as client:
        conn = following(connections)
        client.sendall(b"x")
        assert connections.next(at_once, SOON) is None
        connections.watch(conn, RECEIVE, act)
        assert connections.next(at_once, 60) is conn
        client.sendall(b"x")
        assert connections.next(at_once, SOON) is None
        connections.watch(conn, RECEIVE, act)
        assert connections.next(at_once, 60) is conn
        connections.drop(conn)
    assert connections.number == 0


def test_each_client_is_accepted_by_one(connections: Connections, listener: socket.socket) -> None:
    clients = [connect(listener) for _ in range(MOST - 1)]
    conns = [following(connections) for _ in clients]
    assert connections.next(at_once, SOON) is None
    assert len({conn.file for conn in conns}) == len(clients)
    for conn, client in zip(conns, clients, strict=True):
        connections.drop(conn)
        client.close()


def test_nobody_is_accepted_while_there_is_no_room_and_one_when_there_is(
    connections: Connections, listener: socket.socket
) -> None:
    clients = [connect(listener) for _ in range(MOST + 1)]
    conns = [following(connections) for _ in range(MOST)]  # none of them waits for its client
    assert connections.next(at_once, SOON) is None
    connections.drop(conns[0])
    conns[0] = following(connections)
    assert connections.number == MOST
    for conn in conns:
        connections.drop(conn)
    for client in clients:
        client.close()


def test_one_that_waits_for_its_client_gives_way(
    connections: Connections, listener: socket.socket
) -> None:
    clients = [connect(listener) for _ in range(MOST)]
    for _ in clients:
        connections.watch(following(connections), RECEIVE, act)
    assert connections.number == MOST - 1
    assert clients[0].recv(1) == b""
    connections.hurry(-1)
    connections.drop_late()
    assert connections.number == 0
    for client in clients:
        client.close()


def test_those_who_have_connected_before_the_end_are_accepted_and_nobody_after(
    connections: Connections, listener: socket.socket
) -> None:
    with listener.dup() as masters, connect(listener) as client:
        connections.shut()
        client.sendall(b"x")
        conn = following(connections)
        assert conn.sock.recv(1) == b"x"
        # The master listens on, for other workers.
        with socket.create_connection(masters.getsockname()):
            assert connections.next(at_once, SOON) is None
        connections.drop(conn)


def test_a_thread_that_is_done_accepts_whom_another_one_leaves_to_it(
    connections: Connections, listener: socket.socket
) -> None:
    conns: list[Connection] = []

    def give_way() -> None:
        conns.append(following(connections))
        assert connections.next(at_once, SOON) is None  # nobody else has come yet
        clients.append(connect(listener))
        conns.append(following(connections))

    clients = [connect(listener)]
    assert connections.next(give_way, 60) is None
    clients.append(connect(listener))
    conns.append(following(connections))
    assert connections.number == 3
    for conn, client in zip(conns, clients, strict=True):
        connections.drop(conn)
        client.close()


def test_who_was_accepted_comes_before_a_newcomer(
    connections: Connections, listener: socket.socket
) -> None:
    conns: list[Connection] = []

    def give_way() -> None:
        clients[0].sendall(b"x")
        assert select.select([accepted.file], [], [], 60)[0]
        conns.extend(following(connections) for _ in range(2))

    clients = [connect(listener)]
    accepted = following(connections)
    connections.watch(accepted, RECEIVE, act)
    clients.append(connect(listener))
    assert connections.next(give_way, 60) is None
    assert conns[0] is accepted
    for conn, client in zip(conns, clients, strict=True):
        connections.drop(conn)
        client.close()


class Faulty(socket.socket):
    """A listener that cannot hand out the first connection, which stays for the next time."""

    def __init__(self, listener: socket.socket, code: int) -> None:
        super().__init__(fileno=listener.detach())
        self._codes = [code]

    def accept(self) -> tuple[socket.socket, Any]:
        if self._codes:
            code = self._codes.pop()
            raise OSError(code, os.strerror(code))
        return super().accept()


LOST = [
    errno.ECONNABORTED,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.EPERM,
    errno.EPROTO,
]


@pytest.fixture(params=LOST, ids=errno.errorcode.get)
def faulty(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with Faulty(socket.create_server(("127.0.0.1", 0)), request.param) as bound:
        yield bound


def opened(listener: socket.socket) -> Connections:
    connections = Connections(Config(), 1000, act)
    connections.open([listener])
    return connections


def test_a_client_that_is_lost_on_the_way_keeps_nobody_from_being_accepted(
    faulty: socket.socket,
) -> None:
    connections = opened(faulty)
    with connect(faulty):
        connections.drop(following(connections))
    assert connections.number == 0


def test_those_behind_a_client_that_is_lost_are_accepted_at_the_end(faulty: socket.socket) -> None:
    connections = opened(faulty)
    with connect(faulty) as client:
        connections.shut()
        assert connections.number == 1
        client.sendall(b"x")
        connections.drop(following(connections))


@pytest.mark.parametrize("code", [errno.ENOBUFS, errno.ENOMEM], ids=errno.errorcode.get)
def test_who_finds_no_memory_is_accepted_later(code: int) -> None:
    with Faulty(socket.create_server(("127.0.0.1", 0)), code) as bound, connect(bound):
        connections = opened(bound)
        connections.drop(following(connections))


def test_nobody_is_accepted_by_one_who_gave_way_until_the_end(
    connections: Connections, listener: socket.socket
) -> None:
    with connect(listener) as client:
        assert connections.next(connections.shut, 60) is None
        client.sendall(b"x")
        connections.drop(following(connections))
    assert connections.number == 0
