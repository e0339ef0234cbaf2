"""Names are compared as the database compares them, and hold what the database can hold."""

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from placement.db.statement import CHUNK
from placement.objects import catalog
from tests.kit.builders import make_database
from tests.kit.engines import ENGINE
from tests.kit.rows import insert
from tests.kit.service import Service

HOST = str(uuids.UUID(int=1))
FOLDS = ENGINE == "mariadb"  # case, accents and spaces at the end make no difference there
NARROW = ENGINE == "mariadb"  # the server's character set ends at U+FFFF

ALIKE = [("name", "NAME"), ("name", "náme"), ("name", "name  ")]
ONE, OTHER = (str(uuids.UUID(int=number)) for number in (11, 12))
WIDE = "a \U0001f600 face"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.send("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100}}}
    made.send("PUT", f"/resource_providers/{HOST}/inventories", body)
    yield made
    made.close()


def claim(project: str, user: str = "user") -> dict[str, object]:
    return {
        "allocations": {HOST: {"resources": {"VCPU": 1}}},
        "project_id": project,
        "user_id": user,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def put(client: Service, body: object) -> Any:
    return client.send("PUT", f"/allocations/{uuids.uuid4()}", body)


def used(client: Service, project: str) -> Any:
    answer = client.send("GET", "/usages", params={"project_id": project})
    return answer.json["usages"].get("INSTANCE", {}).get("VCPU", 0)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_a_provider_is_found_by_what_the_database_calls_its_name(
    client: Service, one: str, other: str
) -> None:
    assert client.send("POST", "/resource_providers", {"name": one}).status_code == 200
    found = client.send("GET", "/resource_providers", params={"name": other})
    assert [each["name"] for each in found.json["resource_providers"]] == [one] * FOLDS
    again = client.send("POST", "/resource_providers", {"name": other})
    assert again.status_code == (409 if FOLDS else 200)
    if FOLDS:
        assert again.json["errors"][0]["detail"].startswith("Conflicting resource provider name:")


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_projects_that_the_database_calls_equal_are_one(
    client: Service, one: str, other: str
) -> None:
    assert put(client, claim(one)).status_code == 204
    assert put(client, claim(other)).status_code == 204
    assert used(client, one) == used(client, other) == (2 if FOLDS else 1)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_the_database_calls_equal_may_be_new_in_one_request(
    client: Service, one: str, other: str
) -> None:
    body = {str(uuids.uuid4()): claim(name, user=name) for name in (one, other)}
    answer = client.send("POST", "/allocations", body)
    assert answer.status_code == 204, answer.text
    assert used(client, one) == used(client, other) == (2 if FOLDS else 1)


def test_a_trait_is_one_however_often_a_body_names_it(client: Service) -> None:
    traits = ["HW_NUMA_ROOT", "HW_CPU_X86_AVX"]
    body = {"traits": traits * (CHUNK - 1), "resource_provider_generation": 1}
    path = f"/resource_providers/{HOST}/traits"
    expected = {"traits": sorted(traits), "resource_provider_generation": 2}
    assert client.send("PUT", path, body).json == expected
    # Nothing changes, and the answer is the same.
    again = {**body, "resource_provider_generation": 2}
    assert client.send("PUT", path, again).json == expected


def test_what_the_database_cannot_hold_is_refused_and_the_field_named(
    client: Service,
) -> None:
    for field, answer in (
        ("name", client.send("POST", "/resource_providers", {"name": WIDE})),
        ("name", client.send("PUT", f"/resource_providers/{HOST}", {"name": f"{WIDE} 2"})),
        ("project_id", put(client, claim(WIDE))),
        ("user_id", put(client, claim("p", user=WIDE))),
        ("project_id", client.send("GET", "/usages", params={"project_id": WIDE})),
        ("name", client.send("GET", "/resource_providers", params={"name": WIDE})),
        (
            f"{OTHER}.project_id",
            client.send("POST", "/allocations", {ONE: claim("p"), OTHER: claim(f"{WIDE} 3")}),
        ),
    ):
        if NARROW:
            assert answer.status_code == 400, answer.text
            assert answer.json["errors"][0]["detail"].startswith(f"{field}: {WIDE}")
        else:
            assert answer.status_code < 300, answer.text


@pytest.mark.skipif(ENGINE != "mariadb", reason="elsewhere 0 is a number like any other")
def test_the_first_class_has_id_0_in_a_table_that_generates_ids(tmp_path: Path) -> None:
    _settings, database = make_database(tmp_path)
    with database.writer.begin() as conn:
        conn.exec_driver_sql("DELETE FROM resource_classes")
        conn.exec_driver_sql("ALTER TABLE resource_classes MODIFY id INT AUTO_INCREMENT")
    database.write(catalog.sync)
    with database.read() as conn:
        found = conn.exec_driver_sql("SELECT id FROM resource_classes WHERE name = 'VCPU'")
        assert found.scalar() == 0
        mode = conn.exec_driver_sql("SELECT @@SESSION.sql_mode").scalar()
    assert "NO_AUTO_VALUE_ON_ZERO" not in str(mode)


def test_an_adopted_database_may_have_several_rows_for_one_aggregate(tmp_path: Path) -> None:
    client = Service(tmp_path)
    plain, dashed = uuids.UUID(HOST).hex, HOST
    hosts = {number: str(uuids.UUID(int=number)) for number in (2, 3)}
    for number, uuid in hosts.items():
        client.send("POST", "/resource_providers", {"name": f"h{number}", "uuid": uuid})
    with client.database.writer.begin() as conn:
        spellings = {2: plain, 3: dashed}
        rows = [{"id": number, "uuid": spellings[number]} for number in hosts]
        insert(conn, "placement_aggregates", *rows)
        hosts_rows = conn.exec_driver_sql("SELECT uuid, id FROM resource_providers")
        ids = {row.uuid: row.id for row in hosts_rows}
        links = [{"resource_provider_id": ids[hosts[n]], "aggregate_id": n} for n in hosts]
        insert(conn, "resource_provider_aggregates", *links)

    def shown(number: int) -> Any:
        answer = client.send("GET", f"/resource_providers/{hosts[number]}/aggregates")
        return answer.json["aggregates"]

    def replaced(number: int, *aggregates: str) -> Any:
        path = f"/resource_providers/{hosts[number]}/aggregates"
        body = client.send("GET", path).json | {"aggregates": aggregates}
        return client.send("PUT", path, body).json["aggregates"]

    assert (shown(2), shown(3)) == ([plain], [dashed])
    for spelling in (plain, dashed, plain.upper(), dashed.upper(), f"{{{dashed}}}"):
        found = client.send("GET", "/resource_providers", params={"member_of": spelling})
        assert {each["uuid"] for each in found.json["resource_providers"]} == {*hosts.values()}
        without = client.send("GET", "/resource_providers", params={"member_of": f"!{spelling}"})
        assert without.json["resource_providers"] == []
    # The row of the spelling sent, else the oldest one.
    assert replaced(2, dashed) == shown(2) == [dashed]
    assert replaced(2, f"{{{dashed}}}") == shown(2) == [plain]
    # Both stay where both are sent.
    assert replaced(3, plain, dashed) == [plain, dashed]
    assert sorted(shown(3)) == sorted([plain, dashed])
