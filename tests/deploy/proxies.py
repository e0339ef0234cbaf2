"""nginx, HAProxy and Apache with the files of etc/deploy, without rights on a read-only root."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.deploy.machine import Machine
from tests.deploy.serving import await_answer
from tests.kit.ports import free_port
from tests.kit.processes import REPOSITORY

DEPLOY = REPOSITORY / "etc/deploy"
SERVICE = "127.0.0.1:8778"  # where the files expect it

# What a distribution's own configuration says around the file.
NGINX = """
daemon off;
pid /tmp/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path /tmp/body;
    proxy_temp_path /tmp/proxy;
    fastcgi_temp_path /tmp/fastcgi;
    uwsgi_temp_path /tmp/uwsgi;
    scgi_temp_path /tmp/scgi;
    include /etc/deploy/file;
}
"""
APACHE_MODULES = ["mpm_event", "authz_core", "reqtimeout"]
APACHE = """
ServerRoot /tmp
ServerName localhost
PidFile /tmp/apache.pid
DefaultRuntimeDir /tmp
ErrorLog "|/bin/cat"
Listen 127.0.0.1:{port}
{modules}
Include /etc/deploy/file
"""


def apache(port: int, *modules: str) -> str:
    """Return the main configuration of an Apache with more modules."""
    lines = [
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
        for name in (*APACHE_MODULES, *modules)
    ]
    return APACHE.format(port=port, modules="\n".join(lines))


@dataclass(frozen=True)
class Proxy:
    """A program, the tested file, its surroundings, and the command that starts it."""

    program: str
    file: str
    listens: Mapping[str, str]  # as the file has it -> as the test has it
    around: Callable[[int], str]
    command: Sequence[str]


PROXIES = {
    "nginx": Proxy(
        "nginx",
        "nginx/placement.conf",
        {"listen 80;": "listen 127.0.0.1:{port};"},
        lambda port: NGINX,
        ["nginx", "-e", "stderr", "-c", "/etc/deploy/around"],
    ),
    "haproxy": Proxy(
        "haproxy",
        "haproxy/haproxy.cfg",
        {"bind :80\n": "bind 127.0.0.1:{port}\n"},
        lambda port: "global\n    maxconn 500\n",
        ["haproxy", "-db", "-f", "/etc/deploy/around", "-f", "/etc/deploy/file"],
    ),
    "apache": Proxy(
        "apache2",
        "apache/placement-proxy.conf",
        {"<VirtualHost *:80>": "<VirtualHost *:{port}>"},
        lambda port: apache(port, "alias", "headers", "proxy", "proxy_http"),
        ["apache2", "-D", "FOREGROUND", "-f", "/etc/deploy/around"],
    ),
}


def changed(text: str, changes: Mapping[str, str]) -> str:
    """Return the file with the changes that operators make. Each replaced text must exist."""
    for before, after in changes.items():
        assert before in text, before
        text = text.replace(before, after)
    return text


@contextmanager
def proxying(proxy: Proxy, machine: Machine, service: int, log: Path) -> Iterator[int]:
    """Run a proxy for the port of a service until the block ends. Yield the port of the proxy."""
    port = free_port()
    text = changed(
        (DEPLOY / proxy.file).read_text(),
        {
            SERVICE: f"127.0.0.1:{service}",
            **{before: after.format(port=port) for before, after in proxy.listens.items()},
        },
    )
    machine.put("/etc/deploy/file", text)
    machine.put("/etc/deploy/around", proxy.around(port))
    machine.seal()
    with log.open("wb") as output:
        process = machine.start(proxy.command, {}, output)
    try:
        await_answer(port, process, log, "/placement/")
        yield port
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
