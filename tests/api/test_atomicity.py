"""A write that fails at any of its statements does not change the database."""

import uuid as uuids
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.runtime import deadline
from tests.kit import service as kit
from tests.kit.cloud import aggregate_uuid, building, provider_uuid

CONSUMER = str(uuids.UUID(int=1))
OTHER = str(uuids.UUID(int=2))


def claim(row: int, amount: int, generation: int | None) -> dict[str, object]:
    amounts = {provider_uuid(row): {"VCPU": amount}} if amount else {}
    return kit.claim(amounts, generation, project="new", user="new", kind="NEW")


class Broken(Exception):
    """A simulated failure of the engine."""


class Service(kit.Service):
    """A service in which a certain statement of a write can be made to fail."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        with building(self.database.writer) as cloud:
            root = cloud.add("root", {"VCPU": 8}, aggregates=[aggregate_uuid(1)])
            cloud.add("child", {"VCPU": 8}, parent=root, traits=["HW_CPU_X86_AVX2"])
            cloud.add("elsewhere", {"VCPU": 8})
        self._left: int | None = None
        sa.event.listen(self.database.writer, "before_cursor_execute", self._count)
        self.expect(204, "PUT", f"/allocations/{CONSUMER}", claim(1, 2, None))

    def _count(self, _conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if self._left is None or statement.startswith("BEGIN"):
            return
        if self._left == 0:
            raise Broken
        self._left -= 1

    def send_broken(self, after: int, request: tuple[Any, ...]) -> int:
        self._left = after
        try:
            return int(self.send(*request).status_code)
        finally:
            self._left = None


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service


RP = "/resource_providers"
WRITES: dict[str, tuple[Any, ...]] = {
    "find and claim": (
        "POST",
        "/claims",
        {
            "claims": [
                {
                    "request": {"groups": {"": {"resources": {"VCPU": 5}}}},
                    "consumer_uuid": str(uuids.UUID(int=number)),
                    "project_id": "new",
                    "user_id": "new",
                    "consumer_type": "NEW",
                }
                for number in (2, 3)
            ]
        },
        "2.0",
    ),
    "claim": ("PUT", f"/allocations/{OTHER}", claim(2, 3, None)),
    "change": ("PUT", f"/allocations/{CONSUMER}", claim(2, 3, 1)),
    "move": ("POST", "/allocations", {CONSUMER: claim(1, 0, 1), OTHER: claim(3, 2, None)}),
    "release": ("DELETE", f"/allocations/{CONSUMER}", None),
    "reshape": (
        "POST",
        "/reshaper",
        {
            "inventories": {
                provider_uuid(1): kit.inventories(1, PCPU=4),
                provider_uuid(2): kit.inventories(0, VCPU=9),
            },
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
    "inventories": ("PUT", f"{RP}/{provider_uuid(2)}/inventories", kit.inventories(0, PCPU=5)),
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


@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_that_reaches_its_deadline_at_any_moment_changes_nothing(
    service: Service, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reading of the clock advances it by one second."""
    monkeypatch.setattr(deadline, "monotonic", count().__next__)
    before = service.dump()
    refused = 0
    for seconds in range(1, 100):
        service.settings = replace(service.settings, request_deadline=float(seconds))
        service.restart()
        answer = service.send(*WRITES[name])
        if answer.status_code < 300:
            break
        refused += 1
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert "[placement]request_deadline" in answer.json["errors"][0]["detail"]
        assert service.dump() == before
    assert refused >= 3, "it is looked at before each statement, and before the COMMIT"
    assert service.dump() != before
