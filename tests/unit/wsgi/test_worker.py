"""The loop of a worker, turn by turn."""

import os
import selectors
import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

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


def answer_here(worker: Worker, application: Any) -> None:
    """Have the worker answer requests on this thread."""
    worker.app = SimpleNamespace(wsgi=lambda: application)
    worker.load_wsgi()
    worker.tpool = SimpleNamespace(give=worker._answer)
    worker.method_queue.init()
    queue = worker.method_queue
    worker.poller.register(queue.fileno(), selectors.EVENT_READ, queue.run_callbacks)


@pytest.mark.parametrize("body", [b"[]", b""])
def test_a_client_has_its_answer_before_the_body_is_closed(
    worker: Worker, listener: socket.socket, body: bytes
) -> None:
    received: list[bytes] = []

    class Body(list[bytes]):
        def close(self) -> None:
            received.append(client.recv(1000, socket.MSG_DONTWAIT))

    def application(_environ: object, start_response: Any) -> Body:
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return Body([body] if body else [])

    answer_here(worker, application)
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    turn(worker)
    assert received[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert received[0].endswith(b"\r\n\r\n" + body)
    client.close()
    worker.method_queue.close()


@pytest.mark.parametrize(
    ("request_text", "kept"),
    [
        ("GET / HTTP/1.1\r\n\r\n", True),
        ("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n", True),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        ("GET / HTTP/1.0\r\n\r\n", False),
        # It has sent more all the same: closed now, the connection would be reset.
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n", True),
        ("GET / HTTP/1.1\r\nConnection: close\r\nContent-Length: x\r\n\r\n", True),
    ],
)
def test_only_a_client_that_sends_no_more_is_not_waited_for(
    worker: Worker, listener: socket.socket, request_text: str, kept: bool
) -> None:
    def application(_environ: object, start_response: Any) -> list[bytes]:
        start_response("204 No Content", [])
        return []

    answer_here(worker, application)
    client = socket.create_connection(listener.getsockname())
    client.sendall(request_text.encode())
    turn(worker)
    assert worker.nr_conns == kept
    # Either way it has its answer, and the end.
    client.settimeout(30)
    answer = b"".join(iter(lambda: client.recv(1000), b""))
    assert answer.startswith(b"HTTP/1."), answer
    client.close()
    turn(worker)
    assert worker.nr_conns == 0
    worker.method_queue.close()
