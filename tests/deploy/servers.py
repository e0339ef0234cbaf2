"""The WSGI servers of etc/deploy, on a read-only root, as a user without rights.

uWSGI of the Linux distribution and mod_wsgi contain its Python, so the service must be installed
for the same version.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.conftest import need_python_of_distribution
from tests.deploy.machine import USER, Machine
from tests.deploy.proxies import DEPLOY, SERVICE, apache, changed
from tests.deploy.serving import CONFIGURATION, await_answer
from tests.kit.missing import need
from tests.kit.ports import free_port
from tests.kit.processes import ANSWER, HEADERS, REPOSITORY, START

VIRTUALENV = "/opt/distribution"
SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@dataclass
class Served:
    """A server, and the prefix of its paths."""

    port: int
    prefix: str
    process: subprocess.Popen[bytes]
    # Whether a reload loses no request.
    reloads: bool = False

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


def _use_distribution(machine: Machine) -> None:
    """Create a virtualenv of the distribution's Python with the installed packages."""
    need_python_of_distribution()
    machine.prepare(
        'chroot . /usr/bin/python3 -m venv --without-pip "$1"; echo "$2" > ".$1/$3/placement.pth"',
        VIRTUALENV, f"/opt/placement/{SITE}", SITE,
    )  # fmt: skip


def gunicorn(machine: Machine, port: int) -> list[str]:
    text = (REPOSITORY / "etc/gunicorn.conf.py").read_text()
    machine.put("/etc/placement/gunicorn.conf.py", changed(text, {SERVICE: f"127.0.0.1:{port}"}))
    return ["/opt/placement/bin/gunicorn", "--config", "/etc/placement/gunicorn.conf.py"]


def _ini(machine: Machine, port: int, more: str, **changes: str) -> str:
    text = (DEPLOY / "uwsgi/placement.ini").read_text()
    # Another directory than the default, so that `env` is needed.
    machine.prepare("mkdir etc/other; mv etc/placement/placement.conf etc/other")
    places = {SERVICE: f"127.0.0.1:{port}", "CONFIG_DIR=/etc/placement": "CONFIG_DIR=/etc/other"}
    text = changed(text, {**places, **changes})
    machine.put("/etc/placement/placement.ini", text + more)
    return "/etc/placement/placement.ini"


def uwsgi(machine: Machine, port: int, more: str = "") -> list[str]:
    """uWSGI of the extra, in the virtualenv of the service."""
    ini = _ini(machine, port, more, **{"plugin = python3\n": ""})
    return ["/opt/placement/bin/uwsgi", "--ini", ini]


def lazy_uwsgi(machine: Machine, port: int) -> list[str]:
    return uwsgi(machine, port, "lazy-apps = true\n")


def distribution_uwsgi(machine: Machine, port: int) -> list[str]:
    need("uwsgi")
    _use_distribution(machine)
    virtualenv = {"virtualenv = /opt/placement": f"virtualenv = {VIRTUALENV}"}
    return ["/usr/bin/uwsgi", "--ini", _ini(machine, port, "", **virtualenv)]


def mod_wsgi(machine: Machine, port: int, prefix: str = "/placement") -> list[str]:
    need("apache2")
    _use_distribution(machine)
    text = changed(
        (DEPLOY / "apache/placement-wsgi.conf").read_text(),
        {
            "<VirtualHost *:80>": f"<VirtualHost *:{port}>",
            "python-home=/opt/placement": f"python-home={VIRTUALENV}",
            "WSGIScriptAlias /placement ": f"WSGIScriptAlias {prefix or '/'} ",
        },
    )
    machine.put("/etc/placement/placement.wsgi", (DEPLOY / "apache/placement.wsgi").read_text())
    machine.put("/etc/deploy/file", text)
    machine.put("/etc/deploy/around", f"{apache(port, 'wsgi')}\nWSGISocketPrefix /tmp/wsgi\n")
    return ["apache2", "-D", "FOREGROUND", "-f", "/etc/deploy/around"]


def mod_wsgi_behind_a_proxy(machine: Machine, port: int) -> list[str]:
    return mod_wsgi(machine, port, "")


@dataclass(frozen=True)
class Server:
    """A server with its shipped file."""

    # Writes the file, and returns the command.
    configure: Callable[[Machine, int], list[str]]
    # Path below which the service is found without a proxy.
    prefix: str = ""
    # Whether SIGHUP loses no request. With lazy-apps, a worker of uWSGI that ends may drop a
    # connection that it has just accepted.
    reloads: bool = False


SERVERS = {
    "gunicorn": Server(gunicorn, reloads=True),
    "uwsgi": Server(uwsgi, reloads=True),
    "uwsgi, lazy-apps": Server(lazy_uwsgi),
    "uwsgi of the distribution": Server(distribution_uwsgi, reloads=True),
    "mod_wsgi": Server(mod_wsgi, "/placement"),
}


def set_up(server: Server, machine: Machine, port: int) -> list[str]:
    """Write all files, create the database, and return the command of the server."""
    entry = f"placement:x:{USER}:{USER}::/var/lib/placement:/usr/sbin/nologin"
    machine.prepare(
        'echo "$1" >> etc/passwd; echo "$2" >> etc/group', entry, f"placement:x:{USER}:"
    )
    metrics = "[metrics]\ndirectory = /run/placement/metrics\n"
    machine.put("/etc/placement/placement.conf", CONFIGURATION + metrics)
    machine.room("/var/lib/placement")
    machine.room("/run/placement")
    manage = ["/opt/placement/bin/placement-manage", "--config-dir", "/etc/placement"]
    machine.run([*manage, "db", "sync"], {})
    command = server.configure(machine, port)
    machine.seal()
    return command


@contextmanager
def served_by(server: Server, machine: Machine, log: Path) -> Iterator[Served]:
    """Serve with one of the servers until the block ends; it must stop without an error."""
    port = free_port()
    command = set_up(server, machine, port)
    with log.open("wb") as output:
        process = machine.start(command, {}, output)
    await_answer(port, process, log, f"{server.prefix}/")
    yield Served(port, server.prefix, process, server.reloads)
    process.terminate()
    assert process.wait(START) == 0
