"""The layers around the application: CORS, the headers of a proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import falcon.testing
import pytest

from placement.api import wsgi_stack
from placement.api.history import LATEST
from tests.kit.builders import make_app, settings

VERSION = {"OpenStack-API-Version": f"placement {LATEST}"}
ORIGIN = "https://dashboard.example.org"


def client(tmp_path: Path, **overrides: dict[str, Any]) -> falcon.testing.TestClient:
    return falcon.testing.TestClient(make_app(tmp_path, **overrides))


# -- CORS -----------------------------------------------------------------------------------


def preflight(at: falcon.testing.TestClient) -> Any:
    return at.simulate_options(
        "/resource_providers", headers={"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
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
        "Placement-Dry-Run",
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


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("X-Forwarded-Proto", "javascript", 400),
        ("Forwarded", "proto=ftp;host=a", 400),
        ("X-Forwarded-Prefix", "//evil.example.org", 400),
        ("X-Forwarded-Prefix", "/a b", 400),
        ("X-Forwarded-Prefix", "placement", 400),
        ("X-Forwarded-Prefix", "/cloud/placement-1", 201),
        ("Forwarded", 'for=192.0.2.60;proto="HTTPS"', 201),
    ],
)
def test_headers_of_a_proxy_of_which_no_link_can_be_made_are_refused(
    tmp_path: Path, header: str, value: str, status: int
) -> None:
    at = client(tmp_path, oslo_middleware={"enable_proxy_headers_parsing": True})
    headers = {**VERSION, "X-Auth-Token": "admin", header: value}
    answer = at.simulate_put("/traits/CUSTOM_T", headers=headers)
    assert answer.status_code == status
    if status == 400:
        assert answer.json["errors"][0]["detail"].startswith((f"{header}:", "X-Forwarded-Proto or"))
    else:
        prefix = value if header == "X-Forwarded-Prefix" else ""
        scheme = "https" if header == "Forwarded" else "http"
        assert answer.headers["location"].startswith(f"{scheme}://")
        assert answer.headers["location"].endswith(f"{prefix}/traits/CUSTOM_T")


# -- the explorer ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "option", "shown"),
    [
        ("noauth2", {}, True),
        ("noauth2", {"enabled": False}, False),
        ("keystone", {}, False),
        ("keystone", {"enabled": True}, True),
    ],
)
def test_the_explorer_is_shown_where_it_is_enabled_or_nothing_is_guarded(
    tmp_path: Path, strategy: str, option: dict[str, Any], shown: bool
) -> None:
    groups = {"api": {"auth_strategy": strategy}, "explorer": option}
    assert wsgi_stack.shows_explorer(settings(f"sqlite:///{tmp_path}/x.db", **groups).conf) is shown


def test_the_explorer_needs_no_token(tmp_path: Path) -> None:
    assert client(tmp_path).simulate_get("/explorer/").status_code == 200
    assert (
        client(tmp_path, explorer={"enabled": False}).simulate_get("/explorer/").status_code == 401
    )


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/explorer/nothing", 404), ("POST", "/explorer/", 405)]
)
def test_errors_below_the_explorer_are_json_where_the_client_names_it(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    service = client(tmp_path)
    answer = service.simulate_request(method, path, headers={"Accept": "application/json"})
    assert answer.status_code == status
    (error,) = answer.json["errors"]
    assert (error["status"], error["request_id"]) == (
        status,
        answer.headers["x-openstack-request-id"],
    )
    assert answer.headers.get("allow") == ("GET, HEAD" if status == 405 else None)
    page = service.simulate_request(method, path, headers={"Accept": "text/html,*/*"})
    assert (page.status_code, page.content) == (status, b"")
