"""Rows that a write reads before it holds a lock may change before the lock."""

import uuid as uuids
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from placement.errors import ConfigurationError
from placement.objects import allocation_state, derived, locking, providers
from placement.objects.allocation_change import AllocationState
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


def test_a_ratio_is_counted_as_the_database_keeps_it(service: Host) -> None:
    service.stock(VCPU={"total": 1_000_000, "allocation_ratio": 1.23456789})
    with service.database.read() as conn:
        assert derived.is_correct(conn)
        room = conn.exec_driver_sql("SELECT capacity FROM inventories").scalar_one()
    assert service.claim({"VCPU": room + 1}).status_code == 409
    assert service.claim({"VCPU": room}).status_code == 204


def test_a_ratio_that_the_database_rounds_is_no_change(service: Host) -> None:
    inventories = {"VCPU": {"total": 10, "allocation_ratio": 1.23456789}}
    host = {"uuid": HOST, "name": "host", "parent_provider_uuid": None}
    body = {"providers": [{**host, "inventories": inventories}]}
    for change in ("updated", "unchanged"):
        answer = service.expect(200, "PUT", f"/provider_trees/{HOST}", body, "2.0").json
        assert answer["providers"][HOST]["change"] == change


def test_a_consumer_that_a_torn_view_lacks_is_read_under_the_lock(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its consumer, an allocation seems to be one that SQL has left behind."""
    assert service.claim({"VCPU": 1}).status_code == 204
    read = allocation_state._read

    def torn(*arguments: Any) -> AllocationState:
        monkeypatch.setattr(allocation_state, "_read", read)
        state = read(*arguments)
        (consumer,) = state.consumers.values()
        return replace(state, consumers={}, unrecorded={CONSUMER: consumer.allocations})

    monkeypatch.setattr(allocation_state, "_read", torn)
    assert service.claim({"VCPU": 2}, generation=1).status_code == 204


def test_a_consumer_on_a_provider_that_is_gone_can_be_emptied(service: Host) -> None:
    assert service.claim({"VCPU": 1}).status_code == 204
    with service.database.writer.begin() as conn:
        conn.exec_driver_sql("DELETE FROM inventories")
        conn.exec_driver_sql("UPDATE resource_providers SET root_provider_id = NULL")
        conn.exec_driver_sql("DELETE FROM resource_providers")
    assert service.claim({}, generation=1).status_code == 204
    assert service.send("GET", f"/allocations/{CONSUMER}").json["allocations"] == {}


def test_an_inventory_that_is_set_again_counts_its_allocations(service: Host) -> None:
    assert service.claim({"VCPU": 4}).status_code == 204
    with service.database.writer.begin() as conn:
        conn.exec_driver_sql("DELETE FROM inventories")
    service.stock(VCPU={"total": 10})
    service.check_used()


def test_a_provider_without_a_root_gives_nothing_and_takes_all_back(service: Host) -> None:
    assert service.claim({"VCPU": 1}).status_code == 204
    with service.database.writer.begin() as conn:
        conn.exec_driver_sql("UPDATE resource_providers SET root_provider_id = NULL")
    answer = service.claim({"VCPU": 2}, generation=1)
    assert answer.status_code == 400
    assert HOST in answer.json["errors"][0]["detail"]
    assert service.claim({}, generation=1).status_code == 204


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


PATH = f"/resource_providers/{HOST}"


def after_next_read(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Call a function between the next read of a write and its lock."""
    lock = locking.lock_unchanged

    def late(conn: sa.Connection, *what: Any, **more: Any) -> int:
        monkeypatch.setattr(locking, "lock_unchanged", lock)
        act()
        return lock(conn, *what, **more)

    monkeypatch.setattr(locking, "lock_unchanged", late)


@pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")
def test_a_write_that_others_overtake_decides_on_what_they_have_written(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake() -> None:
        assert service.claim({"VCPU": 1}).status_code == 204
        body = {"resource_class": "DISK_GB", "total": 1}
        assert service.send("POST", f"{PATH}/inventories", body).status_code == 201

    after_next_read(monkeypatch, overtake)
    body = {"resource_class": "MEMORY_MB", "total": 1}
    answer = service.send("POST", f"{PATH}/inventories", body)
    assert (answer.status_code, answer.json["resource_provider_generation"]) == (201, 4)
    inventories = service.send("GET", f"{PATH}/inventories").json["inventories"]
    assert inventories.keys() == {"VCPU", "DISK_GB", "MEMORY_MB"}


CHILD = str(uuids.UUID(int=3))
TRAIT = "/traits/CUSTOM_STALE"
INVENTORIES = {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 9}}}
ROOT = {"name": "child", "uuid": CHILD}
CHILD_OF_HOST = {"name": "child", "uuid": CHILD, "parent_provider_uuid": HOST}
MOVED = {"name": "child", "parent_provider_uuid": None}

# what happens -> what was there, what comes between, and a write with its status
OVERTAKEN: Mapping[str, tuple[Sequence[Any], Sequence[Any], Sequence[Any], int]] = {
    "a generation moves": (
        (),
        ("POST", f"{PATH}/inventories", {"resource_class": "DISK_GB", "total": 1}),
        ("PUT", f"{PATH}/inventories", INVENTORIES),
        409,
    ),
    "a trait goes": (
        ("PUT", TRAIT),
        ("DELETE", TRAIT),
        (
            "PUT",
            f"{PATH}/traits",
            {"resource_provider_generation": 1, "traits": ["CUSTOM_STALE"]},
        ),
        400,
    ),
    "a child comes": (
        (),
        ("POST", "/resource_providers", CHILD_OF_HOST),
        ("DELETE", PATH),
        409,
    ),
    "a parent goes": (
        ("DELETE", f"{PATH}/inventories"),
        ("DELETE", PATH),
        ("POST", "/resource_providers", CHILD_OF_HOST),
        400,
    ),
    "a name is taken": (
        (),
        ("POST", "/resource_providers", ROOT),
        ("PUT", PATH, {"name": "child"}),
        409,
    ),
    "a new parent goes below its child": (
        ("POST", "/resource_providers", ROOT),
        ("PUT", f"/resource_providers/{CHILD}", {"name": "child", "parent_provider_uuid": HOST}),
        ("PUT", PATH, {"name": "host", "parent_provider_uuid": CHILD}),
        400,
    ),
    "a provider goes to a tree of its own": (
        ("POST", "/resource_providers", CHILD_OF_HOST),
        ("PUT", f"/resource_providers/{CHILD}", MOVED),
        (
            "PUT",
            f"/resource_providers/{CHILD}/inventories",
            {**INVENTORIES, "resource_provider_generation": 0},
        ),
        200,
    ),
}


@pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")
@pytest.mark.parametrize("name", OVERTAKEN)
def test_a_write_is_answered_as_if_it_had_come_after_what_overtakes_it(
    service: Host, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before, between, write, status = OVERTAKEN[name]
    if before:
        assert service.send(*before).status_code < 300

    def overtake() -> None:
        assert service.send(*between).status_code < 300

    after_next_read(monkeypatch, overtake)
    answer = service.send(*write)
    assert answer.status_code == status, answer.text
    service.check_used()


@pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")
def test_a_name_that_the_provider_has_is_set_if_another_write_changes_it_meanwhile(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = service.send("GET", PATH).json["name"]
    get = providers.get

    def late(conn: sa.Connection, uuid: str) -> providers.Provider:
        monkeypatch.setattr(providers, "get", get)
        assert service.send("PUT", PATH, {"name": "other"}).status_code == 200
        return get(conn, uuid)

    monkeypatch.setattr(providers, "get", late)
    answer = service.send("PUT", PATH, {"name": name})
    assert (answer.status_code, answer.json["name"]) == (200, name)
    assert service.send("GET", PATH).json["name"] == name


@pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")
def test_concurrently_claimed_consumers_are_not_deleted(
    service: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_next_read(monkeypatch, lambda: service.claim({"VCPU": 1}))
    assert service.send("DELETE", f"{PATH}/inventories").status_code == 409
    assert service.send("GET", f"{PATH}/usages").json["usages"] == {"VCPU": 1}
