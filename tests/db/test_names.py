"""Names are compared character by character, and can contain all text that the database stores."""

import uuid as uuids
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from placement.db.statement import CHUNK_SIZE
from placement.objects import catalog
from tests.kit.builders import make_database
from tests.kit.engines import FAMILY
from tests.kit.rows import insert
from tests.kit.service import Service, inventories

HOST = str(uuids.UUID(int=1))
FOLDS = FAMILY == "mariadb"  # a unique index ignores case, accents and trailing spaces there
NARROW = FAMILY == "mariadb"  # the server's character set ends at U+FFFF

ALIKE = [("name", "NAME"), ("name", "náme"), ("name", "name  ")]
ONE, OTHER = (str(uuids.UUID(int=number)) for number in (11, 12))
WIDE = "a \U0001f600 face"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.send("POST", "/resource_providers", {"name": "host", "uuid": HOST})
    made.send("PUT", f"/resource_providers/{HOST}/inventories", inventories(0, VCPU=100))
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


def used(client: Service, project: str, **query: str) -> Any:
    answer = client.send("GET", "/usages", params={"project_id": project, **query})
    return answer.json["usages"].get("INSTANCE", {}).get("VCPU", 0)


def assert_error(answer: Any, code: str, *texts: str) -> None:
    assert answer.status_code == 409, answer.text
    (error,) = answer.json["errors"]
    assert error["code"] == code
    for text in texts:
        assert text in error["detail"]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_a_provider_is_found_by_its_exact_name_alone(client: Service, one: str, other: str) -> None:
    assert client.send("POST", "/resource_providers", {"name": one}).status_code == 200
    for query in ({}, {"include": "traits"}, {"limit": 5}):
        for name, expected in ((one, [one]), (other, [])):
            params = {"name": name, **query}
            answer = client.send("GET", "/resource_providers", version="2.0", params=params)
            names = [each["name"] for each in answer.json["resource_providers"]]
            assert names == expected, (query, name)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_a_provider_name_that_the_database_does_not_distinguish_is_taken(
    client: Service, one: str, other: str
) -> None:
    uuid = client.send("POST", "/resource_providers", {"name": one}).json["uuid"]
    second = client.send("POST", "/resource_providers", {"name": other})
    renamed = client.send("PUT", f"/resource_providers/{HOST}", {"name": other})
    if FOLDS:
        for answer in (second, renamed):
            assert_error(answer, "placement.duplicate_name", one, other)
            detail = answer.json["errors"][0]["detail"]
            assert detail.startswith("Conflicting resource provider name:")
        # A provider may change its own name to it.
        path = f"/resource_providers/{uuid}"
        assert client.send("PUT", path, {"name": other}).json["name"] == other
        assert client.send("GET", path).json["name"] == other
    else:
        assert second.status_code == 200
        assert_error(renamed, "placement.duplicate_name", other, "already exists")


@pytest.mark.parametrize("owner", ["project_id", "user_id"])
@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_an_owner_that_the_database_does_not_distinguish_is_refused(
    client: Service, owner: str, one: str, other: str
) -> None:
    assert put(client, claim("p") | {owner: one}).status_code == 204
    answer = put(client, claim("p") | {owner: other})
    if FOLDS:
        assert_error(answer, "placement.undefined_code", one, other)
    else:
        assert answer.status_code == 204
    # The usages of the two are separate.
    for name, expected in ((one, 1), (other, 0 if FOLDS else 1)):
        if owner == "project_id":
            assert used(client, name) == expected
        else:
            assert used(client, "p", user_id=name) == expected
    assert put(client, claim("p") | {owner: one}).status_code == 204


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_owners_that_the_database_does_not_distinguish_cannot_be_new_in_one_request(
    client: Service, one: str, other: str
) -> None:
    body = {str(uuids.uuid4()): claim(name, user=name) for name in (one, other)}
    answer = client.send("POST", "/allocations", body)
    if FOLDS:
        assert_error(answer, "placement.undefined_code", one, other)
    else:
        assert answer.status_code == 204, answer.text
    expected = 0 if FOLDS else 1
    assert used(client, one) == used(client, other) == expected


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_every_write_refuses_an_owner_that_the_database_does_not_distinguish(
    client: Service, one: str, other: str
) -> None:
    consumer = str(uuids.uuid4())
    assert client.send("PUT", f"/allocations/{consumer}", claim(one)).status_code == 204
    generation = 2 if FOLDS else 3
    stock = {HOST: inventories(generation, VCPU=100)}
    moved = claim(other) | {"consumer_generation": 1}
    owner = {"project_id": other, "user_id": "user", "consumer_type": "INSTANCE"}
    request = {"groups": {"": {"resources": {"VCPU": 1}}}}
    for method, path, body in (
        ("PUT", f"/allocations/{consumer}", moved),
        ("POST", "/reshaper", {"inventories": stock, "allocations": {consumer: moved}}),
        ("POST", "/claims", {"consumer_uuid": ONE, "request": request, **owner}),
    ):
        answer = client.send(method, path, body, version="2.0")
        if FOLDS:
            assert_error(answer, "placement.undefined_code", one, other)
        else:
            assert answer.status_code in (200, 201, 204), answer.text
            moved["consumer_generation"] = 2


def test_names_of_any_storable_characters_are_found_again(client: Service) -> None:
    # U+FFFF is where the character set of the narrowest database ends.
    characters = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    size = 190
    for start in range(0, len(characters), 20 * size):
        body = {}
        for first in range(start, min(start + 20 * size, len(characters)), size):
            name = f"{first} {''.join(characters[first : first + size])}"
            body[str(uuids.UUID(int=first + 1))] = claim(name, user=name)
        for _again in range(2):  # new names, and names that exist
            answer = client.send("POST", "/allocations", body)
            assert answer.status_code == 204, answer.text
            for consumer, each in body.items():
                shown = client.send("GET", f"/allocations/{consumer}").json
                assert shown["project_id"] == each["project_id"]
                assert used(client, str(each["project_id"])) == 1
                each["consumer_generation"] = shown["consumer_generation"]
        for consumer in body:
            assert client.send("DELETE", f"/allocations/{consumer}").status_code == 204


def test_a_trait_is_listed_by_its_exact_name_alone(client: Service) -> None:
    for query, expected in (
        ("in:hw_cpu_x86_avx,HW_CPU_X86_AVX2", ["HW_CPU_X86_AVX2"]),
        ("in:hw_cpu_x86_avx", []),
        ("startswith:hw_cpu_x86", []),
    ):
        assert client.send("GET", "/traits", params={"name": query}).json["traits"] == expected
    for path in ("/resource_providers", "/allocation_candidates"):
        for name, value in (("required", "hw_cpu_x86_avx"), ("resources", "vcpu:1")):
            params = {"resources": "VCPU:1", name: value}
            answer = client.send("GET", path, params=params)
            assert answer.status_code == 400, answer.text


def test_a_trait_is_one_however_often_a_body_names_it(client: Service) -> None:
    traits = ["HW_NUMA_ROOT", "HW_CPU_X86_AVX"]
    body = {"traits": traits * (CHUNK_SIZE - 1), "resource_provider_generation": 1}
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


@pytest.mark.parametrize("kind", ["traits", "resource_classes"])
def test_a_row_that_no_client_can_create_matches_no_other_name(client: Service, kind: str) -> None:
    """Names of traits and classes are in capitals, unless other software has written them."""
    with client.database.writer.begin() as conn:
        insert(conn, kind, {"id": 20000, "name": "custom_low"})
    path = f"/{kind}/CUSTOM_LOW"
    assert client.send("GET", path).status_code == 404
    key, value = ("required", "CUSTOM_LOW") if kind == "traits" else ("resources", "CUSTOM_LOW:1")
    params = {"resources": "VCPU:1", key: value}
    for read in ("/resource_providers", "/allocation_candidates"):
        assert client.send("GET", read, params=params).status_code == 400
    answer = client.send("PUT", path)
    if FOLDS:
        assert_error(answer, "placement.undefined_code", "CUSTOM_LOW", "custom_low")
    else:
        assert answer.status_code == 201


@pytest.mark.skipif(FAMILY != "mariadb", reason="elsewhere names are equal or not")
@pytest.mark.parametrize(
    ("collation", "other"),
    [
        ("utf8mb4_general_ci", "\U0001f601"),  # all beyond U+FFFF are one
        ("utf8mb4_unicode_ci", "\U0001f600\u200b"),  # what is not visible is nothing
        ("utf8mb4_bin", "\U0001f600 "),
    ],
)
def test_names_are_exact_in_the_character_sets_of_adopted_tables(
    client: Service, collation: str, other: str
) -> None:
    one = "\U0001f600"
    with client.database.writer.begin() as conn:
        for table in ("projects", "resource_providers"):
            charset, _, _ = collation.partition("_")
            conversion = f"CONVERT TO CHARACTER SET {charset} COLLATE {collation}"
            conn.exec_driver_sql(f"ALTER TABLE {table} {conversion}")
    assert put(client, claim(one)).status_code == 204
    assert_error(put(client, claim(other)), "placement.undefined_code", repr(one), repr(other))
    assert (used(client, one), used(client, other)) == (1, 0)
    assert client.send("POST", "/resource_providers", {"name": one}).status_code == 200
    answer = client.send("POST", "/resource_providers", {"name": other})
    assert_error(answer, "placement.duplicate_name", one, other)
    for name, count in ((one, 1), (other, 0)):
        found = client.send("GET", "/resource_providers", params={"name": name})
        assert len(found.json["resource_providers"]) == count


@pytest.mark.skipif(FAMILY != "mariadb", reason="elsewhere 0 is a number like any other")
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
    # Each row of the aggregate counts.
    host = {"uuid": hosts[3], "name": "h3", "parent_provider_uuid": None, "aggregates": [plain]}
    tree = client.expect(200, "PUT", f"/provider_trees/{hosts[3]}", {"providers": [host]}, "2.0")
    assert tree.json["providers"][hosts[3]]["change"] == "unchanged"
    # The row of the spelling sent, else the oldest one.
    assert replaced(2, dashed) == shown(2) == [dashed]
    assert replaced(2, f"{{{dashed}}}") == shown(2) == [plain]
    # Both stay where both are sent.
    assert replaced(3, plain, dashed) == [plain, dashed]
    assert sorted(shown(3)) == sorted([plain, dashed])
