"""Round trips to the database while a write holds the lock of a tree, counted by a proxy."""

import uuid as uuids
from collections.abc import Iterator

import pytest

from placement.db.engine import Database
from placement.entry import app
from tests.kit.builders import database_url, settings
from tests.kit.engines import ENGINE, behind
from tests.kit.proxy import Proxy
from tests.kit.service import Client, claim, inventories

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="SQLite has no server")

HOST, NODE = str(uuids.UUID(int=1)), str(uuids.UUID(int=2))
VCPU, DISK = {HOST: {"VCPU": 1}}, {NODE: {"DISK_GB": 1}}


class Watched(Client):
    """A service with a host and a node below it, whose database is reached through a proxy."""

    def __init__(self, url: str, proxy: Proxy) -> None:
        self._proxy = proxy
        # Preparing a statement takes one more round trip, once for a connection.
        made = settings(url, placement_database={"mariadb_prepared_statements": False})
        self.database = Database(made.database)
        super().__init__(app.create_app(made, self.database))

    def prepare(self) -> None:
        for uuid, parent, stock in ((HOST, None, {"VCPU": 9}), (NODE, HOST, {"DISK_GB": 9})):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            self.expect(200, "POST", "/resource_providers", body)
            path = f"/resource_providers/{uuid}/inventories"
            self.expect(200, "PUT", path, inventories(0, **stock))

    def sends(self, method: str, path: str, body: object, version: str) -> list[bytes]:
        """Send a request that must succeed. Return the data that the database receives."""
        self._proxy.sent.clear()
        answer = self.send(method, path, body, version)
        assert answer.status_code < 300, answer.text
        return list(self._proxy.sent)


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    url, proxy = behind(database_url(tmp_path_factory.mktemp("watched")))
    made = Watched(url, proxy)
    made.prepare()
    yield made
    made.database.dispose()
    proxy.close()


def under_lock(sent: list[bytes]) -> int:
    """Return the number of round trips from the lock of a tree to the COMMIT."""
    (lock,) = (at for at, each in enumerate(sent) if b"UPDATE resource_providers SET" in each)
    after = sent[lock + 1 :]
    (commit,) = (at for at, each in enumerate(after) if b"COMMIT" in each[:16])
    return commit + 1


def test_a_write_of_allocations_holds_the_lock_for_one_statement_and_the_commit(
    service: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    consumer, other, third = (str(uuids.UUID(int=number)) for number in (3, 4, 5))
    path, newest = f"/allocations/{consumer}", "1.39"
    owner = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
    one_step = {
        "request": {"groups": {"": {"resources": {"VCPU": 1}}}},
        "consumer_uuid": third,
        **owner,
    }
    steps = {
        "first claim of a project": ("PUT", path, claim({**VCPU, **DISK}), newest),
        "its change": ("PUT", path, claim(VCPU, generation=1), newest),
        "new consumer": ("PUT", f"/allocations/{other}", claim(VCPU), newest),
        "several": ("POST", "/allocations", {consumer: claim(DISK, generation=2)}, newest),
        "delete": ("DELETE", path, None, newest),
        "POST /claims": ("POST", "/claims", one_step, "2.0"),
    }
    numbers = {}
    for name, (method, where, body, version) in steps.items():
        numbers[name] = under_lock(service.sends(method, where, body, version))
    with capsys.disabled():
        print(f"\n{ENGINE}, round trips under the lock: {numbers}")
    assert set(numbers.values()) == {2}
