"""The service within each server of etc/deploy, on a read-only root, as a user without rights."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy.conftest import NewMachine
from tests.deploy.machine import Machine
from tests.deploy.servers import SERVERS, Served, served_by, set_up
from tests.kit import metrics as kit
from tests.kit.load import Load
from tests.kit.ports import free_port
from tests.kit.processes import ANSWER, START

REQUESTS = 40
CLIENTS = 500  # a storm of a cloud's computes; Apache's queue has 511
REFUSED = 30  # seconds; the kernel repeats a connection that it has refused for minutes
MIB = 1024 * 1024


@pytest.fixture(scope="module", params=SERVERS)
def served(
    request: pytest.FixtureRequest, install: NewMachine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("server") / "log"
    with served_by(SERVERS[request.param], install(), log) as served:
        yield served


def test_it_serves_counts_and_stops(served: Served) -> None:
    for path in ("/", "/healthcheck", "/explorer/"):
        assert served.send("GET", path)[0] == 200, path
    body = b'{"name": "large"' + b" " * 5 * MIB + b"}"
    status, _content, location = served.send("POST", "/resource_providers", body)
    assert status == 200
    assert f":{served.port}{served.prefix}/resource_providers/" in location
    body = b'{"name": "chunks"' + b" " * MIB + b"}"
    assert served.send("POST", "/resource_providers", body, chunked=True)[0] == 200
    check_refusals(served)
    if served.reloads:
        check_reload(served)
    # Whichever process answers a scrape, it has counted what all of them did.
    before = count(served)
    for _ in range(REQUESTS):
        assert served.send("GET", "/traits?associated=true")[0] == 200
    deadline = time.monotonic() + ANSWER
    while (counted := count(served) - before) < REQUESTS:  # each is counted after its answer
        assert time.monotonic() < deadline, counted
        time.sleep(0.05)
    assert counted == REQUESTS


@pytest.mark.parametrize("name", ["uwsgi", "uwsgi of the distribution"])
def test_sigterm_ends_uwsgi_while_it_starts(name: str, installed: Machine) -> None:
    command = set_up(SERVERS[name], installed, free_port())
    # Afterwards, a worker that starts may not end, and uWSGI waits for it.
    for line in (b"Set PythonHome", b"WSGI app 0"):
        process = installed.start(command, {}, subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout as output:
            while line not in output.readline():
                assert process.poll() is None
            process.terminate()
            assert process.wait(START) in {0, signal.SIGTERM}, line
            output.read()  # the workers have the same output, which ends with the last of them


def test_no_server_refuses_clients_that_it_cannot_accept_at_once(served: Served) -> None:
    """Connect clients while all processes stand still."""
    stopped = [served.process.pid, *map(int, workers(served))]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    try:
        with ExitStack() as exits:
            for _ in range(CLIENTS):
                sock = socket.create_connection(("127.0.0.1", served.port), timeout=REFUSED)
                exits.enter_context(sock)
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)
    assert served.send("GET", "/")[0] == 200


def check_refusals(served: Served) -> None:
    """Check responses that come before the body, and to bodies that end early."""
    head = f"POST {served.prefix}/resource_providers HTTP/1.1\r\nHost: x\r\n"
    head += "Connection: close\r\nContent-Type: application/json\r\n"
    token = "X-Auth-Token: admin\r\n"
    for more, sent, status in (
        (f"Content-Length: {MIB}\r\n", b"", b"401"),
        (f"{token}Content-Length: {64 * MIB}\r\n", b"", b"413"),
        (f"{token}Content-Length: 20\r\n", b"{}", b"400"),
        (f"{token}Transfer-Encoding: chunked\r\n", b"ff\r\n{}", b"400"),
        (f"{token}Transfer-Encoding: chunked\r\n", b"xyz\r\n{}\r\n0\r\n\r\n", b"400"),
    ):
        if served.prefix and status != b"413":
            continue  # Apache reads the body first, and responds to incomplete ones itself
        with socket.create_connection(("127.0.0.1", served.port), timeout=ANSWER) as sock:
            sock.sendall(f"{head}{more}\r\n".encode() + sent)
            if sent:
                sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1000)[:12] == b"HTTP/1.1 " + status, more


def check_reload(served: Served) -> None:
    """Check that SIGHUP replaces the workers, and that no request is lost."""
    load = Load(served.port)
    with load.running():
        before = workers(served)
        served.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + ANSWER
        while not (now := workers(served)) or now & before:
            assert time.monotonic() < deadline, (before, now)
            time.sleep(0.1)
        load.await_answers()
    assert (load.lost, set(load.counts)) == ([], {"200"})


def workers(served: Served) -> set[str]:
    """Return the ids of the processes that the server has forked."""
    master = served.process.pid
    return set(Path(f"/proc/{master}/task/{master}/children").read_text().split())


def count(served: Served) -> float:
    """Scrape the number of responses with lists of traits."""
    status, content, _location = served.send("GET", "/metrics")
    assert status == 200
    requests = kit.of(kit.samples(content), "placement_requests_total")
    return requests.get("operation=list_traits,status=200,version=1", 0)
