"""An identity service with a few tokens, for tests of `auth_strategy = keystone`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import falcon.testing

from placement import config
from placement.entry import app
from tests.kit.builders import make_database
from tests.kit.listener import listening

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

SERVICE_TOKEN = "token-of-the-service"


def _token(*roles: str, **scope: Any) -> Any:
    user = {"id": "u", "name": "u", "domain": DOMAIN}
    return {
        "token": {
            "methods": ["password"],
            "issued_at": "2020-01-01T00:00:00.000000Z",
            "expires_at": "2100-01-01T00:00:00.000000Z",
            "user": user,
            "roles": [{"id": role, "name": role} for role in roles],
            **scope,
        }
    }


DOMAIN = {"id": "default", "name": "Default"}
PROJECT = {"project": {"id": "p", "name": "p", "domain": DOMAIN}}

TOKENS = {
    SERVICE_TOKEN: _token("service", **PROJECT),
    "token-admin": _token("admin", "member", "reader", **PROJECT),
    "token-reader": _token("reader", **PROJECT),
    "token-system": _token("admin", system={"all": True}),
    "token-domain": _token("admin", domain=DOMAIN),
}


def identity(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Respond as the identity service."""
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    headers = [("Content-Type", "application/json")]
    status = "200 OK"
    url = f"http://{environ['HTTP_HOST']}"
    if path.rstrip("/") not in {"", "/v3", "/v3/auth/tokens"}:
        start_response("404 Not Found", headers)
        return [b"{}"]
    body: object
    if path.endswith("tokens"):
        name = environ.get("HTTP_X_SUBJECT_TOKEN") if method == "GET" else SERVICE_TOKEN
        if method == "POST":
            status = "201 Created"
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        headers.append(("X-Subject-Token", name or ""))
        if name not in TOKENS:
            start_response("404 Not Found", headers)
            return [b"{}"]
        endpoint = {
            "id": "e",
            "interface": "internal",
            "region_id": "RegionOne",
            "region": "RegionOne",
            "url": f"{url}/v3",
        }
        catalog = {"id": "s", "type": "identity", "name": "keystone", "endpoints": [endpoint]}
        body = {"token": {**TOKENS[name]["token"], "catalog": [catalog]}}
    else:
        status = "300 Multiple Choices" if path in {"", "/"} else status
        link = {"rel": "self", "href": f"{url}/v3/"}
        version = {"id": "v3.14", "status": "stable", "links": [link]}
        body = {"version": version} if "v3" in path else {"versions": {"values": [version]}}
    start_response(status, headers)
    return [json.dumps(body).encode()]


def with_keystone(
    tmp_path: Path, url: str, policy: str = "", **options: str
) -> falcon.testing.TestClient:
    """Return a service that uses the identity service.

    `options`: options of `[keystone_authtoken]`.
    """
    settings, database = make_database(tmp_path)
    (tmp_path / "placement.conf").write_text(
        f"""
        [placement_database]
        connection = {settings.database.connection}
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
        + "".join(f"{name} = {value}\n" for name, value in options.items())
    )
    (tmp_path / "policy.yaml").write_text(policy)
    conf = config.options()
    config.parse(conf, [], [str(tmp_path / "placement.conf")])
    return falcon.testing.TestClient(app.create_app(config.settings(conf), database))


@contextmanager
def identity_service() -> Iterator[str]:
    """Serve until the block ends. Yield the URL."""
    with listening(identity) as url:
        yield url
