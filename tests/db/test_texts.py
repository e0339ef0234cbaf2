"""Requests whose statements SQLAlchemy executes. No frequent request is among them."""

import uuid as uuids
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit import rendered
from tests.kit.service import Service, claim, inventories

CANDIDATES = "/allocation_candidates?resources=VCPU:1&limit=10"


@contextmanager
def by_sqlalchemy(database: Database) -> Iterator[list[str]]:
    """Collect the statements that SQLAlchemy executes."""
    seen: list[str] = []

    def note(_conn: Any, _cursor: Any, sql: str, _params: Any, context: Any, _many: bool) -> None:
        if context.compiled is not None:
            seen.append(sql)

    for engine in (database.reader, database.writer):
        sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in (database.reader, database.writer):
            sa.event.remove(engine, "before_cursor_execute", note)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    rendered.forget()
    made = Service(tmp_path)
    yield made
    made.close()


def requests(host: str, consumer: str) -> list[tuple[str, str, object]]:
    """Create a host, read it, claim on it, and delete everything."""
    provider, allocations = f"/resource_providers/{host}", f"/allocations/{consumer}"
    return [
        ("POST", "/resource_providers", {"name": host, "uuid": host}),
        ("PUT", f"{provider}/inventories", inventories(0, VCPU=4, MEMORY_MB=4)),
        ("PUT", f"{provider}/traits", having(1, traits=["HW_CPU_X86_AVX", "HW_CPU_X86_SSE"])),
        ("PUT", f"{provider}/aggregates", having(2, aggregates=[str(uuids.UUID(int=1))])),
        ("GET", "/allocation_candidates?resources=VCPU:1,MEMORY_MB:1&limit=10", None),
        ("PUT", allocations, claim({host: {"VCPU": 1, "MEMORY_MB": 1}})),
        ("PUT", allocations, claim({host: {"VCPU": 2, "MEMORY_MB": 1}}, generation=1)),
        ("DELETE", allocations, None),
    ]


def having(generation: int, **members: object) -> dict[str, object]:
    return {"resource_provider_generation": generation, **members}


def test_from_the_second_time_on_statements_go_to_the_driver_as_text(service: Service) -> None:
    rounds: list[list[list[str]]] = []
    for _ in range(2):
        left: list[list[str]] = []
        for method, path, body in requests(str(uuids.uuid4()), str(uuids.uuid4())):
            with by_sqlalchemy(service.database) as statements:
                answer = service.send(method, path, body)
            assert answer.status_code < 300, answer.text
            left.append(statements)
        rounds.append(left)
    first, second = rounds
    assert all(first[:-1])
    assert second == [[]] * len(second)


def test_the_second_new_tree_is_written_as_text(service: Service) -> None:
    for _ in range(2):
        root, child = str(uuids.uuid4()), str(uuids.uuid4())
        parts = {"inventories": {"VCPU": {"total": 4}}, "traits": ["HW_CPU_X86_AVX"]}
        member = {"generation": None, **parts, "aggregates": [str(uuids.UUID(int=1))]}
        providers = [
            {"uuid": root, "name": root, "parent_provider_uuid": None, **member},
            {"uuid": child, "name": child, "parent_provider_uuid": root, **member},
        ]
        with by_sqlalchemy(service.database) as statements:
            answer = service.send("PUT", f"/provider_trees/{root}", {"providers": providers}, "2.0")
        assert answer.status_code == 200, answer.text
    assert statements == []
