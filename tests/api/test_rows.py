"""Requests that a gabbit cannot send, and effects that are visible only in several requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import falcon.testing
import orjson
import pytest
import sqlalchemy as sa

from placement.db import tables as t
from tests.kit import service as kit
from tests.kit.builders import make_app
from tests.kit.cloud import consumer_uuid, provider_uuid

HEADERS = {**kit.HEADERS, "Content-Type": "application/json"}


@pytest.fixture
def client(tmp_path: Path) -> falcon.testing.TestClient:
    return falcon.testing.TestClient(make_app(tmp_path))


def send(
    client: falcon.testing.TestClient,
    method: str,
    path: str,
    body: Any = None,
    headers: Mapping[str, str] = HEADERS,
    **more: Any,
) -> Any:
    raw = None if body is None else orjson.dumps(body)
    return client.simulate_request(method, path, body=raw, headers=dict(headers), **more)


@pytest.mark.parametrize(
    ("first", "second", "version"),
    [
        ("placement 1.5", "placement 1.7", "1.7"),
        ("placement x", "placement 1.7", "1.7"),
        ("placement 1.5", "compute 2.1", "1.5"),
    ],
)
def test_of_a_repeated_version_header_the_last_entry_counts(
    client: falcon.testing.TestClient, first: str, second: str, version: str
) -> None:
    # A server joins repeated headers with commas before the application sees them.
    headers = {**HEADERS, "OpenStack-API-Version": f"{first},{second}"}
    answer = send(client, "GET", "/resource_providers", headers=headers)
    assert answer.headers["openstack-api-version"] == f"placement {version}"


def test_two_slashes_are_no_path(client: falcon.testing.TestClient) -> None:
    assert send(client, "GET", "//").status_code == 404


def test_an_empty_token_is_a_caller_without_roles(client: falcon.testing.TestClient) -> None:
    headers = {**HEADERS, "X-Auth-Token": ""}
    del headers["X-Roles"]
    assert send(client, "GET", "/resource_providers", headers=headers).status_code in {401, 403}


@pytest.mark.parametrize("name", ['A", "name":"CUSTOM_B', "CUSTOM_B%0A", "CUSTOM_%C3%89", "VCPU"])
@pytest.mark.parametrize("kind", ["resource_classes", "traits"])
def test_a_crafted_name_makes_nothing(
    client: falcon.testing.TestClient, kind: str, name: str
) -> None:
    before = send(client, "GET", f"/{kind}").json
    assert send(client, "PUT", f"/{kind}/{name}").status_code == 400
    assert send(client, "GET", f"/{kind}").json == before


def test_a_provider_is_found_by_any_form_of_its_uuid(client: falcon.testing.TestClient) -> None:
    canonical = "abcdef00-0000-4000-8000-000000000001"
    forms = (canonical, canonical.upper(), canonical.replace("-", ""), f"urn:uuid:{canonical}")
    answer = send(client, "POST", "/resource_providers", {"name": "n", "uuid": forms[3]})
    assert answer.json["uuid"] == canonical
    for form in forms:
        assert send(client, "GET", f"/resource_providers/{form}").json["uuid"] == canonical
    consumer = canonical.replace("8000", "9000")
    path = f"/resource_providers/{canonical}/inventories"
    send(client, "POST", path, {"resource_class": "VCPU", "total": 4})
    body = {
        "allocations": {canonical.upper(): {"resources": {"VCPU": 1}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert send(client, "PUT", f"/allocations/{consumer.upper()}", body).status_code == 204
    for form in (consumer, consumer.upper(), consumer.replace("-", "")):
        answer = send(client, "GET", f"/allocations/{form}")
        assert answer.json["allocations"].keys() == {canonical}
    assert send(client, "DELETE", f"/allocations/{consumer.upper()}").status_code == 204


def test_two_keys_that_mean_one_uuid_are_refused(client: falcon.testing.TestClient) -> None:
    one = "abcdef00-0000-4000-8000-000000000001"
    allocation = {"resources": {"VCPU": 1}}
    body = {
        "allocations": {one: allocation, one.upper(): allocation},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    answer = send(client, "PUT", f"/allocations/{provider_uuid(1)}", body)
    assert answer.status_code == 400
    assert "same UUID" in answer.json["errors"][0]["detail"]


def test_of_duplicate_keys_the_last_counts(client: falcon.testing.TestClient) -> None:
    raw = b'{"name": "first", "name": "last"}'
    answer = client.simulate_post("/resource_providers", body=raw, headers=HEADERS)
    assert answer.json["name"] == "last"


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400])
def test_numbers_that_are_none_are_refused(client: falcon.testing.TestClient, value: str) -> None:
    send(client, "POST", "/resource_providers", {"name": "n", "uuid": provider_uuid(1)})
    raw = f'{{"resource_class": "VCPU", "total": 1, "allocation_ratio": {value}}}'.encode()
    path = f"/resource_providers/{provider_uuid(1)}/inventories"
    answer = client.simulate_post(path, body=raw, headers=HEADERS)
    assert answer.status_code == 400
    assert send(client, "GET", path).json["inventories"] == {}


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, "[" * 900 + "]" * 900])
def test_deep_json_is_refused(client: falcon.testing.TestClient, deep: str) -> None:
    answer = client.simulate_post("/resource_providers", body=deep.encode(), headers=HEADERS)
    assert answer.status_code == 400
    assert answer.json["errors"][0]["status"] == 400


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800", "a\\u0000b"])
def test_text_that_no_database_stores_is_refused_by_its_field(
    client: falcon.testing.TestClient, text: str
) -> None:
    raw = f'{{"name": "{text}"}}'.encode()
    answer = client.simulate_post("/resource_providers", body=raw, headers=HEADERS)
    assert answer.status_code == 400
    assert send(client, "GET", "/resource_providers").json == {"resource_providers": []}


def test_a_request_id_is_ours_and_in_the_error(client: falcon.testing.TestClient) -> None:
    claimed_id = "req-00000000-0000-4000-8000-000000000000"
    answer = send(
        client, "GET", "/nowhere", headers={**HEADERS, "X-Openstack-Request-Id": claimed_id}
    )
    request_id = answer.headers["x-openstack-request-id"]
    assert request_id != claimed_id
    assert answer.json["errors"][0]["request_id"] == request_id


@pytest.mark.parametrize(
    ("table", "path"),
    [
        (t.resource_providers, "/resource_providers"),
        (t.inventories, f"/resource_providers/{provider_uuid(1)}/inventories"),
        (t.allocations, f"/resource_providers/{provider_uuid(1)}/allocations"),
    ],
)
def test_last_modified_is_the_newest_change(tmp_path: Path, table: sa.Table, path: str) -> None:
    host = f"/resource_providers/{provider_uuid(1)}"
    stock = {name: {"total": 10} for name in ("VCPU", "MEMORY_MB", "DISK_GB")}
    owner = {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE"}
    claims = {
        consumer_uuid(number): {
            "allocations": {provider_uuid(1): {"resources": {"VCPU": 1}}},
            "consumer_generation": None,
            **owner,
        }
        for number in (1, 2, 3)
    }
    with kit.Service(tmp_path) as service:
        for number in (1, 2, 3):
            provider = {"name": str(number), "uuid": provider_uuid(number)}
            service.expect(200, "POST", "/resource_providers", provider)
        body = {"resource_provider_generation": 0, "inventories": stock}
        service.expect(200, "PUT", f"{host}/inventories", body)
        service.expect(204, "POST", "/allocations", claims)
        with service.database.writer.begin() as conn:
            for row_id, year in {1: 2021, 2: 2023, 3: 2022}.items():
                created = sa.update(table).where(table.c.id == row_id)
                times = {"created_at": datetime(year, 1, 1), "updated_at": None}
                conn.execute(created.values(times))
        answer = service.expect(200, "GET", path)
    assert answer.headers["last-modified"] == "Sun, 01 Jan 2023 00:00:00 GMT"
