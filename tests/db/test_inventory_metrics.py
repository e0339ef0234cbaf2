"""The metrics of inventories: their values, their statements, and how long they are cached."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import exc

from placement.db.engine import Database
from placement.metrics.inventories import Inventories
from placement.objects import inventory_list
from placement.objects.inventory_list import ListedInventory
from tests.kit import metrics as kit
from tests.kit.service import Service, claim
from tests.kit.statements import counted

HOST = "c0ffee00-0000-4000-8000-00000000000"
CONSUMER = "beef0000-0000-4000-8000-000000000000"
PREFIX = "openstack_placement_"


def make_hosts(service: Service, *numbers: int) -> None:
    for number in numbers:
        body = {"name": f"host-{number}", "uuid": f"{HOST}{number}"}
        service.expect(200, "POST", "/resource_providers", body)
        records = {
            "VCPU": {"total": 8, "allocation_ratio": 4.5},
            "MEMORY_MB": {"total": 4096, "reserved": 512},
        }
        body_ = {"resource_provider_generation": 0, "inventories": records}
        service.expect(200, "PUT", f"/resource_providers/{HOST}{number}/inventories", body_)


def test_the_values_equal_the_api(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        make_hosts(service, 1, 2)
        amounts = {f"{HOST}1": {"VCPU": 20, "MEMORY_MB": 100}}
        service.expect(204, "PUT", f"/allocations/{CONSUMER}", claim(amounts))
        said = kit.samples(Inventories(tmp_path, 60).text(service.database))
        assert said[f"{PREFIX}up", ""] == 1
        expected: dict[tuple[str, str], float] = {(f"{PREFIX}up", ""): 1}
        for number in (1, 2):
            path = f"/resource_providers/{HOST}{number}"
            shown = service.get(f"{path}/inventories")
            usages = service.get(f"{path}/usages")["usages"]
            for name, record in shown["inventories"].items():
                labels = f"hostname=host-{number},resourcetype={name},root=host-{number}"
                values = {
                    **{field: record[field] for field in ("total", "reserved", "allocation_ratio")},
                    "usage": usages[name],
                    "generation": shown["resource_provider_generation"],
                }
                for field, value in values.items():
                    expected[f"{PREFIX}resource_{field}", labels] = value
        assert said == expected
        labels = "hostname=host-1,resourcetype=VCPU,root=host-1"
        assert said[f"{PREFIX}resource_usage", labels] == 20


def test_providers_of_a_tree_add_up_by_its_root(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        make_hosts(service, 1, 2)
        parent = f"{HOST}1"
        for number in (3, 4):
            body = {"name": f"card-{number}", "uuid": f"{HOST}{number}"}
            body["parent_provider_uuid"] = parent
            service.expect(200, "POST", "/resource_providers", body)
            parent = f"{HOST}{number}"
            records = {"VGPU": {"total": number}}
            inventories = {"resource_provider_generation": 0, "inventories": records}
            service.expect(200, "PUT", f"/resource_providers/{parent}/inventories", inventories)
        said = kit.samples(Inventories(tmp_path, 60).text(service.database))
    totals = kit.of(said, f"{PREFIX}resource_total")
    assert {labels: total for labels, total in totals.items() if "VGPU" in labels} == {
        "hostname=card-3,resourcetype=VGPU,root=host-1": 3,
        "hostname=card-4,resourcetype=VGPU,root=host-1": 4,
    }
    assert "hostname=host-2,resourcetype=VCPU,root=host-2" in totals


def test_allocations_have_the_labels_of_openstack_exporter(tmp_path: Path) -> None:
    other = CONSUMER.replace("beef", "cafe")
    metric = f"{PREFIX}resource_provider_allocations"
    with Service(tmp_path) as service:
        make_hosts(service, 1, 2)
        both = {f"{HOST}1": {"VCPU": 2, "MEMORY_MB": 100}, f"{HOST}2": {"VCPU": 3}}
        service.expect(204, "PUT", f"/allocations/{CONSUMER}", claim(both))
        service.expect(204, "PUT", f"/allocations/{other}", claim({f"{HOST}2": {"VCPU": 1}}))
        usual = Inventories(tmp_path, 0).text(service.database)
        with counted(service.database) as statements:
            text = Inventories(tmp_path, 0, with_allocations=True).text(service.database)
        assert len(statements) == 2
    assert metric.encode() not in usual
    assert text.startswith(usual)
    assert (
        f'{metric}{{hostname="host-1",uuid="{CONSUMER}",resourcetype="VCPU"}} 2\n' in text.decode()
    )
    assert kit.of(kit.samples(text), metric) == {
        f"hostname=host-1,resourcetype=VCPU,uuid={CONSUMER}": 2,
        f"hostname=host-1,resourcetype=MEMORY_MB,uuid={CONSUMER}": 100,
        f"hostname=host-2,resourcetype=VCPU,uuid={CONSUMER}": 3,
        f"hostname=host-2,resourcetype=VCPU,uuid={other}": 1,
    }


@pytest.mark.parametrize("hosts", [(), (1,), (1, 2, 3, 4, 5)])
def test_one_statement_reads_all(tmp_path: Path, hosts: tuple[int, ...]) -> None:
    with Service(tmp_path) as service:
        make_hosts(service, *hosts)
        with counted(service.database) as statements:
            Inventories(tmp_path, 60).text(service.database)
        assert len(statements) == 1


def test_a_text_is_kept_for_its_time_by_all_processes(tmp_path: Path) -> None:
    with Service(tmp_path) as service, counted(service.database) as statements:
        make_hosts(service, 1)
        first = Inventories(tmp_path, 60).text(service.database)
        make_hosts(service, 2)
        statements.clear()
        other = Inventories(tmp_path, 60)  # as another process has it
        assert other.text(service.database) == first
        assert statements == []
        minute_ago = time.time() - 61
        os.utime(tmp_path / "inventories.txt", (minute_ago, minute_ago))
        assert b'hostname="host-2"' in other.text(service.database)
        assert len(statements) == 1
        # A clock that was set back keeps nothing for ever.
        tomorrow = time.time() + 86400
        os.utime(tmp_path / "inventories.txt", (tomorrow, tomorrow))
        other.text(service.database)
        assert len(statements) == 2


@pytest.mark.parametrize("there_is_an_old_text", [False, True])
def test_no_two_make_the_text_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there_is_an_old_text: bool
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    readings: list[int] = []
    everything = inventory_list.list_all

    def slow(conn: object) -> object:
        readings.append(1)
        begun.set()
        assert go_on.wait(30)
        return everything(conn)  # type: ignore[arg-type]

    with Service(tmp_path) as service:
        if there_is_an_old_text:
            Inventories(tmp_path, 60).text(service.database)
            os.utime(tmp_path / "inventories.txt", (0, 0))
        make_hosts(service, 1)
        monkeypatch.setattr(inventory_list, "list_all", slow)
        texts: list[bytes] = []

        def ask() -> None:
            texts.append(Inventories(tmp_path, 60).text(service.database))

        first, second = threading.Thread(target=ask), threading.Thread(target=ask)
        first.start()
        assert begun.wait(30)
        second.start()
        if there_is_an_old_text:
            second.join(30)
            assert b"host-1" not in texts[0]
        go_on.set()
        first.join(30)
        second.join(30)
        assert len(readings) == 1
        assert all(b"host-1" in text for text in texts[there_is_an_old_text:])
        assert len(texts) == 2


def test_without_a_database_they_say_so_and_keep_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Service(tmp_path) as service:
        make_hosts(service, 1)
        inventories = Inventories(tmp_path, 60)

        def fail(_conn: object) -> object:
            raise exc.OperationalError("SELECT", None, Exception("gone"))

        with monkeypatch.context() as broken:
            broken.setattr(inventory_list, "list_all", fail)
            assert kit.samples(inventories.text(service.database)) == {(f"{PREFIX}up", ""): 0}
        assert kit.samples(inventories.text(service.database))[f"{PREFIX}up", ""] == 1


def test_the_text_is_valid_for_any_provider_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ['a"b', "a\\b", "a\nb", "é😀", 'a"} 1\nx{b="']
    rows = [ListedInventory(name, name, "VCPU", 1, 0, 1.0, 0, 3) for name in names]
    monkeypatch.setattr(inventory_list, "list_all", lambda _conn: rows)
    with Service(tmp_path) as service:
        database: Database = service.database
        said = kit.samples(Inventories(tmp_path, 60).text(database))
    assert set(kit.of(said, f"{PREFIX}resource_total")) == {
        f"hostname={name},resourcetype=VCPU,root={name}" for name in names
    }
