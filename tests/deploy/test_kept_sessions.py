"""Clients such as nova, which keep connections and repeat nothing, lose no request.

Each server is used directly, and one behind each proxy; long runs use all pairs. A server that
closes a connection without `Connection: close` in its response loses the next request of the client
or of the proxy. PLACEMENT_SESSIONS is the number of requests for each pair.
"""

from __future__ import annotations

import os
import threading
import time
import uuid as uuids
from collections.abc import Iterator
from pathlib import Path

import pytest
from keystoneauth1 import token_endpoint
from keystoneauth1.exceptions import ClientException
from keystoneauth1.session import Session

from tests.deploy.conftest import NewMachine
from tests.deploy.proxies import PROXIES, proxying
from tests.deploy.servers import SERVERS, Served, Server, mod_wsgi_behind_a_proxy, served_by
from tests.kit.missing import need

REQUESTS = int(os.environ.get("PLACEMENT_SESSIONS", "200"))
SESSIONS = 4
PAIRED = {
    **{name: server for name, server in SERVERS.items() if "lazy" not in name},
    "mod_wsgi": Server(mod_wsgi_behind_a_proxy),
}


ALONE = "none"
PAIRS = [
    (server, proxy)
    for number, server in enumerate(PAIRED)
    for proxy in (ALONE, *PROXIES)
    if proxy == ALONE or number == 0 or "PLACEMENT_SESSIONS" in os.environ
]


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, install: NewMachine, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("server") / "log"
    with served_by(PAIRED[request.param], install(), log) as served:
        yield served


@pytest.mark.parametrize(("server", "proxy"), PAIRS, indirect=["server"])
def test_kept_sessions_lose_no_request(
    proxy: str, server: Served, new_machine: NewMachine, tmp_path: Path
) -> None:
    if proxy == ALONE:
        assert send_all(f"http://127.0.0.1:{server.port}") == []
        return
    need(PROXIES[proxy].program)
    with proxying(PROXIES[proxy], new_machine(), server.port, tmp_path / "log") as port:
        assert send_all(f"http://127.0.0.1:{port}/placement") == []


def send_all(url: str) -> list[str]:
    """Send requests in several sessions. Return the errors."""
    lost: list[str] = []
    threads = [
        threading.Thread(target=_send, args=(url, number, lost)) for number in range(SESSIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lost


def _send(url: str, number: int, lost: list[str]) -> None:
    """Create providers and their inventories, and pause, as clients do, for up to 2 ms."""
    session = Session(token_endpoint.Token(url, "admin"))
    for count in range(REQUESTS // SESSIONS // 2):
        uuid = str(uuids.uuid4())
        host = {"name": uuid, "uuid": uuid}
        inventory = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        path = f"/resource_providers/{uuid}/inventories"
        requests = (("POST", "/resource_providers", host), ("PUT", path, inventory))
        try:
            for method, where, body in requests:
                session.request(
                    where, method, json=body, endpoint_filter={"interface": "public"},
                    headers={"OpenStack-API-Version": "placement 1.39"},
                )  # fmt: skip
                time.sleep((count + number) % 5 / 2000)
        except ClientException as error:
            lost.append(f"{method}: {error}")
