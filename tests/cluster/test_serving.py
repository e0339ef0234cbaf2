"""Servers in the delivered configuration: faulty clients, stops, starts and reloads."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.kit.builders import database_url
from tests.kit.engines import is_alive
from tests.kit.load import Load
from tests.kit.processes import ANSWER, HEADERS, Process, expect, new_host, send, serving

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


def connect(port: int, sent: bytes = b"") -> socket.socket:
    sock = socket.socket()
    sock.settimeout(ANSWER)
    sock.connect(("127.0.0.1", port))
    sock.sendall(sent)
    return sock


def answer(sock: socket.socket) -> bytes:
    """Return all data that the server sends until it closes the connection."""
    return b"".join(iter(lambda: sock.recv(65536), b""))


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
    head += "Connection: close\r\n"
    whole = connect(shared.port, f"{head}\r\n".encode())
    usual = answer(whole)
    for more in (
        "Content-Length: 1000000",
        "Transfer-Encoding: chunked",
        "Content-Length: 1000000\r\nExpect: 100-continue",
    ):
        sock = connect(shared.port, f"{head}{more}\r\n\r\n".encode())
        found = answer(sock).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Nothing but the request's own id and its time differ.
        assert found.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
        assert names(found) == names(usual)
        (error,) = orjson.loads(found.partition(b"\r\n\r\n")[2])["errors"]
        assert error["detail"] == "Authentication required: send a token in X-Auth-Token"
        sock.close()
    whole.close()
    lines = [line for line in shared.log().splitlines() if "status: 401" in line]
    assert len(lines) == 4


def names(found: bytes) -> list[bytes]:
    """Return the names of the headers of a response."""
    head = found.partition(b"\r\n\r\n")[0]
    return sorted(line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:])


# -- stop, start, read again ----------------------------------------------------------------


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
    while any(map(is_alive, process_ids)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_request_that_has_begun_before_the_stop_is_answered(tmp_path: Path, url: str) -> None:
    head = f"POST /resource_providers HTTP/1.1\r\nHost: x\r\n{HEAD}Content-Length: {len(BODY)}"
    with (
        serving(tmp_path, [url]) as (process,),
        connect(process.port, f"{head}\r\nExpect: 100-continue\r\n\r\n".encode()) as sock,
    ):
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        process.signal(signal.SIGTERM)
        sock.sendall(BODY)
        assert answer(sock).startswith(b"HTTP/1.1 200")
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


@pytest.mark.parametrize(
    ("kept", "application"),
    [(False, "placement.wsgi.api:application"), (True, "placement.wsgi:init_application()")],
)
def test_sighup_reads_the_configuration_again_and_loses_no_request(
    tmp_path: Path, url: str, kept: bool, application: str
) -> None:
    with serving(tmp_path, [url], workers=2, application=application) as (process,):
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


def test_sighup_with_a_broken_file_is_refused_in_one_line_and_the_service_goes_on(
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
        assert "not reloaded, the service continues unchanged" in line
        assert "max_allocation_candidates" in line
        assert are_gone(workers)
        expect(send(process.port, "GET", "/resource_providers"), 200)
        workers = both_workers(process)
        process.configure("")
        process.signal(signal.SIGHUP)
        assert are_gone(workers)
        expect(send(process.port, "GET", "/resource_providers"), 200)
