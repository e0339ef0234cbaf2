"""The loop of a worker, turn by turn."""

import os
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from placement.wsgi.arrival import LONGEST_HEAD
from placement.wsgi.worker import MOMENTS, Worker

MOST = 10  # connections


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        yield bound


@pytest.fixture
def worker(listener: socket.socket) -> Iterator[Worker]:
    cfg = Config()
    for name, value in (("worker_connections", MOST), ("keepalive", 0), ("threads", 1)):
        cfg.set(name, value)
    made = Worker(1, os.getppid(), [listener], None, 30, cfg, Logger(cfg))
    serve(made, no_content)
    yield made
    for conn in list(made.connections._watched.values()):
        made.connections.drop(conn)
    made.tmp.close()


def no_content(_environ: object, start_response: Any) -> list[bytes]:
    start_response("204 No Content", [])
    return []


def serve(worker: Worker, application: Any) -> None:
    worker.app = SimpleNamespace(wsgi=lambda: application)
    worker.load_wsgi()
    worker.connections.open(worker.sockets)


def turn(worker: Worker) -> None:
    """Do what there is to do."""
    while worker.turn(0.3):
        pass


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
    assert worker.connections.number == len(clients)
    # One look tells of the newcomer and of what the others send.
    clients += [socket.create_connection(listener.getsockname()) for _ in range(3)]
    for client in clients:
        client.sendall(b"GET /")
    turn(worker)
    assert worker.connections.number == sum(map(is_open, clients))
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
    assert worker.connections.number < MOST
    assert all(map(is_open, newcomers))
    for client in [*clients, *newcomers]:
        client.close()


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

    serve(worker, application)
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    turn(worker)
    assert received[0].startswith(b"HTTP/1.1 200 OK\r\n")
    assert received[0].endswith(b"\r\n\r\n" + body)
    client.close()


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
    client = socket.create_connection(listener.getsockname())
    client.sendall(request_text.encode())
    turn(worker)
    assert worker.connections.number == kept
    # Either way it has its answer, and the end.
    client.settimeout(30)
    answer = b"".join(iter(lambda: client.recv(1000), b""))
    assert answer.startswith(b"HTTP/1."), answer
    client.close()
    turn(worker)
    assert worker.connections.number == 0


def test_a_request_waits_for_its_turn_and_its_client_for_nobody_else(
    worker: Worker, listener: socket.socket
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    paths: list[str] = []

    def application(environ: Any, start_response: Any) -> list[bytes]:
        paths.append(environ["PATH_INFO"])
        begun.set()
        assert go_on.wait(60)
        return no_content(environ, start_response)

    serve(worker, application)
    clients = [socket.create_connection(listener.getsockname()) for _ in range(3)]
    for number, client in enumerate(clients):
        client.sendall(f"GET /{number} HTTP/1.1\r\n".encode())
    turn(worker)
    clients[0].sendall(b"\r\n")
    busy = threading.Thread(target=worker.turn)
    busy.start()
    assert begun.wait(60)
    clients[1].sendall(b"\r\n")
    clients[2].sendall(b"Host: x\r\n")
    turn(worker)  # which returns, for no thread is left that may answer
    assert paths == ["/0"]
    go_on.set()
    busy.join(60)
    assert not busy.is_alive()
    assert paths == ["/0", "/1"]
    clients[2].sendall(b"\r\n")
    turn(worker)
    assert paths == ["/0", "/1", "/2"]
    for client in clients:
        client.settimeout(30)
        assert client.recv(12) == b"HTTP/1.1 204"
        client.close()
    turn(worker)
    assert worker.connections.number == 0


def test_a_fault_is_no_answer_and_the_thread_goes_on(
    worker: Worker, listener: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    def application(_environ: object, _start_response: Any) -> list[bytes]:
        raise SystemExit

    serve(worker, application)
    with socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        turn(worker)
    assert worker.connections.number == 0
    assert worker._room == 1


def test_a_newcomer_waits_while_others_are_answered_and_not_where_they_wait_too(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = [1, 2, 3, 3, 4]

    def sleep(_seconds: float) -> None:
        worker._answered = answered.pop(0)

    monkeypatch.setattr("placement.wsgi.worker.time", SimpleNamespace(sleep=sleep))
    worker._give_way()
    assert len(answered) == 5  # nobody is answered
    worker._room = 0
    worker._give_way()
    assert answered == [4]
    answered = list(range(2 * MOMENTS))
    worker._give_way()
    assert len(answered) == MOMENTS  # nobody waits for ever
