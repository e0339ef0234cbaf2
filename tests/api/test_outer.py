"""What stands around the application: the identity service, CORS, the headers of a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from placement import app, config
from tests.api.identity import identity_service
from tests.builders import make_app, make_database

VERSION = {"OpenStack-API-Version": "placement 1.39"}
ORIGIN = "https://dashboard.example.org"


def client(tmp_path: Path, **overrides: dict[str, Any]) -> falcon.testing.TestClient:
    return falcon.testing.TestClient(make_app(tmp_path, **overrides))


# -- keystone -------------------------------------------------------------------------------


def with_keystone(tmp_path: Path, url: str) -> falcon.testing.TestClient:
    known, database = make_database(tmp_path)
    (tmp_path / "placement.conf").write_text(
        f"""
        [placement_database]
        connection = {known.database.connection}
        [keystone_authtoken]
        www_authenticate_uri = {url}
        auth_url = {url}
        auth_type = password
        username = placement
        password = secret
        project_name = service
        user_domain_name = Default
        project_domain_name = Default
        http_request_max_retries = 0
        """.replace("    ", "")
    )
    conf = config.options()
    config.parse(conf, [], [str(tmp_path / "placement.conf")])
    return falcon.testing.TestClient(app.create_app(config.settings(conf), database))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[falcon.testing.TestClient]:
    with identity_service() as url:
        yield with_keystone(tmp_path, url)


def get(at: falcon.testing.TestClient, path: str, token: str | None = None, **more: Any) -> Any:
    headers = {**VERSION, **({"X-Auth-Token": token} if token else {})}
    return at.simulate_get(path, headers=headers, **more)


def test_keystone_wants_a_token_and_says_where_to_get_one(guarded: Any) -> None:
    for token in (None, "token-nobody-knows"):
        answer = get(guarded, "/resource_providers", token)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith('Keystone uri="http://127.0.0.1:')
        assert answer.headers["x-openstack-request-id"].startswith("req-")
        assert "openstack-api-version" not in answer.headers


def test_keystone_asks_before_paths_and_versions_are_looked_at(guarded: Any) -> None:
    assert get(guarded, "/nowhere").status_code == 401
    answer = guarded.simulate_get(
        "/resource_providers", headers={"OpenStack-API-Version": "placement x"}
    )
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthcheck"])
def test_public_paths_need_no_token(guarded: Any, path: str) -> None:
    assert get(guarded, path).status_code == 200


def status_of_the_mount_point(at: falcon.testing.TestClient) -> str:
    """`GET` of the prefix itself, which leaves an empty path."""
    environ = falcon.testing.create_environ("/", root_path="/placement")
    environ["PATH_INFO"] = ""
    started = falcon.testing.StartResponseMock()
    at.app(environ, started)
    return started.status or ""


def test_an_empty_path_behind_a_prefix_needs_a_token_without_keystone_only(
    guarded: Any, tmp_path: Path
) -> None:
    assert status_of_the_mount_point(guarded) == "200 OK"
    assert status_of_the_mount_point(client(tmp_path)) == "401 Unauthorized"


@pytest.mark.parametrize(
    ("token", "path", "query", "status"),
    [
        ("token-admin", "/resource_providers", "", 200),
        ("token-of-the-service", "/resource_providers", "", 200),
        ("token-reader", "/resource_providers", "", 403),
        ("token-reader", "/usages", "project_id=p", 200),
        ("token-reader", "/usages", "project_id=other", 403),
        ("token-system", "/resource_providers", "", 403),
        ("token-domain", "/resource_providers", "", 403),
    ],
)
def test_roles_and_scope_come_from_the_identity_service(
    guarded: Any, token: str, path: str, query: str, status: int
) -> None:
    answer = get(guarded, path, token, query_string=query)
    assert answer.status_code == status, answer.text


def test_headers_of_a_client_do_not_make_an_identity(guarded: Any) -> None:
    forged = {"X-Roles": "admin", "X-Identity-Status": "Confirmed", "X-Project-Id": "p"}
    assert get(guarded, "/resource_providers").status_code == 401
    answer = guarded.simulate_get("/resource_providers", headers={**VERSION, **forged})
    assert answer.status_code == 401
    answer = guarded.simulate_get(
        "/resource_providers", headers={**VERSION, **forged, "X-Auth-Token": "token-reader"}
    )
    assert answer.status_code == 403


def test_without_the_identity_service_the_answer_is_503(tmp_path: Path) -> None:
    with identity_service() as url:
        alone = with_keystone(tmp_path, url)
    assert get(alone, "/resource_providers", "token-admin").status_code == 503


# -- CORS -----------------------------------------------------------------------------------


def preflight(at: falcon.testing.TestClient) -> Any:
    return at.simulate_options(
        "/resource_providers",
        headers={"Origin": ORIGIN, "Access-Control-Request-Method": "GET"},
    )


def test_a_preflight_is_answered_without_a_token(tmp_path: Path) -> None:
    answer = preflight(client(tmp_path, cors={"allowed_origin": [ORIGIN]}))
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["access-control-allow-methods"] == "GET"
    assert answer.headers["access-control-max-age"] == "3600"
    assert answer.headers["x-openstack-request-id"].startswith("req-")


def test_answers_to_an_allowed_origin_say_so(tmp_path: Path) -> None:
    at = client(tmp_path, cors={"allowed_origin": [ORIGIN]})
    headers = {**VERSION, "X-Auth-Token": "admin", "Origin": ORIGIN}
    answer = at.simulate_get("/resource_providers", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["vary"] == "openstack-api-version,Origin"
    assert answer.headers["access-control-expose-headers"].split(",") == [
        "X-Auth-Token",
        "X-Openstack-Request-Id",
        "X-Subject-Token",
        "X-Service-Token",
        "OpenStack-API-Version",
    ]


def test_another_origin_is_not_allowed(tmp_path: Path) -> None:
    at = client(tmp_path, cors={"allowed_origin": ["https://other.example.org"]})
    assert "access-control-allow-origin" not in preflight(at).headers


def test_without_configuration_there_is_no_cors(tmp_path: Path) -> None:
    answer = preflight(client(tmp_path))
    assert answer.status_code == 401
    assert "access-control-allow-origin" not in answer.headers


# -- proxies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trusted", "location"),
    [(True, "https://cloud.example.org/"), (False, "http://falconframework.org/")],
)
def test_the_headers_of_a_proxy_count_only_when_it_is_trusted(
    tmp_path: Path, trusted: bool, location: str
) -> None:
    at = client(tmp_path, oslo_middleware={"enable_proxy_headers_parsing": trusted})
    answer = at.simulate_put(
        "/traits/CUSTOM_T",
        headers={
            **VERSION,
            "X-Auth-Token": "admin",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "cloud.example.org",
        },
    )
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{location}traits/CUSTOM_T"
