"""The service behind each proxy, as clients see it."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import uuid as uuids
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.deploy.conftest import NewMachine
from tests.deploy.proxies import DEPLOY, PROXIES, SERVICE, changed, proxying
from tests.kit.authority import Authority
from tests.kit.builders import database_url
from tests.kit.load import Load
from tests.kit.missing import need
from tests.kit.ports import free_port
from tests.kit.processes import ANSWER, HEADERS, REPOSITORY, Process, new_host, serving

MIB = 1024 * 1024
# What ends idle connections of the proxies: as it is shipped, and shorter. Healthchecks end, too.
IDLE = {
    "keepalive_timeout 60s;": ("nginx", "keepalive_timeout 1s;"),
    "ttl=60": ("apache", "ttl=1"),
    "pool-purge-delay 5s": ("haproxy", "pool-purge-delay 1s"),
    "    default-server check inter 2s fall 2 rise 1\n": ("haproxy", ""),
}
KEPT = 8  # seconds, in the service of that test
OPEN, ENDED_BY_SERVICE = "01", ("04", "05", "06")  # states of TCP; the other side is second
THREADS = 8  # of the service of all tests
POST = "POST /placement/traits HTTP/1.1\r\nHost: x\r\n" + "".join(
    f"{name}: {value}\r\n" for name, value in HEADERS.items()
)
# The lines for TLS of the files, which are comments, and the lines that operators write instead.
TLS = {
    "nginx": {
        "# listen 443 ssl;": "listen 127.0.0.1:{tls} ssl;",
        "# ssl_certificate /": "ssl_certificate /",
        "# ssl_certificate_key /": "ssl_certificate_key /",
    },
    "haproxy": {"# bind :443 ssl": "bind 127.0.0.1:{tls} ssl"},
    "apache": {},
}
DEVICES = 20  # of which candidates take three: an answer of some MB


@dataclass
class Site:
    """A proxy, and the service behind it."""

    port: int
    service: Process
    proxy: str = ""

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request on a separate connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER)
        connection.request(method, path, body, {**HEADERS, **(headers or {})}, **options)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def get(self, path: str) -> tuple[int, bytes]:
        answer, content = self.send("GET", path)
        return answer.status, content


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    directory = tmp_path_factory.mktemp("service")
    options = {"GUNICORN_CMD_ARGS": f"--threads={THREADS // 2}"}
    options["OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING"] = "true"
    with serving(directory, [database_url(directory)], 2, **options) as [process]:
        host = new_host(process.port)
        for _ in range(DEVICES):
            new_host(process.port, host, VGPU=1)
        yield process


@pytest.fixture(scope="module", params=PROXIES)
def site(
    request: pytest.FixtureRequest,
    service: Process,
    new_machine: NewMachine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    proxy = PROXIES[request.param]
    need(proxy.program)
    log = tmp_path_factory.mktemp(request.param) / "log"
    with proxying(proxy, new_machine(), service.port, log) as port:
        yield Site(port, service, request.param)


def connections(port: int, *states: str) -> set[str]:
    """The ports of clients with a connection to a port, or with one that has just ended."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    local = [(row[1].partition(":")[2], row[2].partition(":")[2], row[3]) for row in rows]
    return {theirs for ours, theirs, found in local if found in states and int(ours, 16) == port}


def named(name: str, padding: int = 0) -> bytes:
    """Return the body of a new provider with this number of spaces."""
    return orjson.dumps({"name": f"{name}-{uuids.uuid4()}"}).replace(b"{", b"{" + b" " * padding)


def test_everything_is_below_the_prefix_and_links_lead_there(site: Site) -> None:
    for path in ("/placement", "/placement/", "/placement/healthcheck"):
        assert site.get(path)[0] == 200, path
    for path in ("/", "/traits", "/placementtraits"):
        assert site.get(path)[0] == 404, path
    answer, content = site.send("POST", "/placement/resource_providers", named("linked"))
    assert answer.status == 200
    made = orjson.loads(content)
    path = f"/placement/resource_providers/{made['uuid']}"
    assert answer.headers["Location"] == f"http://127.0.0.1:{site.port}{path}"
    assert {link["href"].split("/")[1] for link in made["links"]} == {"placement"}
    assert site.get(path)[0] == 200


@pytest.mark.parametrize("name", TLS)
def test_with_its_lines_for_tls_a_proxy_serves_https_and_links_lead_there(
    name: str, service: Process, new_machine: NewMachine, tmp_path: Path
) -> None:
    need(PROXIES[name].program)
    need("openssl")
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.sign("proxy", "subjectAltName=IP:127.0.0.1")
    machine = new_machine()
    both = certificate.read_text() + key.read_text()
    for path in ("ssl/placement.pem", "ssl/private/placement.key", "haproxy/placement.pem"):
        machine.put(f"/etc/{path}", both)
    machine.prepare("chmod a+x etc/ssl/private")
    port = free_port()
    lines = {before: after.replace("{tls}", str(port)) for before, after in TLS[name].items()}
    proxy = replace(PROXIES[name], listens={**PROXIES[name].listens, **lines})
    if name == "apache":  # one port for each virtual host
        changes = {"*:80": f"*:{port}", "# SSL": "SSL", SERVICE: f"127.0.0.1:{service.port}"}
        machine.put("/etc/deploy/tls", changed((DEPLOY / proxy.file).read_text(), changes))
        around = f"Listen 127.0.0.1:{port}\nInclude /etc/deploy/tls\n"
        module = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n"
        proxy = replace(proxy, around=lambda plain: module + PROXIES[name].around(plain) + around)
    with proxying(proxy, machine, service.port, tmp_path / "log"):
        context = ssl.create_default_context(cafile=authority.certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=ANSWER, context=context)
        connection.request("POST", "/placement/resource_providers", named("tls"), HEADERS)
        answer = connection.getresponse()
        assert answer.status == 200
        uuid = orjson.loads(answer.read())["uuid"]
        connection.close()
    path = f"/placement/resource_providers/{uuid}"
    assert answer.headers["Location"] == f"https://127.0.0.1:{port}{path}"


def test_nothing_that_a_client_says_of_itself_leads_links_elsewhere(site: Site) -> None:
    forged = {
        "Forwarded": "for=1.1.1.1;host=evil.example.org;proto=https",
        "X-Forwarded-Host": "evil.example.org",
        "X-Forwarded-Port": "666",
        "X-Forwarded-Prefix": "/evil",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "1.1.1.1",
        "X-Script-Name": "/evil",
    }
    answer, content = site.send(
        "POST", "/placement/resource_providers", named("forged"), headers=forged
    )
    assert answer.status == 200
    prefix = f"http://127.0.0.1:{site.port}/placement/resource_providers/"
    assert answer.headers["Location"].startswith(prefix)
    assert b"evil" not in content
    assert "1.1.1.1" not in site.service.log()


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_megabytes_arrives(site: Site, chunked: bool) -> None:
    body = named("large", 5 * MIB)
    if chunked:
        pieces: Any = (body[start : start + 65536] for start in range(0, len(body), 65536))
        answer, content = site.send(
            "POST", "/placement/resource_providers", pieces, encode_chunked=True,
            headers={"Transfer-Encoding": "chunked"},
        )  # fmt: skip
    else:
        answer, content = site.send("POST", "/placement/resource_providers", body)
    assert answer.status == 200, content[:1000]


def test_an_answer_of_megabytes_arrives(site: Site) -> None:
    groups = "".join(f"&resources{number}=VGPU:1" for number in (1, 2, 3))
    path = f"/placement/allocation_candidates?group_policy=isolate{groups}"
    status, content = site.get(path)
    assert status == 200
    assert len(content) > 2 * MIB
    answered = len(orjson.loads(content)["allocation_requests"])
    assert answered == DEVICES * (DEVICES - 1) * (DEVICES - 2)


def test_a_client_keeps_its_connection_and_the_proxy_uses_its_own_again(site: Site) -> None:
    site.get("/placement/")
    before = connections(site.service.port, OPEN)
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=ANSWER)
    connection.connect()
    sock = connection.sock
    used: set[str] = set()
    for number in range(30):
        body = named("kept") if number % 3 == 0 else None
        method = "POST" if body else "GET"
        connection.request(method, "/placement/resource_providers", body, HEADERS)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        assert connection.sock is sock
        used |= connections(site.service.port, OPEN)
    assert used
    connection.close()
    # The healthchecks of HAProxy have connections of their own.
    assert len(used - before) < 15


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_ends_an_idle_connection_before_the_service_does(
    name: str, new_machine: NewMachine, tmp_path: Path
) -> None:
    # So it never writes into one that is being closed. The shipped seconds are made shorter.
    proxy = PROXIES[name]
    need(proxy.program)
    shorter = {text: seconds for text, (each, seconds) in IDLE.items() if each == name}
    proxy = replace(proxy, listens={**proxy.listens, **shorter})
    options = {"GUNICORN_CMD_ARGS": f"--keep-alive={KEPT}"}
    options["OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING"] = "true"
    with (
        serving(tmp_path / "service", [database_url(tmp_path)], 1, **options) as [process],
        proxying(proxy, new_machine(), process.port, tmp_path / "log") as port,
    ):
        site = Site(port, process)
        before = connections(process.port, *ENDED_BY_SERVICE)
        for _ in range(4):
            assert (
                site.send("POST", "/placement/resource_providers", named("kept"))[0].status == 200
            )
        first = connections(process.port, OPEN)
        assert first
        time.sleep(3)
        assert site.send("POST", "/placement/resource_providers", named("kept"))[0].status == 200
        # What was idle has ended there, or will do so unused, as Apache's.
        assert connections(process.port, OPEN) - first
        assert connections(process.port, *ENDED_BY_SERVICE) == before


def test_the_shipped_proxies_end_idle_connections_before_the_service_does() -> None:
    settings = (REPOSITORY / "etc/gunicorn.conf.py").read_text()
    kept = int(settings.partition("\nkeepalive = ")[2].partition("\n")[0])
    assert kept > 60
    for text, (each, _) in IDLE.items():
        assert text in (DEPLOY / PROXIES[each].file).read_text()


def test_clients_that_disconnect_do_not_affect_others(site: Site) -> None:
    workers = site.service.worker_ids()
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    groups = "".join(f"&resources{number}=VGPU:1" for number in (1, 2, 3))
    sent = [
        b"",
        b"POST /placement/resource_providers HTTP/1.1\r\nHost: x\r\n",
        f"POST /placement/resource_providers HTTP/1.1\r\nHost: x\r\n{head}"
        f"Content-Length: {MIB}\r\n\r\n".encode()
        + b"{"
        + b" " * 100_000,
        f"GET /placement/allocation_candidates?group_policy=isolate{groups} HTTP/1.1\r\n"
        f"Host: x\r\n{head}\r\n".encode(),
    ]
    for text in sent * 5:
        with socket.create_connection(("127.0.0.1", site.port), timeout=ANSWER) as sock:
            sock.sendall(text)
            time.sleep(0.02)
    for _ in range(20):
        assert site.get("/placement/resource_providers?limit=1")[0] in {200, 400}
    assert site.service.worker_ids() == workers


BEGUN = {
    "nothing": b"",
    "a piece of the request line": b"GET /placement/resource_prov",
    "a piece of the headers": b"GET /placement/ HTTP/1.1\r\nHost:",
    "a piece of the body": f"{POST}Content-Length: 30\r\n\r\n{{".encode(),
    "a piece of a chunk": f"{POST}Transfer-Encoding: chunked\r\n\r\n9\r\n{{".encode(),
}


def test_clients_that_stop_sending_do_not_occupy_threads_and_are_dropped(site: Site) -> None:
    clients = []
    for text in [*BEGUN.values()] * THREADS:
        sock = socket.create_connection(("127.0.0.1", site.port), timeout=ANSWER)
        sock.sendall(text)
        clients.append(sock)
    for _ in range(3):
        assert site.get("/placement/resource_providers?name=x")[0] == 200
    for sock in clients:
        while sock.recv(65536):
            pass
        sock.close()


def test_clients_that_do_not_read_do_not_occupy_threads(site: Site) -> None:
    if site.proxy != "nginx":
        pytest.skip("passes responses as clients take them")
    groups = "".join(f"&resources{number}=VGPU:1" for number in (1, 2, 3))
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    request = f"GET /placement/allocation_candidates?group_policy=isolate{groups} HTTP/1.1\r\n"
    clients = []
    for _ in range(THREADS + 1):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        sock.settimeout(ANSWER)
        sock.connect(("127.0.0.1", site.port))
        sock.sendall(f"{request}Host: x\r\n{head}\r\n".encode())
        clients.append(sock)
    for _ in range(3):
        assert site.get("/placement/resource_providers?name=x")[0] == 200
    for sock in clients:
        sock.close()


def test_processes_behind_haproxy_are_restarted_and_no_request_is_lost(
    new_machine: NewMachine, tmp_path: Path
) -> None:
    need("haproxy")
    options = {"OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING": "true"}
    url = database_url(tmp_path)
    with serving(tmp_path, [url, url], 1, **options) as [first, second]:
        line = "    # server placement2 192.0.2.12:8778"
        more = {line: f"    server placement2 127.0.0.1:{second.port}"}
        proxy = PROXIES["haproxy"]
        proxy = replace(proxy, listens={**proxy.listens, **more})
        with proxying(proxy, new_machine(), first.port, tmp_path / "log") as port:
            load = Load(port, "/placement/traits?associated=true")
            with load.running():
                for process in (first, second):
                    process.stop()
                    load.await_answers()
                    process.start()
                    process.await_answer()
                    load.await_answers(500)  # until HAProxy has found it again
        assert (load.lost, set(load.counts)) == ([], {"200"})


def test_a_service_that_is_started_again_is_found_again(site: Site) -> None:
    site.service.stop()
    assert site.get("/placement/")[0] in {502, 503}
    site.service.start()
    site.service.await_answer()
    deadline = time.monotonic() + ANSWER
    while site.get("/placement/")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
