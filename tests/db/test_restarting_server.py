"""Requests of nova while the database restarts. Nova does not repeat a request after 503."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import pytest

from placement.db.retries import Pauses
from tests.kit.engines import ENGINE, server
from tests.kit.service import Service, claim, inventories

HOST = "c0ffee00-0000-4000-8000-000000000000"
CONSUMER = "c0ffee00-0000-4000-8000-000000000001"
NOVA = "1.38"
READS = (
    f"/allocations/{CONSUMER}",
    f"/resource_providers/{HOST}",
    f"/resource_providers/{HOST}/allocations",
    "/resource_providers",
    "/traits/HW_CPU_X86_AVX2",
    "/usages?project_id=p",
    "/allocation_candidates?resources=VCPU:1",
    "/allocation_candidates?resources=VCPU:1&limit=1",
)

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="there is no server that restarts")


class Restart:
    """A server that is killed, and that starts when a request waits."""

    def __init__(self) -> None:
        self.is_down = False
        # Method, path and version -> the expected status of what is sent while it is down.
        self.meanwhile: Mapping[tuple[str, str, str], int] = {}
        self.service: Any = None

    def kill(self) -> None:
        server().kill()
        self.is_down = True

    def wait(self) -> None:
        requests, self.meanwhile = self.meanwhile, {}
        for (method, path, version), status in requests.items():
            self.service.expect(status, method, path, version=version)
        if self.is_down:
            server().start()
            self.is_down = False


@pytest.fixture
def restart(monkeypatch: pytest.MonkeyPatch) -> Iterator[Restart]:
    made = Restart()
    monkeypatch.setattr(Pauses, "wait", lambda _pauses: made.wait())
    yield made
    if made.is_down:
        server().start()


@pytest.fixture
def service(tmp_path: Path, restart: Restart) -> Iterator[Service]:
    patient = {"write_timeout": 600.0}
    with Service(
        tmp_path, placement={"request_deadline": 600.0}, placement_database=patient
    ) as made:
        made.expect(200, "POST", "/resource_providers", {"name": "host", "uuid": HOST})
        made.expect(200, "PUT", f"/resource_providers/{HOST}/inventories", inventories(0, VCPU=10))
        made.expect(204, "PUT", f"/allocations/{CONSUMER}", claim({HOST: {"VCPU": 1}}))
        restart.service = made
        yield made


@pytest.mark.parametrize("pooled", [True, False])
def test_requests_wait_for_the_server(service: Service, restart: Restart, pooled: bool) -> None:
    for path in READS:
        restart.kill()
        if not pooled:
            service.database.dispose()
        assert service.send("GET", path, version=NOVA).status_code in {200, 204}, path
        assert not restart.is_down, path
    restart.kill()
    if not pooled:
        service.database.dispose()
    service.expect(204, "DELETE", f"/allocations/{CONSUMER}", version=NOVA)


def test_few_requests_wait(
    service: Service, restart: Restart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.database, "_waiting_reads", BoundedSemaphore(1))
    restart.meanwhile = {
        ("GET", READS[0], NOVA): 503,
        ("GET", READS[0], "2.0"): 503,
        ("GET", "/healthcheck", NOVA): 503,
        ("GET", "/", NOVA): 200,
    }
    restart.kill()
    for _ in range(3):
        service.expect(200, "GET", READS[0], version=NOVA)
        assert not restart.is_down
        restart.kill()
    service.expect(503, "GET", READS[0], version="2.0")
