"""Sharing the client between threads, forked processes and green threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from falcon_placement_client import JsonRequest, NewConsumer, ReportClient
from tests.kit.listener import listening
from tests.kit.service import Service, inventories

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CLAIMS = 8
TOGETHER = 2
REQUEST: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}

# What the scripts begin with: a client, and a claim by number.
HEAD = """\
import os, sys
from falcon_placement_client import NewConsumer, ReportClient

REQUEST = {"groups": {"": {"resources": {"VCPU": 1}}}}
client = ReportClient.at(sys.argv[1], "admin")

def claim(number):
    return client.claim(REQUEST, NewConsumer(f"cccccccc-0000-4000-8000-{number:012}", "p", "u"))

"""
FORK = """\
children = []
for number in range(1, 8):
    pid = os.fork()
    if not pid:
        claim(number)
        os._exit(0)
    children.append(pid)
claim(0)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 7
"""
FORK_AFTER_USE = """\
claim(0)
pid = os.fork()
if not pid:
    client = ReportClient.at(sys.argv[1], "admin")
    for number in range(1, 5):
        claim(number)
    os._exit(0)
for number in range(5, 8):
    claim(number)
assert os.waitpid(pid, 0)[1] == 0
"""
EVENTLET = """\
import warnings
warnings.simplefilter("ignore")
import eventlet
eventlet.monkey_patch()
"""
GREEN_THREADS = """\
pool = eventlet.GreenPool(8)
assert len(list(pool.imap(claim, range(8)))) == 8
"""


def meeting(application: WSGIApplication, barrier: threading.Barrier) -> WSGIApplication:
    """Respond to a claim only after another claim has arrived."""

    def meet(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/claims":
            barrier.wait(120)
        return application(environ, respond)

    return meet


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        host = service.expect(200, "POST", "/resource_providers", {"name": "host"}).json
        path = f"/resource_providers/{host['uuid']}/inventories"
        service.expect(200, "PUT", path, inventories(0, VCPU=CLAIMS))
        yield service


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    """The URL of a server that responds to two claims at a time."""
    with listening(meeting(service.application, threading.Barrier(TOGETHER))) as url:
        yield url


@pytest.fixture
def plain_url(service: Service) -> Iterator[str]:
    """The URL of a server that responds to each claim immediately."""
    with listening(service.application) as url:
        yield url


def run(script: str, url: str, directory: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", script, url],
        cwd=directory, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def claimed(service: Service) -> int:
    [host] = service.get("/resource_providers")["resource_providers"]
    used = service.get(f"/resource_providers/{host['uuid']}/usages")["usages"]
    return int(used["VCPU"])


def test_threads_share_a_client(service: Service, url: str) -> None:
    client = ReportClient.at(url, "admin")

    def claim(number: int) -> None:
        consumer = NewConsumer(f"cccccccc-0000-4000-8000-{number:012}", "p", "u")
        client.claim(REQUEST, consumer)

    with ThreadPoolExecutor(CLAIMS) as pool:
        list(pool.map(claim, range(CLAIMS)))
    assert claimed(service) == CLAIMS


def test_forked_processes_share_a_client_that_has_sent_nothing(
    service: Service, url: str, tmp_path: Path
) -> None:
    run(HEAD + FORK, url, tmp_path)
    assert claimed(service) == CLAIMS


def test_a_forked_process_makes_a_client_of_its_own(
    service: Service, plain_url: str, tmp_path: Path
) -> None:
    run(HEAD + FORK_AFTER_USE, plain_url, tmp_path)
    assert claimed(service) == CLAIMS


def test_green_threads_share_a_client_and_do_not_wait_for_each_other(
    service: Service, url: str, tmp_path: Path
) -> None:
    run(EVENTLET + HEAD + GREEN_THREADS, url, tmp_path)
    assert claimed(service) == CLAIMS
