"""The service within uWSGI and Apache's mod_wsgi, on a read-only root, as a user without rights.

Both contain the Python of the Linux distribution, so the service must be installed for the same
version.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.conftest import need
from tests.deploy.machine import USER, Machine
from tests.deploy.proxies import DEPLOY, SERVICE, apache, changed
from tests.deploy.serving import CONFIGURATION, await_answer
from tests.kit import metrics as kit
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

    def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, str]:
        """Send a request. Return status, content and `Location`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER)
        connection.request(method, self.prefix + path, body, HEADERS)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, answer.headers.get("Location", "")


def install(machine: Machine) -> None:
    """Create a virtualenv of the distribution's Python with the installed packages."""
    version = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print(*sys.version_info[:2])"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    if version != [str(number) for number in sys.version_info[:2]]:
        pytest.skip(f"the distribution's Python is {'.'.join(version)}, the tests' another")
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


def uwsgi(machine: Machine, port: int) -> list[str]:
    need("uwsgi")
    text = changed(
        (DEPLOY / "uwsgi/placement.ini").read_text(),
        {
            SERVICE: f"127.0.0.1:{port}",
            "virtualenv = /opt/placement": f"virtualenv = {VIRTUALENV}",
        },
    )
    machine.put("/etc/placement/placement.ini", text)
    return ["uwsgi", "--ini", "/etc/placement/placement.ini"]


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


@pytest.fixture(params=[(uwsgi, ""), (mod_wsgi, "/placement")], ids=["uwsgi", "mod_wsgi"])
def served(request: pytest.FixtureRequest, installed: Machine, tmp_path: Path) -> Iterator[Served]:
    configure, prefix = request.param
    port = free_port()
    install(installed)
    command = configure(installed, port)
    installed.seal()
    with (tmp_path / "log").open("wb") as log:
        process = installed.start(command, {}, log)
    await_answer(port, process, tmp_path / "log", f"{prefix}/")
    yield Served(port, prefix)
    process.terminate()
    assert process.wait(START) == 0


def test_it_serves_counts_and_stops(served: Served) -> None:
    for path in ("/", "/healthcheck", "/explorer/"):
        assert served.send("GET", path)[0] == 200, path
    body = b'{"name": "large"' + b" " * 5 * MIB + b"}"
    status, _content, location = served.send("POST", "/resource_providers", body)
    assert status == 200
    assert f":{served.port}{served.prefix}/resource_providers/" in location
    # Whichever process answers a scrape, it has counted what all of them did.
    for _ in range(REQUESTS):
        assert served.send("GET", "/traits?associated=true")[0] == 200
    deadline = time.monotonic() + ANSWER
    while (counted := count(served)) < REQUESTS:  # each is counted after its answer
        assert time.monotonic() < deadline, counted
        time.sleep(0.05)
    assert counted == REQUESTS


def count(served: Served) -> float:
    """Scrape the number of responses with lists of traits."""
    status, content, _location = served.send("GET", "/metrics")
    assert status == 200
    requests = kit.of(kit.samples(content), "placement_requests_total")
    return requests.get("operation=list_traits,status=200,version=1", 0)
