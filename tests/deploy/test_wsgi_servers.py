"""The service within uWSGI and Apache's mod_wsgi, on a read-only root, as a user without rights.

Both contain the Python of the Linux distribution, so the service must be installed for the same
version.
"""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.conftest import need_python_of_distribution
from tests.deploy.machine import USER, Machine
from tests.deploy.proxies import DEPLOY, SERVICE, apache, changed
from tests.deploy.serving import CONFIGURATION, await_answer
from tests.kit import metrics as kit
from tests.kit.load import Load
from tests.kit.missing import need
from tests.kit.ports import free_port
from tests.kit.processes import ANSWER, HEADERS, START

VIRTUALENV = "/opt/distribution"
SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
REQUESTS = 40
MIB = 1024 * 1024


@dataclass
class Served:
    """A server, and the prefix of its paths."""

    port: int
    prefix: str
    process: subprocess.Popen[bytes]
    # Whether a reload loses no request.
    reloads: bool

    def send(
        self, method: str, path: str, body: bytes | None = None, *, chunked: bool = False
    ) -> tuple[int, bytes, str]:
        """Send a request. Return status, content and `Location`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER)
        content: Any = body
        if chunked and body is not None:
            content = (body[start : start + 65536] for start in range(0, len(body), 65536))
        connection.request(method, self.prefix + path, content, HEADERS, encode_chunked=chunked)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, answer.headers.get("Location", "")


def install(machine: Machine) -> None:
    """Create a virtualenv of the distribution's Python with the installed packages."""
    need_python_of_distribution()
    machine.prepare(
        'chroot . /usr/bin/python3 -m venv --without-pip "$1"; echo "$2" > ".$1/$3/placement.pth"',
        VIRTUALENV, f"/opt/placement/{SITE}", SITE,
    )  # fmt: skip
    entry = f"placement:x:{USER}:{USER}::/var/lib/placement:/usr/sbin/nologin"
    machine.prepare(
        'echo "$1" >> etc/passwd; echo "$2" >> etc/group', entry, f"placement:x:{USER}:"
    )
    metrics = "[metrics]\ndirectory = /run/placement/metrics\n"
    machine.put("/etc/placement/placement.conf", CONFIGURATION + metrics)
    machine.room("/var/lib/placement")
    machine.room("/run/placement")
    machine.run(
        ["/opt/placement/bin/placement-manage", "--config-dir", "/etc/placement", "db", "sync"], {}
    )


def uwsgi(machine: Machine, port: int, more: str = "") -> list[str]:
    need("uwsgi")
    text = changed(
        (DEPLOY / "uwsgi/placement.ini").read_text(),
        {
            SERVICE: f"127.0.0.1:{port}",
            "virtualenv = /opt/placement": f"virtualenv = {VIRTUALENV}",
        },
    )
    machine.put("/etc/placement/placement.ini", text + more)
    return ["uwsgi", "--ini", "/etc/placement/placement.ini"]


def lazy_uwsgi(machine: Machine, port: int) -> list[str]:
    return uwsgi(machine, port, "lazy-apps = true\n")


def mod_wsgi(machine: Machine, port: int) -> list[str]:
    need("apache2")
    text = changed(
        (DEPLOY / "apache/placement-wsgi.conf").read_text(),
        {
            "<VirtualHost *:80>": f"<VirtualHost *:{port}>",
            "python-home=/opt/placement": f"python-home={VIRTUALENV}",
        },
    )
    machine.put("/etc/placement/placement.wsgi", (DEPLOY / "apache/placement.wsgi").read_text())
    machine.put("/etc/deploy/file", text)
    machine.put("/etc/deploy/around", f"{apache(port, 'wsgi')}\nWSGISocketPrefix /tmp/wsgi\n")
    return ["apache2", "-D", "FOREGROUND", "-f", "/etc/deploy/around"]


SERVERS = {
    "uwsgi": (uwsgi, ""),
    "uwsgi, lazy-apps": (lazy_uwsgi, ""),
    "mod_wsgi": (mod_wsgi, "/placement"),
}


@pytest.fixture(params=SERVERS)
def served(request: pytest.FixtureRequest, installed: Machine, tmp_path: Path) -> Iterator[Served]:
    configure, prefix = SERVERS[request.param]
    port = free_port()
    install(installed)
    command = configure(installed, port)
    installed.seal()
    with (tmp_path / "log").open("wb") as log:
        process = installed.start(command, {}, log)
    await_answer(port, process, tmp_path / "log", f"{prefix}/")
    # With lazy-apps, a worker of uWSGI that ends may drop a connection that it has just accepted.
    yield Served(port, prefix, process, reloads=request.param == "uwsgi")
    process.terminate()
    assert process.wait(START) == 0


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
