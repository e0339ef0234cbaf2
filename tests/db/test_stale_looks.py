"""What was looked up before a write owned anything may be another thing when it does."""

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.errors import ConfigurationError
from placement.objects import derived, locking
from tests.kit.builders import settings
from tests.kit.engines import ENGINE
from tests.kit.service import Service

HOST = str(uuids.UUID(int=1))
CONSUMER = str(uuids.UUID(int=2))


class Host(Service):
    """A service with one host of VCPUs."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.send("POST", "/resource_providers", {"name": "host", "uuid": HOST})
        self.stock(VCPU={"total": 10})

    def stock(self, **records: dict[str, object]) -> Any:
        path = f"/resource_providers/{HOST}"
        generation = self.send("GET", path).json["generation"]
        body = {"resource_provider_generation": generation, "inventories": records}
        return self.send("PUT", f"{path}/inventories", body)

    def claim(self, resources: dict[str, int], generation: int | None = None) -> Any:
        body = {
            "allocations": {HOST: {"resources": resources}} if resources else {},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }
        return self.send("PUT", f"/allocations/{CONSUMER}", body)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Host]:
    with Host(tmp_path) as made:
        yield made


def before_next_lock(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Have something happen between the first look and the lock of the next write."""
    renew = locking.renew_revisions

    def late(conn: sa.Connection, root_ids: Any) -> int:
        monkeypatch.setattr(locking, "renew_revisions", renew)
        act()
        return renew(conn, root_ids)

    monkeypatch.setattr(locking, "renew_revisions", late)


@pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")
def test_a_class_whose_id_came_back_under_another_name_is_not_claimed(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.send("PUT", "/resource_classes/CUSTOM_OLD")

    def rename() -> None:
        assert service.send("DELETE", "/resource_classes/CUSTOM_OLD").status_code == 204
        assert service.send("PUT", "/resource_classes/CUSTOM_NEW").status_code == 201
        assert service.stock(VCPU={"total": 10}, CUSTOM_NEW={"total": 10}).status_code == 200

    before_next_lock(monkeypatch, rename)
    assert service.claim({"CUSTOM_OLD": 1}).status_code == 400
    assert service.send("GET", f"/allocations/{CONSUMER}").json["allocations"] == {}


def test_a_ratio_is_counted_as_the_database_keeps_it(service: Host) -> None:
    service.stock(VCPU={"total": 1_000_000, "allocation_ratio": 1.23456789})
    with service.database.read() as conn:
        derived.refuse_incorrect(conn)
        room = conn.exec_driver_sql("SELECT capacity FROM inventories").scalar_one()
    assert service.claim({"VCPU": room + 1}).status_code == 409
    assert service.claim({"VCPU": room}).status_code == 204


def test_a_consumer_on_a_provider_that_is_gone_can_be_emptied(service: Host) -> None:
    assert service.claim({"VCPU": 1}).status_code == 204
    with service.database.writer.begin() as conn:
        conn.exec_driver_sql("DELETE FROM inventories")
        conn.exec_driver_sql("UPDATE resource_providers SET root_provider_id = NULL")
        conn.exec_driver_sql("DELETE FROM resource_providers")
    assert service.claim({}, generation=1).status_code == 204
    assert service.send("GET", f"/allocations/{CONSUMER}").json["allocations"] == {}


def test_two_renames_of_one_class_do_not_both_succeed(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.send("PUT", "/resource_classes/CUSTOM_OLD")
    first = service.send("PUT", "/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_A"}, "1.6")
    second = service.send("PUT", "/resource_classes/CUSTOM_OLD", {"name": "CUSTOM_B"}, "1.6")
    assert (first.status_code, second.status_code) == (200, 404)


def test_a_driver_that_does_not_end_its_reads_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigurationError, match=r"postgresql\+psycopg"):
        Database(settings("postgresql+psycopg2://placement@127.0.0.1/placement").database)
