"""Servers in the delivered configuration: faulty clients, stops, starts and reloads."""

from __future__ import annotations

import collections
import http.client
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from tests.kit.builders import database_url
from tests.kit.processes import (
    ANSWER,
    HEADERS,
    NoAnswerError,
    Process,
    exchange,
    expect,
    new_host,
    send,
    serving,
)

MANY = 20  # misbehaving clients: more than there are threads
CLIENTS = 8
DEVICES = 24  # whose candidates are more than the kernel keeps for a client that does not read
STOPS = int(os.environ.get("PLACEMENT_STOPS", "2"))

HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
HEAD += "Connection: close\r\n"
BODY = b'{"name": "slow"}'


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_url(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server for tests that do not stop it or change its limits."""
    directory = tmp_path_factory.mktemp("serving")
    with serving(directory, [database_url(directory)]) as (process,):
        yield process


def connect(port: int, sent: bytes = b"", receive_buffer: int | None = None) -> socket.socket:
    sock = socket.socket()
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(ANSWER)
    sock.connect(("127.0.0.1", port))
    sock.sendall(sent)
    return sock


def answer(sock: socket.socket) -> bytes:
    """Return all data that the server sends until it closes the connection."""
    return b"".join(iter(lambda: sock.recv(65536), b""))


def is_open(sock: socket.socket) -> bool:
    """Return whether the server has neither closed the connection nor sent any data."""
    sock.setblocking(False)
    try:
        sock.recv(1)
    except BlockingIOError:
        return True
    finally:
        sock.settimeout(ANSWER)
    return False


BEGUN = {
    "nothing": b"",
    "a piece of the request line": b"GET /resource_prov",
    "a piece of the headers": b"GET / HTTP/1.1\r\nHost:",
    "a piece of the body": f"POST /traits HTTP/1.1\r\n{HEAD}Content-Length: 30\r\n\r\n[".encode(),
    "a piece of a chunk": (
        f"POST /traits HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n\r\n9\r\n[".encode()
    ),
}


def test_clients_that_stop_sending_do_not_delay_others(shared: Process) -> None:
    waiting = [connect(shared.port, sent) for sent in BEGUN.values() for _ in range(MANY)]
    for _ in range(3):
        expect(send(shared.port, "GET", "/resource_providers"), 200)
    assert all(map(is_open, waiting))
    for sock in waiting:
        assert answer(sock) == b""  # they are dropped in the end
        sock.close()


def test_clients_that_do_not_read_do_not_delay_others(shared: Process) -> None:
    root = new_host(shared.port)
    for _ in range(DEVICES):
        new_host(shared.port, root, VGPU=9)
    path = "/allocation_candidates?group_policy=none"
    path += "".join(f"&resources{number}=VGPU:1" for number in range(3))
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\n{HEAD}\r\n".encode()
    # As few as are more than the threads: all are to be computed within the time that a client
    # may take nothing, also on a machine that is busy.
    waiting = [connect(shared.port, request, 2048) for _ in range(MANY // 2)]
    for _ in range(3):
        expect(send(shared.port, "GET", "/resource_providers"), 200)
    for sock in waiting:
        # What they did not take at once was kept for them.
        assert answer(sock).count(b'"mappings"') == DEVICES**3
        sock.close()


def test_idle_clients_give_way_where_no_more_files_can_be_open(tmp_path: Path, url: str) -> None:
    with serving(tmp_path, [url]) as (process,):
        expect(send(process.port, "GET", "/resource_providers"), 200)
        workers = process.worker_ids()
        for worker in workers:
            files = len(list(Path(f"/proc/{worker}/fd").iterdir()))
            resource.prlimit(worker, resource.RLIMIT_NOFILE, (files + MANY, files + MANY))
        waiting = [connect(process.port) for _ in range(2 * MANY)]
        expect(send(process.port, "GET", "/resource_providers"), 200)
        assert process.worker_ids() == workers
        assert not all(map(is_open, waiting))
        for sock in waiting:
            sock.close()


def test_requests_that_come_in_pieces_are_answered(shared: Process) -> None:
    whole = [
        f"POST /resource_providers HTTP/1.1\r\nHost: x\r\n{HEAD}".encode()
        + b'Content-Length: 17\r\n\r\n{"name": "whole"}',
        f"POST /resource_providers HTTP/1.1\r\nHost: x\r\n{HEAD}".encode()
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + b'4;a=b\r\n{"na\r\nE\r\nme": "chunks"}\r\n0\r\n\r\n',
    ]
    for text in whole:
        sock = connect(shared.port)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(text), 7):
            sock.sendall(text[start : start + 7])
        assert answer(sock).startswith(b"HTTP/1.1 200")
        sock.close()


def test_a_client_that_expects_100_continue_gets_it(shared: Process) -> None:
    head = f"POST /resource_providers HTTP/1.1\r\nHost: x\r\n{HEAD}Content-Length: {len(BODY)}"
    sock = connect(shared.port, f"{head}\r\nExpect: 100-continue\r\n\r\n".encode())
    assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
    sock.sendall(BODY)
    assert answer(sock).startswith(b"HTTP/1.1 200 OK")
    sock.close()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n" + HEAD.encode() + b"\r\n", b"414"),
        (b"GET /" + b"a" * 1_000_000, b"431"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 9000 + b"\r\n\r\n", b"431"),
        (b"GET / HTTP/1.1\n\n", b"400"),
        (
            f"POST /traits HTTP/1.1\r\n{HEAD}Transfer-Encoding: chunked\r\n".encode()
            + b"Content-Length: 2\r\n\r\n{}",
            b"400",
        ),
        (
            f"POST /traits HTTP/1.1\r\n{HEAD}Content-Length: {2**40}\r\n\r\n".encode()
            + b"x" * 10_000,
            b"405",
        ),
        (
            f"POST /resource_providers HTTP/1.1\r\n{HEAD}".encode()
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"x" * 10_000,
            b"400",
        ),
    ],
)
def test_what_cannot_be_a_request_is_refused_while_it_comes(
    shared: Process, request_: bytes, status: bytes
) -> None:
    with connect(shared.port, request_) as sock:
        assert answer(sock)[:12] == b"HTTP/1.1 " + status


def test_no_header_tells_where_the_service_is_mounted(shared: Process) -> None:
    for mount in ("/elsewhere", "/traits"):
        request = f"GET /traits HTTP/1.1\r\nSCRIPT_NAME: {mount}\r\nPATH_INFO: /\r\n{HEAD}\r\n"
        with connect(shared.port, request.encode()) as sock:
            assert answer(sock)[:12] == b"HTTP/1.1 200"


def test_a_request_without_a_token_is_refused_from_its_head(shared: Process) -> None:
    head = "POST /resource_providers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    whole = connect(shared.port, f"{head}Connection: close\r\n\r\n".encode())
    usual = answer(whole)
    for more in (
        "Content-Length: 1000000",
        "Transfer-Encoding: chunked",
        "Content-Length: 1000000\r\nExpect: 100-continue",
    ):
        sock = connect(shared.port, f"{head}{more}\r\n\r\n".encode())
        found = answer(sock)
        # Nothing but the request's own id and its time differ.
        assert found.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
        assert names(found) == names(usual)
        (error,) = orjson.loads(found.partition(b"\r\n\r\n")[2])["errors"]
        assert error["detail"] == "Authentication required: send a token in X-Auth-Token"
        sock.sendall(b"x" * 100_000)  # it may still be sending, and is not reset
        sock.close()
    whole.close()
    lines = [line for line in shared.log().splitlines() if "status: 401" in line]
    assert len(lines) == 4


def names(found: bytes) -> list[bytes]:
    """Return the names of the headers of a response."""
    head = found.partition(b"\r\n\r\n")[0]
    return sorted(line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:])


# -- stop, start, read again ----------------------------------------------------------------


class Load:
    """Clients that send requests one after the other, and count what becomes of them.

    kept: each sends as many as it can on one connection, and connects again where the server says
    that an answer was the last one.
    """

    def __init__(self, port: int, *, kept: bool = False) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self.lost: list[str] = []
        self._port = port
        self._over = False
        self._act = self._send_kept if kept else self._send

    def _send_kept(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=ANSWER)
        while not self._over:
            try:
                if connection.sock is None:
                    connection.connect()
                    self.counts["connections"] += 1
            except ConnectionRefusedError:
                self.counts["refused"] += 1
                time.sleep(0.01)
                continue
            try:
                connection.request("GET", "/traits?associated=true", headers=HEADERS)
                answered = connection.getresponse()
                answered.read()
                self.counts[str(answered.status)] += 1
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
                connection.close()
        connection.close()

    def _send(self) -> None:
        while not self._over:
            try:
                self.counts[str(exchange(self._port, "GET", "/traits?associated=true")[0])] += 1
            except NoAnswerError as error:
                if isinstance(error.__cause__, ConnectionRefusedError):
                    self.counts["refused"] += 1
                    time.sleep(0.01)
                else:
                    self.lost.append(str(error))

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._act) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            self.await_answers()
            yield
        finally:
            self._over = True
            for thread in threads:
                thread.join()

    def await_answers(self, number: int = 100) -> None:
        """Wait until this number of further requests have received a response."""
        goal = self.counts["200"] + number
        deadline = time.monotonic() + ANSWER
        while self.counts["200"] < goal:
            assert time.monotonic() < deadline, self.counts
            time.sleep(0.01)


def both_workers(process: Process) -> list[int]:
    """Return the ids of the two workers as soon as both are running."""
    deadline = time.monotonic() + ANSWER
    while len(process.worker_ids()) != 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process.worker_ids()


def are_gone(process_ids: list[int]) -> bool:
    """Return whether the processes end within a certain time."""
    deadline = time.monotonic() + ANSWER
    while any(Path(f"/proc/{number}").exists() for number in process_ids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("kept", [False, True])
def test_a_server_that_is_stopped_and_started_loses_no_request(
    tmp_path: Path, url: str, kept: bool
) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        load = Load(process.port, kept=kept)
        with load.running():
            for _ in range(STOPS):
                process.stop()
                process.start()
                load.await_answers()
        assert (load.lost, set(load.counts) - {"connections"}) == ([], {"200", "refused"})
        assert load.counts["connections"] < load.counts["200"] / 10


def test_a_connection_that_was_accepted_before_the_stop_may_still_send(
    tmp_path: Path, url: str
) -> None:
    with serving(tmp_path, [url]) as (process,):
        early = [connect(process.port, BEGUN["a piece of the headers"]) for _ in range(3)]
        process.signal(signal.SIGTERM)
        for sock in early:
            sock.sendall(b" x\r\n\r\n")
            assert answer(sock).startswith(b"HTTP/1.1 200")
            sock.close()
        assert process.ended() == 0


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGTERM"])
def test_a_server_under_load_stops_and_leaves_no_worker(
    tmp_path: Path, url: str, name: str
) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        load = Load(process.port)
        with load.running():
            for _ in range(STOPS):
                workers = both_workers(process)
                process.signal_group(signal.Signals[name])  # as a terminal does
                assert process.ended() == 0
                assert are_gone(workers)
                process.start()
                load.await_answers()


def test_workers_end_when_their_master_is_killed(tmp_path: Path, url: str) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        workers = both_workers(process)
        idle = connect(process.port)
        process.signal(signal.SIGKILL)
        assert are_gone(workers)
        idle.close()


@pytest.mark.parametrize("kept", [False, True])
def test_sighup_reads_the_configuration_again_and_loses_no_request(
    tmp_path: Path, url: str, kept: bool
) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        new_host(process.port, VCPU=1)
        new_host(process.port, VCPU=1)
        path = "/allocation_candidates?resources=VCPU:1"
        body = expect(send(process.port, "GET", path), 200).body
        assert len(body["allocation_requests"]) == 2
        load = Load(process.port, kept=kept)
        with load.running():
            for most in (1, 2, 1):
                workers = both_workers(process)
                process.configure(f"[placement]\nmax_allocation_candidates = {most}\n")
                process.signal(signal.SIGHUP)
                assert are_gone(workers)
                body = expect(send(process.port, "GET", path), 200).body
                assert len(body["allocation_requests"]) == most
        assert (load.lost, set(load.counts) - {"connections"}) == ([], {"200"})
        assert load.counts["connections"] < load.counts["200"] / 10


def test_sighup_applies_other_taints(tmp_path: Path, url: str) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        expect(send(process.port, "PUT", "/traits/CUSTOM_MAINTENANCE"), 201)
        tainted = new_host(process.port, VCPU=1)
        new_host(process.port, VCPU=1)
        body = {"traits": ["CUSTOM_MAINTENANCE"], "resource_provider_generation": 1}
        expect(send(process.port, "PUT", f"/resource_providers/{tainted}/traits", body), 200)
        path = "/allocation_candidates?resources=VCPU:1"
        for taints, found in (("", 2), ("CUSTOM_MAINTENANCE", 1), ("", 2)):
            workers = both_workers(process)
            process.configure(f"[placement]\ntaints = {taints}\n")
            process.signal(signal.SIGHUP)
            assert are_gone(workers)
            answer = expect(send(process.port, "GET", path), 200).body
            assert len(answer["allocation_requests"]) == found


def test_sighup_with_a_broken_file_is_refused_in_one_line_and_the_workers_go_on(
    tmp_path: Path, url: str
) -> None:
    with serving(tmp_path, [url], workers=2) as (process,):
        workers = both_workers(process)
        process.configure("[placement]\nmax_allocation_candidates = many\n")
        process.signal(signal.SIGHUP)
        deadline = time.monotonic() + ANSWER
        while "not reloaded" not in process.complaint() and time.monotonic() < deadline:
            time.sleep(0.05)
        (line,) = process.complaint().splitlines()
        assert "not reloaded, the workers continue unchanged" in line
        assert "max_allocation_candidates" in line
        assert process.worker_ids() == workers
        expect(send(process.port, "GET", "/resource_providers"), 200)
        process.configure("")
        process.signal(signal.SIGHUP)
        assert are_gone(workers)
        expect(send(process.port, "GET", "/resource_providers"), 200)
