"""Names are compared as the database compares them, and hold what the database can hold."""

import uuid as uuids
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from tests.builders import make_app
from tests.engines import ENGINE

HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
HOST = str(uuids.UUID(int=1))
FOLDS = ENGINE == "mariadb"  # case, accents and spaces at the end make no difference there
NARROW = ENGINE == "mariadb"  # the server's character set ends at U+FFFF

ALIKE = [("name", "NAME"), ("name", "náme"), ("name", "name  ")]
WIDE = "a \U0001f600 face"


@pytest.fixture
def client(tmp_path: Path) -> falcon.testing.TestClient:
    made = falcon.testing.TestClient(make_app(tmp_path), headers=HEADERS)
    made.simulate_post("/resource_providers", json={"name": "host", "uuid": HOST})
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 100}}}
    made.simulate_put(f"/resource_providers/{HOST}/inventories", json=body)
    return made


def claim(project: str, user: str = "user") -> dict[str, object]:
    return {
        "allocations": {HOST: {"resources": {"VCPU": 1}}},
        "project_id": project,
        "user_id": user,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def put(client: falcon.testing.TestClient, body: object) -> Any:
    return client.simulate_put(f"/allocations/{uuids.uuid4()}", json=body)


def used(client: falcon.testing.TestClient, project: str) -> Any:
    answer = client.simulate_get("/usages", params={"project_id": project})
    return answer.json["usages"].get("INSTANCE", {}).get("VCPU", 0)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_a_provider_is_found_by_what_the_database_calls_its_name(
    client: falcon.testing.TestClient, one: str, other: str
) -> None:
    assert client.simulate_post("/resource_providers", json={"name": one}).status_code == 200
    found = client.simulate_get("/resource_providers", params={"name": other})
    assert [each["name"] for each in found.json["resource_providers"]] == [one] * FOLDS
    again = client.simulate_post("/resource_providers", json={"name": other})
    assert again.status_code == (409 if FOLDS else 200)
    if FOLDS:
        assert again.json["errors"][0]["detail"].startswith("Conflicting resource provider name:")


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_projects_that_the_database_calls_equal_are_one(
    client: falcon.testing.TestClient, one: str, other: str
) -> None:
    assert put(client, claim(one)).status_code == 204
    assert put(client, claim(other)).status_code == 204
    assert used(client, one) == used(client, other) == (2 if FOLDS else 1)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_the_database_calls_equal_may_be_new_in_one_request(
    client: falcon.testing.TestClient, one: str, other: str
) -> None:
    body = {str(uuids.uuid4()): claim(name, user=name) for name in (one, other)}
    answer = client.simulate_post("/allocations", json=body)
    assert answer.status_code == 204, answer.text
    assert used(client, one) == used(client, other) == (2 if FOLDS else 1)


def test_what_the_database_cannot_hold_is_refused_and_the_field_named(
    client: falcon.testing.TestClient,
) -> None:
    for field, answer in (
        ("name", client.simulate_post("/resource_providers", json={"name": WIDE})),
        ("name", client.simulate_put(f"/resource_providers/{HOST}", json={"name": f"{WIDE} 2"})),
        ("project_id", put(client, claim(WIDE))),
        ("user_id", put(client, claim("p", user=WIDE))),
        ("project_id", client.simulate_get("/usages", params={"project_id": WIDE})),
        ("name", client.simulate_get("/resource_providers", params={"name": WIDE})),
    ):
        if NARROW:
            assert answer.status_code == 400, answer.text
            assert answer.json["errors"][0]["detail"].startswith(f"{field}: {WIDE}")
        else:
            assert answer.status_code < 300, answer.text
