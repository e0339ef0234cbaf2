"""A write that breaks at any of its statements leaves the database as it was."""

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
import sqlalchemy as sa

from placement import app
from placement.db import tables as t
from tests.kit.builders import make_database
from tests.kit.cloud import aggregate_uuid, building, provider_uuid

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement 1.39",
}
CONSUMER = str(uuids.UUID(int=1))
OTHER = str(uuids.UUID(int=2))


def claim(row: int, amount: int, generation: int | None) -> dict[str, object]:
    return {
        "allocations": {provider_uuid(row): {"resources": {"VCPU": amount}}} if amount else {},
        "project_id": "new",
        "user_id": "new",
        "consumer_generation": generation,
        "consumer_type": "NEW",
    }


def shape(total: int, generation: int, name: str = "VCPU") -> dict[str, object]:
    return {"resource_provider_generation": generation, "inventories": {name: {"total": total}}}


class Broken(Exception):
    """The engine fails."""


class Service:
    """A service whose n-th statement of a write can be made to fail."""

    def __init__(self, directory: Path) -> None:
        settings, self.database = make_database(directory)
        with building(self.database.writer) as cloud:
            root = cloud.add("root", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
            cloud.add("child", {"VCPU": 8}, parent=root, traits=["HW_CPU_X86_AVX2"])
            cloud.add("elsewhere", {"VCPU": 8})
        self._client = falcon.testing.TestClient(app.create_app(settings, self.database))
        self._left: int | None = None
        sa.event.listen(self.database.writer, "before_cursor_execute", self._count)
        assert self.send("PUT", f"/allocations/{CONSUMER}", claim(1, 2, None)).status_code == 204

    def _count(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if self._left is None or statement.startswith("BEGIN"):
            return
        if self._left == 0:
            raise Broken
        self._left -= 1

    def send(self, method: str, path: str, body: object = None) -> Any:
        return self._client.simulate_request(method, path, json=body, headers=HEADERS)

    def send_broken(self, after: int, request: tuple[str, str, object]) -> int:
        self._left = after
        try:
            return int(self.send(*request).status_code)
        finally:
            self._left = None

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        with self.database.read() as conn:
            return {
                table.name: sorted(map(tuple, conn.execute(sa.select(table))), key=repr)
                for table in t.metadata.sorted_tables
            }


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    yield made
    made.database.dispose()


RP = "/resource_providers"
WRITES = {
    "claim": ("PUT", f"/allocations/{OTHER}", claim(2, 3, None)),
    "change": ("PUT", f"/allocations/{CONSUMER}", claim(2, 3, 1)),
    "move": ("POST", "/allocations", {CONSUMER: claim(1, 0, 1), OTHER: claim(3, 2, None)}),
    "release": ("DELETE", f"/allocations/{CONSUMER}", None),
    "reshape": (
        "POST",
        "/reshaper",
        {
            "inventories": {provider_uuid(1): shape(4, 1, "PCPU"), provider_uuid(2): shape(9, 0)},
            "allocations": {CONSUMER: claim(2, 2, 1)},
        },
    ),
    "create": ("POST", RP, {"name": "new", "parent_provider_uuid": provider_uuid(1)}),
    "rename and move": (
        "PUT",
        f"{RP}/{provider_uuid(2)}",
        {"name": "n", "parent_provider_uuid": provider_uuid(3)},
    ),
    "make a root": ("PUT", f"{RP}/{provider_uuid(2)}", {"name": "n", "parent_provider_uuid": None}),
    "inventories": ("PUT", f"{RP}/{provider_uuid(2)}/inventories", shape(5, 0, "PCPU")),
    "traits": (
        "PUT",
        f"{RP}/{provider_uuid(2)}/traits",
        {"traits": ["HW_CPU_X86_SSE"], "resource_provider_generation": 0},
    ),
    "aggregates": (
        "PUT",
        f"{RP}/{provider_uuid(1)}/aggregates",
        {"aggregates": [aggregate_uuid(2)], "resource_provider_generation": 1},
    ),
    "delete": ("DELETE", f"{RP}/{provider_uuid(2)}", None),
}


@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_broken_at_any_statement_changes_nothing(service: Service, name: str) -> None:
    before = service.dump()
    for after in range(100):
        status = service.send_broken(after, WRITES[name])
        if status < 300:
            break
        assert status == 500
        assert service.dump() == before
    assert after >= 3, "the write has several statements"
    assert service.dump() != before
