"""Authentication: noauth2, the identity service, and rejected callers."""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from keystoneauth1.exceptions import UnknownConnectionError
from keystonemiddleware.auth_token import AuthProtocol
from keystonemiddleware.opts import list_auth_token_opts

from placement.api import authentication
from placement.api.history import LATEST
from placement.errors import ConfigurationError
from tests.api.identity import SERVICE_TOKEN, TOKENS, identity, identity_service, with_keystone
from tests.kit.builders import make_app
from tests.kit.listener import listening

VERSION = {"OpenStack-API-Version": f"placement {LATEST}"}


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
        [error] = answer.json["errors"]
        assert (error["status"], error["title"]) == (401, "Unauthorized")
        assert ("send a token" if token is None else "get a new one") in error["detail"]
        assert answer.headers["x-openstack-request-id"] == error["request_id"]
        assert "openstack-api-version" not in answer.headers


def test_keystone_asks_before_paths_and_versions_are_looked_at(guarded: Any) -> None:
    assert get(guarded, "/nowhere").status_code == 401
    answer = guarded.simulate_get(
        "/resource_providers", headers={"OpenStack-API-Version": "placement x"}
    )
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/", "/healthcheck", "/openapi.json"])
def test_public_paths_need_no_token(guarded: Any, path: str) -> None:
    assert get(guarded, path).status_code == 200


def status_of_the_mount_point(at: falcon.testing.TestClient) -> str:
    """Return the status of `GET` of the prefix itself, which results in an empty path."""
    environ = falcon.testing.create_environ("/", root_path="/placement")
    environ["PATH_INFO"] = ""
    started = falcon.testing.StartResponseMock()
    at.app(environ, started)
    return started.status or ""


def test_an_empty_path_behind_a_prefix_needs_a_token_without_keystone_only(
    guarded: Any, tmp_path: Path
) -> None:
    assert status_of_the_mount_point(guarded) == "200 OK"
    assert (
        status_of_the_mount_point(falcon.testing.TestClient(make_app(tmp_path)))
        == "401 Unauthorized"
    )


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


def test_a_decision_is_never_delayed(tmp_path: Path) -> None:
    open_to_all = '"placement:traits:list": "@"\n'
    with identity_service() as url:
        lax = with_keystone(tmp_path, url, open_to_all, delay_auth_decision="true")
        for token in (None, "token-nobody-knows"):
            answer = get(lax, "/traits", token)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith(f'Keystone uri="{url}')
        assert get(lax, "/traits", "token-reader").status_code == 200
    assert get(lax, "/traits", "token-not-seen-before").status_code == 503


def test_an_identity_service_that_does_not_respond_is_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "TIMEOUT", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        service = with_keystone(tmp_path, url)
        assert get(service, "/resource_providers", "token-admin").status_code == 503
        slower = with_keystone(tmp_path, url, http_connect_timeout="2")
        assert get(slower, "/resource_providers", "token-admin").status_code == 503


@pytest.mark.parametrize("accept", [None, "*/*", "text/html", "application/json"])
def test_without_the_identity_service_the_answer_is_503_as_json(
    tmp_path: Path, accept: str | None
) -> None:
    with identity_service() as url:
        alone = with_keystone(tmp_path, url)
    headers = {"X-Auth-Token": "token-admin", **({"Accept": accept} if accept else {})}
    answer = alone.simulate_get("/resource_providers", headers=headers)
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["retry-after"] == "1"
    [error] = answer.json["errors"]
    assert error["status"] == 503
    assert error["title"] == "Service Unavailable"
    assert error["request_id"] == answer.headers["x-openstack-request-id"]
    assert "identity service" in error["detail"]


def test_the_time_of_the_identity_service_is_a_phase_of_slow_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OS_PLACEMENT__SLOW_REQUEST", "1e-9")
    with identity_service() as url:
        service = with_keystone(tmp_path, url)
        assert get(service, "/resource_providers", "token-admin").status_code == 200
    assert re.search(r"slow: .* authentication [0-9]+\.[0-9]{3}\b", caplog.text)


def test_what_the_identity_service_cannot_be_asked_for_is_503(
    guarded: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise UnknownConnectionError("certificate has expired", Exception())

    monkeypatch.setattr(AuthProtocol, "process_request", fail)
    assert get(guarded, "/resource_providers", "token-admin").status_code == 503
    assert "certificate has expired" in caplog.text


@pytest.mark.parametrize("part", ["tokens", ""])
@pytest.mark.parametrize(
    "body", ["<html>", "", "null", "[]", "{}", '{"token": []}', '{"token": null}', '"x"', "\xff"]
)
def test_a_response_that_is_no_token_is_no_500(tmp_path: Path, part: str, body: str) -> None:
    with listening(malformed(part, body)) as broken:
        service = with_keystone(tmp_path, broken)
        answer = get(service, "/resource_providers", "token-admin")
    assert answer.status_code in {401, 503}
    if answer.status_code == 503:
        assert answer.headers["retry-after"] == "1"
        assert "identity service" in answer.json["errors"][0]["detail"]


def malformed(part: str, body: str) -> Any:
    """Return an identity service whose responses to GETs of a part have another body."""

    def respond(environ: Any, start_response: Any) -> Any:
        path = environ["PATH_INFO"].rstrip("/")
        if environ["REQUEST_METHOD"] == "GET" and path.endswith(part):
            start_response("200 OK", [("Content-Type", "text/html")])
            return [body.encode("latin-1")]
        return identity(environ, start_response)

    return respond


def test_threads_that_wait_for_the_identity_service_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authentication, "MAX_VALIDATIONS", 2)
    monkeypatch.setattr(authentication, "PATIENCE", 0.01)
    validated, go_on = threading.Semaphore(0), threading.Event()

    def slow(environ: Any, start_response: Any) -> Any:
        if environ.get("HTTP_X_SUBJECT_TOKEN") == "token-reader":
            validated.release()
            assert go_on.wait(180)
        return identity(environ, start_response)

    with listening(slow) as url, ThreadPoolExecutor(2) as pool:
        service = with_keystone(tmp_path, url)
        assert get(service, "/resource_providers", "token-admin").status_code == 200
        waiting = [pool.submit(get, service, "/traits", "token-reader") for _ in range(2)]
        for _ in waiting:
            assert validated.acquire(timeout=180)
        refused = get(service, "/traits", "token-domain")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        # Public paths and tokens in the cache need no validation.
        assert get(service, "/").status_code == 200
        assert get(service, "/healthcheck").status_code == 200
        assert get(service, "/resource_providers", "token-admin").status_code == 200
        go_on.set()
        assert [each.result().status_code for each in waiting] == [403, 403]  # a role too few
        assert get(service, "/traits", "token-domain").status_code != 503


_OPTIONS = {option.name for _group, options in list_auth_token_opts() for option in options}
needs_tls_option = pytest.mark.skipif(
    "memcache_tls_enabled" not in _OPTIONS, reason="an option of keystonemiddleware 10.12"
)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"auth_section": "nowhere"}, "nowhere"),
        ({"auth_type": "nonsense"}, "nonsense"),
        ({"memcache_security_strategy": "MAC"}, "memcache_secret_key"),
        ({"auth_type": "v3kerberos"}, "Using the kerberos authentication plugin requires"),
        ({"auth_type": ""}, "auth_type is not set: set it to password, and set auth_url"),
        ({"http_connect_timeout": "0"}, "http_connect_timeout: 0 is less than 1"),
        ({"certfile": "/none/c.pem"}, "certfile: cannot read the file /none/c.pem"),
        ({"certfile": __file__, "keyfile": "/none/k.pem"}, "keyfile: cannot read the file"),
        ({"cafile": "/none/ca.pem"}, "cafile: cannot read the file /none/ca.pem"),
        pytest.param(
            {
                "memcached_servers": "127.0.0.1:1",
                "memcache_tls_enabled": "true",
                "memcache_tls_cafile": "/none/ca.pem",
            },
            "memcache_tls_cafile: cannot read the file /none/ca.pem",
            marks=needs_tls_option,
        ),
    ],
)
def test_options_that_cannot_be_used_are_refused_at_the_start(
    tmp_path: Path, options: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        with_keystone(tmp_path, "http://127.0.0.1:1", **options)
    assert str(refused.value).startswith("[keystone_authtoken] ")
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tokens that the middleware reads from its cache or from the identity service."""
    tokens: list[str] = []
    fetch = AuthProtocol.fetch_token

    def fetch_and_note(self: AuthProtocol, token: str, **options: Any) -> Any:
        tokens.append(token)
        return fetch(self, token, **options)

    monkeypatch.setattr(AuthProtocol, "fetch_token", fetch_and_note)
    return tokens


def test_a_process_keeps_a_validated_token_for_seconds(
    fetched: list[str], guarded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(authentication, "monotonic", lambda: now)
    for token, status in (("token-admin", 200), ("token-reader", 200), ("unknown", 401)) * 2:
        assert get(guarded, "/usages?project_id=p", token).status_code == status
    assert fetched == ["token-admin", "token-reader", "unknown", "unknown"]
    now += authentication.MAX_AGE
    assert get(guarded, "/usages?project_id=p", "token-admin").status_code == 200
    assert fetched[4:] == ["token-admin"]


def test_a_process_keeps_no_token_without_a_token_cache(fetched: list[str], tmp_path: Path) -> None:
    with identity_service() as url:
        service = with_keystone(tmp_path, url, token_cache_time="-1")
        for _ in range(2):
            assert get(service, "/traits", "token-admin").status_code == 200
    assert fetched == ["token-admin"] * 2


def test_each_request_is_compared_with_the_access_rules_of_its_token(
    fetched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [{"service": "identity", "method": "GET", "path": "/traits"}]
    token = {**TOKENS["token-admin"]["token"], "application_credential": {"access_rules": rules}}
    monkeypatch.setitem(TOKENS, "restricted", {"token": token})
    with identity_service() as url:
        service = with_keystone(tmp_path, url, service_type="identity")
        statuses = [
            get(service, path, "restricted").status_code
            for path in ("/traits", "/resource_classes", "/traits")
        ]
    assert statuses == [200, 401, 200]
    assert fetched == ["restricted"]


def test_files_that_are_not_used_may_be_missing(tmp_path: Path) -> None:
    unused = {"insecure": "true", "cafile": "/none", "memcache_tls_cafile": "/none"}
    with identity_service() as url:
        service = with_keystone(tmp_path, url, **unused)
        assert get(service, "/traits", "token-admin").status_code == 200


# -- custom policies ------------------------------------------------------------------------

CREDENTIALS = {
    "resource_providers": "user_domain_id:default",
    "resource_classes": "project_domain_id:default",
    "traits": "is_admin_project:True",
    "allocations/00000000-0000-4000-8000-000000000001": (
        "service_roles:service and service_user_id:u and service_project_id:p"
    ),
}
RULES = ("resource_providers:list", "resource_classes:list", "traits:list", "allocations:list")


def test_rules_see_all_that_the_identity_service_says(tmp_path: Path) -> None:
    checks = zip(RULES, CREDENTIALS.values(), strict=True)
    rules = "".join(f'"placement:{rule}": "{check}"\n' for rule, check in checks)
    with identity_service() as url:
        service = with_keystone(tmp_path, url, rules)
        for path in CREDENTIALS:
            headers = {"X-Service-Token": SERVICE_TOKEN, "X-Auth-Token": "token-reader", **VERSION}
            assert service.simulate_get(f"/{path}", headers=headers).status_code == 200, path
        headers.pop("X-Service-Token")
        assert service.simulate_get(f"/{path}", headers=headers).status_code == 403


# -- noauth2 --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "believed"),
    [
        ({"X-Auth-Token": "u"}, {"user_id": "u", "project_id": "u"}),
        ({"X-Auth-Token": "u:p"}, {"user_id": "u", "project_id": "p"}),
        ({"X-Auth-Token": "u:"}, {"user_id": "u", "project_id": "u"}),
        ({"X-Auth-Token": "u", "X-Project-Id": "h"}, {"user_id": "u", "project_id": "h"}),
        ({"X-Auth-Token": "u:p", "X-Project-Id": "h"}, {"user_id": "u", "project_id": "h"}),
        # The token determines the user, not the header.
        ({"X-Auth-Token": "u", "X-User-Id": "h"}, {"user_id": "u"}),
        ({"X-Auth-Token": "u", "X-User-Domain-Id": "h"}, {"user_domain_id": "h"}),
        ({"X-Auth-Token": "u", "X-Project-Domain-Id": "h"}, {"project_domain_id": "h"}),
        ({"X-Auth-Token": "u", "X-Is-Admin-Project": "False"}, {"is_admin_project": False}),
        ({"X-Auth-Token": "u", "X-Service-Roles": "h"}, {"service_roles": "h"}),
        ({"X-Auth-Token": "u", "X-Service-User-Id": "h"}, {"service_user_id": "h"}),
        ({"X-Auth-Token": "u", "OpenStack-System-Scope": ""}, {"user_id": "u"}),
        ({"X-Auth-Token": "u", "X-Domain-Id": ""}, {"user_id": "u"}),
    ],
)
def test_noauth2_believes_the_token_and_the_headers(
    tmp_path: Path, headers: dict[str, str], believed: dict[str, object]
) -> None:
    check = " and ".join(f"{name}:{value}" for name, value in believed.items())
    path = tmp_path / "policy.yaml"
    path.write_text(
        f'"placement:traits:list": "{check}"\n"placement:traits:show": "not ({check})"\n'
    )
    application = make_app(tmp_path, oslo_policy={"policy_file": str(path)})
    service = falcon.testing.TestClient(application)
    assert service.simulate_get("/traits", headers={**VERSION, **headers}).status_code == 200
    assert service.simulate_get("/traits/X", headers={**VERSION, **headers}).status_code == 403


@pytest.mark.parametrize("scope", ["X-Domain-Id", "OpenStack-System-Scope"])
def test_noauth2_believes_a_scope_that_is_no_project(tmp_path: Path, scope: str) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    headers = {"X-Auth-Token": "admin", **VERSION}
    assert service.simulate_get("/traits", headers=headers).status_code == 200
    assert service.simulate_get("/traits", headers={**headers, scope: "all"}).status_code == 403


def test_a_reader_with_noauth2_names_its_project_in_a_header(tmp_path: Path) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    headers = {"X-Auth-Token": "user", "X-Roles": "reader", "X-Project-Id": "P", **VERSION}
    for project, status in (("P", 200), ("user", 403)):
        answer = service.simulate_get(
            "/usages", query_string=f"project_id={project}", headers=headers
        )
        assert answer.status_code == status


def test_headers_make_no_caller_without_a_token(tmp_path: Path) -> None:
    service = falcon.testing.TestClient(make_app(tmp_path))
    headers = {"X-User-Id": "admin", "X-Project-Id": "p", "X-Roles": "admin", **VERSION}
    answer = service.simulate_get("/traits", headers=headers)
    assert answer.status_code == 401
    assert answer.json["errors"][0]["request_id"] == answer.headers["x-openstack-request-id"]


# -- the token cache ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "options"),
    [
        ("memcache", {}),
        ("bmemcached", {"memcache_sasl_enabled": "true"}),
        pytest.param("bmemcached", {"memcache_tls_enabled": "true"}, marks=needs_tls_option),
        ("memcache", {"memcache_tls_enabled": "true", "memcache_use_advanced_pool": "false"}),
        (
            "cryptography",
            {"memcache_security_strategy": "encrypt", "memcache_secret_key": "secret"},
        ),
    ],
)
def test_a_token_cache_without_its_library_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, options: dict[str, str]
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with (
        identity_service() as url,
        pytest.raises(ConfigurationError, match=rf"\b{library} .*falcon-placement\[memcached\]"),
    ):
        with_keystone(tmp_path, url, memcached_servers="127.0.0.1:1", **options)


# The library leaves a socket that could not connect to the garbage collector.
@pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("strategy", ["None", "MAC", "ENCRYPT"])
def test_a_token_cache_that_is_down_does_not_stop_the_service(
    tmp_path: Path, strategy: str
) -> None:
    options = {"memcache_security_strategy": strategy, "memcache_secret_key": "secret"}
    with identity_service() as url:
        service = with_keystone(tmp_path, url, memcached_servers="127.0.0.1:1", **options)
        for _ in range(2):
            assert get(service, "/traits", "token-admin").status_code == 200
