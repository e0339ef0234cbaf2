"""Input that clients do not send on purpose: invalid bodies, and texts for the log."""

import re
import socket
from collections.abc import Iterator

import orjson
import pytest

from tests.kit.builders import database_url
from tests.kit.processes import ANSWER, HEADERS, Process, send, serving

WORKERS = ("sync", "gthread")
POST = "POST /resource_providers HTTP/1.1\r\nHost: x\r\n" + "".join(
    f"{name}: {value}\r\n" for name, value in HEADERS.items()
)
CHUNKED = f"{POST}Transfer-Encoding: chunked\r\n\r\n"
NAME = '{"name": "x"}'

BROKEN = {
    "a negative chunk size": f"{CHUNKED}-2\r\n{{}}\r\n0\r\n\r\n",
    "a line feed in an extension": f"{CHUNKED}2;a=\nb\r\n{{}}\r\n0\r\n\r\n",
    "a chunk size that is no number": f"{CHUNKED}xyz\r\n{{}}\r\n0\r\n\r\n",
    "no chunk size": f"{CHUNKED}\r\n{{}}\r\n0\r\n\r\n",
    "a chunk size beyond all bounds": f"{CHUNKED}{'f' * 40}\r\n{{}}",
    "a chunk cut short": f"{CHUNKED}ff\r\n{NAME}",
    "a chunk without its end": f"{CHUNKED}d\r\n{NAME}xx\r\n0\r\n\r\n",
    "chunks without the last": f"{CHUNKED}d\r\n{NAME}\r\n",
    "a body cut short": f"{POST}Content-Length: 30\r\n\r\n{{}}",
    "a body of one byte too few": f"{POST}Content-Length: 14\r\n\r\n{NAME}",
    "no body at all": f"{POST}Content-Length: 14\r\n\r\n",
}


@pytest.fixture(scope="module", params=WORKERS)
def process(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    home = tmp_path_factory.mktemp(request.param)
    arguments = f"--worker-class {request.param} --threads {1 + 3 * (request.param != 'sync')}"
    with serving(home, [database_url(home)], GUNICORN_CMD_ARGS=arguments) as (started,):
        yield started


def answer(process: Process, request: bytes) -> bytes:
    """Send these bytes. Return all data that is received until the connection is closed."""
    with socket.create_connection(("127.0.0.1", process.port), timeout=ANSWER) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_400_and_ends_the_connection(process: Process, name: str) -> None:
    follower = b"GET /traits HTTP/1.1\r\nHost: x\r\nX-Auth-Token: admin\r\n\r\n"
    ends_early = "short" in name or "few" in name or "beyond" in name or "no body" in name
    request = BROKEN[name].encode() + (b"" if ends_early else follower)
    found = answer(process, request)
    assert found.startswith(b"HTTP/1.1 400 "), found
    # No request follows: the body of one response is the end.
    (error,) = orjson.loads(found.partition(b"\r\n\r\n")[2])["errors"]
    assert "the body" in error["detail"]
    assert send(process.port, "GET", "/resource_providers").body == {"resource_providers": []}


def test_a_whole_chunked_body_is_taken(process: Process) -> None:
    found = answer(process, f"{CHUNKED}1;a=b\r\n{{\r\n1\r\n}}\r\n0\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 400 ")
    assert b"'name' is a required property" in found


FORGED = b"2026-01-01 00:00:00.000 1 INFO placement.requestlog [-] 127.0.0.1 status: 200"
PATHS = (
    b"/traits/x%0a" + FORGED.replace(b" ", b"%20"),
    b"/traits/x%0d%0a" + FORGED.replace(b" ", b"%20"),
    b"/traits/x%1b[2K%1b[1A",
    b"/traits/x%c2%85%e2%80%a8%e2%80%a9%e2%80%ae%00",
    b"/traits?name=x%0a%1b",
    b"/traits/x\x1b[31m\xff\xc2\x85",
    b"/traits?name=\x1b[31m\xff\xc2\x85",
)  # fmt: skip


USUAL = b"Host: x\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\n"
ODD_HEADERS = (
    b"X-User-Id: u\x1b[31m\x85\r\nX-Project-Id: \x1b[1m\r\n",
    b"X-User-Id: u\xc2\x85\xe2\x80\xa8\r\nX-Project-Id: \xff\r\n",
    b"X-Openstack-Request-Id: req-\x1b\x85\r\n",
    b"X-Openstack-Request-Id: req-00000000-0000-4000-8000-000000000000\x85\r\n",
    b"User-Agent: \x1b\r\n",
    b"Odd\x1b: 1\r\n",
    b"X-Auth-Token: u\x85\x9b2J\xe2\x80\xa8:p\x9b\r\n",  # CSI in one byte
)


def test_any_request_is_one_line_of_the_log(process: Process) -> None:
    before = len(genuine(process))
    for path in PATHS:
        answer(process, b"GET " + path + b" HTTP/1.1\r\n" + USUAL + b"\r\n")
    assert len(genuine(process)) - before == sum(path.isascii() for path in PATHS)
    for more in ODD_HEADERS:
        usual = USUAL.replace(b"X-Auth-Token: admin\r\n", b"") if b"Token" in more else USUAL
        answer(process, b"GET /traits?name=startswith:A HTTP/1.1\r\n" + usual + more + b"\r\n")
    for line in (b"GET /x\x1b", b"\x1b[31m\x85", b"G\x1bT / HTTP/1.1", b"GET / HTTP/1.1\x1b"):
        answer(process, line + b"\r\n" + USUAL + b"\r\n")
    written = process.log() + process.complaint()
    assert [line for line in written.split("\n") if not line.isprintable()] == []
    assert r"u\x85\x9b2J" in written
    assert not any(line.startswith(FORGED.decode()) for line in written.split("\n"))


def genuine(process: Process) -> list[str]:
    """Return the log lines of the requests that the service has received."""
    lines = process.log().split("\n")
    return [line for line in lines if re.match(r"\d{4}-\d\d-\d\d .* status: \d+ len: ", line)]
