"""The loop of a worker, turn by turn."""

import os
import selectors
import socket
from collections.abc import Iterator

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from placement.wsgi.arrival import LONGEST_HEAD
from placement.wsgi.worker import Worker

MOST = 10  # connections


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound


@pytest.fixture
def worker(listener: socket.socket) -> Iterator[Worker]:
    cfg = Config()
    for name, value in (("worker_connections", MOST), ("keepalive", 0)):
        cfg.set(name, value)
    made = Worker(1, os.getppid(), [listener], None, 30, cfg, Logger(cfg))
    made.poller = selectors.DefaultSelector()
    made.set_accept_enabled(True)
    yield made
    for conn in list(made._watched):
        made._drop(conn)
    made.poller.close()
    made.tmp.close()


def turn(worker: Worker) -> None:
    for _ in range(20):
        worker.wait_for_and_dispatch_events(0.01)


def is_open(client: socket.socket) -> bool:
    """Whether the worker has not dropped the connection."""
    client.setblocking(False)
    try:
        client.recv(1)
    except BlockingIOError:
        return True
    except ConnectionResetError:
        pass
    return False


def test_a_connection_that_gives_way_while_it_sends_is_dropped_once(
    worker: Worker, listener: socket.socket
) -> None:
    clients = [socket.create_connection(listener.getsockname()) for _ in range(MOST - 1)]
    turn(worker)
    assert worker.nr_conns == len(clients)
    # One look tells of the newcomer and of what the others send.
    clients += [socket.create_connection(listener.getsockname()) for _ in range(3)]
    for client in clients:
        client.sendall(b"GET /")
    turn(worker)
    assert worker.nr_conns == sum(map(is_open, clients))
    for client in clients:
        client.close()


def test_clients_that_have_their_answer_and_stay_give_way(
    worker: Worker, listener: socket.socket
) -> None:
    clients = [socket.create_connection(listener.getsockname()) for _ in range(MOST - 1)]
    turn(worker)
    for client in clients:
        client.sendall(b"x" * (LONGEST_HEAD + 1))
    turn(worker)
    assert all(client.recv(12) == b"HTTP/1.1 431" for client in clients)
    newcomers = [socket.create_connection(listener.getsockname()) for _ in range(3)]
    turn(worker)
    assert worker.nr_conns < MOST
    assert all(map(is_open, newcomers))
    for client in [*clients, *newcomers]:
        client.close()
