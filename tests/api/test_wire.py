"""Requests that correct clients do not send, and effects that are visible only on the server."""

import io
import re
import sys
import urllib.parse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import falcon.testing
import orjson
import pytest

from placement.api import body_stream
from placement.api.history import HISTORY, LATEST
from placement.api.routes import OPERATIONS, ROUTES, Route
from placement.db.engine import Database
from placement.entry import app
from tests.kit import service as kit
from tests.kit.builders import make_app, make_database
from tests.kit.engines import ENGINE

HEADERS = {**kit.HEADERS, "Content-Type": "application/json"}

HOST = "10000000-0000-4000-8000-000000000001"
MEMBERS = {
    "name", "uuid", "traits", "aggregates", "inventories", "allocations", "mappings", HOST,
    "resource_provider_generation", "consumer_generation", "project_id", "total",
}  # fmt: skip


@pytest.fixture
def client(tmp_path: Path) -> falcon.testing.TestClient:
    application = make_app(tmp_path, placement={"max_request_body_size": 200})
    return falcon.testing.TestClient(application)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> falcon.testing.TestClient:
    client = falcon.testing.TestClient(make_app(tmp_path_factory.mktemp("wire")))
    client.simulate_post("/resource_providers", json={"name": "h", "uuid": HOST}, headers=HEADERS)
    return client


@pytest.mark.parametrize("host", ["\x02", "a b", "a\x1b[31m", "<a>", "a/b", "\xe9", "a\tb"])
def test_a_host_that_is_none_is_refused_and_changes_nothing(
    service: falcon.testing.TestClient, host: str
) -> None:
    """`Location` would contain the host, and no proxy sends such a header."""
    environ = falcon.testing.create_environ(
        "/traits/CUSTOM_HOSTLESS", method="PUT", headers={**HEADERS, "Accept": "*/*"}
    )
    environ["HTTP_HOST"] = host
    started = falcon.testing.StartResponseMock()
    body = b"".join(service.app(environ, started))
    assert started.status == "400 Bad Request"
    assert b"Host: " in body
    answer = service.simulate_get("/traits/CUSTOM_HOSTLESS", headers=HEADERS)
    assert answer.status_code == 404


@pytest.mark.parametrize("host", ["localhost", "placement.example.org:8778", "[::1]:8778", ""])
def test_the_location_contains_the_host(service: falcon.testing.TestClient, host: str) -> None:
    environ = falcon.testing.create_environ("/traits/CUSTOM_HOSTED", method="PUT", headers=HEADERS)
    environ["HTTP_HOST"] = host
    started = falcon.testing.StartResponseMock()
    service.app(environ, started)
    assert started.headers_dict["location"] == f"http://{host}/traits/CUSTOM_HOSTED"


def _named(value: Route) -> str:
    return f"{value.method} {value.path}"


def _latest(route: Route) -> object:
    """The last version of the route."""
    served = OPERATIONS[route.path][route.method]
    return max(each for each in HISTORY if each >= served.since and served.at(each) is route)


def error(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    (member,) = answer.json["errors"]
    assert member["status"] == status
    assert member["request_id"] == answer.headers["x-openstack-request-id"]
    return str(member["detail"])


def test_a_body_that_is_too_large_is_refused(client: falcon.testing.TestClient) -> None:
    answer = client.simulate_post(
        "/resource_providers", body=b'{"name": "%s"}' % (b"x" * 300), headers=HEADERS
    )
    assert "200 bytes" in error(answer, 413)
    assert answer.json["errors"][0]["title"] == "Content Too Large"


def test_a_body_of_the_largest_size_is_read(client: falcon.testing.TestClient) -> None:
    body = b'{"name": "x"}'
    for length, status in ((200, 200), (201, 413)):
        answer = client.simulate_post(
            "/resource_providers", body=body.ljust(length), headers=HEADERS
        )
        assert answer.status_code == status, answer.text


def test_a_chunked_body_is_read_and_bounded(client: falcon.testing.TestClient) -> None:
    for name, status in (("short", 200), ("x" * 300, 413)):
        answer = client.simulate_post(
            "/resource_providers",
            headers=HEADERS,
            extras={
                "wsgi.input": io.BytesIO(orjson.dumps({"name": name})),
                "wsgi.input_terminated": True,
            },
        )
        assert answer.status_code == status


def test_a_chunked_body_within_uwsgi_is_read_and_bounded(
    client: falcon.testing.TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, status in (("chunks", 200), ("x" * 300, 413)):
        chunks = [b'{"name": "', name.encode(), b'"}', b""]
        server = SimpleNamespace(chunked_read=lambda chunks=chunks: chunks.pop(0))
        monkeypatch.setitem(sys.modules, "uwsgi", server)
        answer = client.simulate_post(
            "/resource_providers",
            headers={**HEADERS, "Transfer-Encoding": "chunked"},
            extras={"uwsgi.version": b"2.0"},
        )
        assert answer.status_code == status


def test_a_body_that_takes_too_long_to_read_is_refused(
    client: falcon.testing.TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body_stream, "MAX_READING_SECONDS", -1)
    answer = client.simulate_post("/resource_providers", body=b'{"name": "x"}', headers=HEADERS)
    assert "are too small" in error(answer, 400)


def test_a_body_shorter_than_its_stated_length_is_refused(
    client: falcon.testing.TestClient,
) -> None:
    answer = client.simulate_post(
        "/resource_providers",
        headers={**HEADERS, "Content-Length": "30"},
        extras={"wsgi.input": io.BytesIO(b'{"name": "x"}')},
    )
    assert "13 bytes, and Content-Length says 30" in error(answer, 400)


@pytest.mark.parametrize("failure", [OSError("gone"), ValueError("-2"), EOFError(), KeyError("x")])
def test_a_body_that_cannot_be_read_is_the_fault_of_the_client(
    client: falcon.testing.TestClient, failure: Exception
) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise failure

    for more in ({"wsgi.input_terminated": True}, {"CONTENT_LENGTH": "30"}):
        answer = client.simulate_post(
            "/resource_providers", headers=HEADERS, extras={"wsgi.input": Broken(), **more}
        )
        assert "the body cannot be read" in error(answer, 400)


# By some engine, or in any name.
UNHEARD_OF = ("A%00", "%00", "%F0%9F%98%80", "A%01", "A%0a", "%0a")
IN_PATHS = [route for route in ROUTES if "{" in route.path]


@pytest.mark.parametrize("route", IN_PATHS, ids=_named)
@pytest.mark.parametrize("text", [*UNHEARD_OF, "%ff", "%e2%80%a8"])
def test_a_text_in_a_path_that_nothing_is_called_is_400_or_404(
    service: falcon.testing.TestClient, route: Route, text: str
) -> None:
    names = re.findall("{(\\w+)}", route.path)
    usual = {"uuid": HOST, "consumer": HOST, "resource_class": "VCPU", "name": "CUSTOM_A"}
    body = b"{}" if route.body_schema else None
    headers = {**HEADERS, "OpenStack-API-Version": f"placement {_latest(route)}"}

    def segment(match: re.Match[str]) -> str:
        return text if match[1] == name else usual[match[1]]

    for name in names:
        path = re.sub(r"{(\w+)}", segment, route.path)
        raw = falcon.testing.create_environ(method=route.method, body=body or b"", headers=headers)
        raw["PATH_INFO"] = urllib.parse.unquote(path, "latin-1")
        answer = falcon.testing.StartResponseMock()
        content = b"".join(service.app(raw, answer))
        if (route.method, route.path) == (
            "GET",
            "/allocations/{consumer}",
        ) and text not in UNHEARD_OF:
            assert str(answer.status).startswith("200")
            continue
        assert str(answer.status)[:3] in {"400", "404"}, content
        if text in UNHEARD_OF:
            assert str(answer.status).startswith("400")
            assert orjson.loads(content)["errors"][0]["detail"].startswith(f"{name}: ")


def test_a_path_and_query_beyond_64_kib_are_refused(client: falcon.testing.TestClient) -> None:
    path, query = "/resource_providers", "name="
    longest = query.ljust(65536 - len(path), "x")
    assert client.simulate_get(path, query_string=longest, headers=HEADERS).status_code == 200
    answer = client.simulate_get(path, query_string=f"{longest}x", headers=HEADERS)
    assert "65536" in error(answer, 414)


def test_a_body_without_a_type_is_refused_even_where_none_is_read(
    client: falcon.testing.TestClient,
) -> None:
    for method, path in (("POST", "/resource_classes"), ("PUT", "/traits/CUSTOM_A")):
        answer = client.simulate_request(method, path, body="{}", headers=kit.HEADERS)
        assert "Content-Type" in error(answer, 400)


@pytest.mark.parametrize("length", ["x", "-1", "1.5"])
def test_a_length_that_is_no_number_is_refused(tmp_path: Path, length: str) -> None:
    application = make_app(tmp_path)
    environ = falcon.testing.create_environ("/resource_providers", method="POST", headers=HEADERS)
    answer = falcon.testing.StartResponseMock()
    (body,) = application({**environ, "CONTENT_LENGTH": length}, answer)
    assert str(answer.status).startswith("400")
    assert "Content-Length" in orjson.loads(body)["errors"][0]["detail"]


def test_a_body_without_a_type_is_refused_wherever_it_is_sent(
    client: falcon.testing.TestClient,
) -> None:
    headers = {key: value for key, value in HEADERS.items() if key != "Content-Type"}
    for path in ("/resource_providers", "/nothing"):
        answer = client.simulate_post(path, body=b"{}", headers=headers)
        assert "Content-Type" in error(answer, 400)


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b'{"name": "\xff"}', b"[" * 100_000, b'{"name": 1e999}', b"\x00"]
)
def test_bytes_that_are_no_json_are_refused(tmp_path: Path, body: bytes) -> None:
    client = falcon.testing.TestClient(make_app(tmp_path))
    assert error(client.simulate_post("/resource_providers", body=body, headers=HEADERS), 400)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.body_schema], ids=_named)
@pytest.mark.parametrize("member", ["", *sorted(MEMBERS)])
def test_deep_and_mixed_members_are_refused_wherever_a_body_is_taken(
    service: falcon.testing.TestClient, route: Route, member: str
) -> None:
    version = _latest(route)
    headers = {
        **HEADERS, "X-Roles": "admin,service", "OpenStack-API-Version": f"placement {version}"
    }  # fmt: skip
    path = route.path.format(
        uuid=HOST, root=HOST, consumer=HOST, resource_class="VCPU", name="CUSTOM_A"
    )
    lists, objects = "[" * 980 + "1" + "]" * 980, '{"a":' * 300 + "1" + "}" * 300
    for value in (lists, f"[{objects},{objects}]", "[1,true,1.0,{},[],null]"):
        raw = f'{{"{member}":{value}}}' if member else value
        answer = service.simulate_request(route.method, path, body=raw, headers=headers)
        assert error(answer, 400)


def test_a_query_that_is_not_utf_8_is_refused(client: falcon.testing.TestClient) -> None:
    answer = client.simulate_get("/resource_providers", query_string="name=%ff", headers=HEADERS)
    assert "UTF-8" in error(answer, 400)


def test_a_query_is_not_looked_at_where_there_are_no_parameters(
    client: falcon.testing.TestClient,
) -> None:
    for path in ("/", "/resource_classes", "/traits/HW_CPU_X86_AVX2"):
        answer = client.simulate_get(path, query_string="name=%ff&x=%00", headers=HEADERS)
        assert answer.status_code < 300


def test_a_forbidden_caller_gets_no_details_of_an_invalid_request(
    client: falcon.testing.TestClient,
) -> None:
    headers = {**HEADERS, "X-Roles": "member"}
    for path in ("/resource_providers", "/usages"):
        answer = client.simulate_get(path, query_string="name=%ff", headers=headers)
        assert error(answer, 403)


def test_links_and_locations_carry_the_prefix_that_the_service_is_mounted_at(
    client: falcon.testing.TestClient,
) -> None:
    answer = client.simulate_post(
        "/resource_providers", root_path="/placement", json={"name": "n"}, headers=HEADERS
    )
    path = f"/placement/resource_providers/{answer.json['uuid']}"
    assert answer.json["links"][0]["href"] == path
    assert answer.headers["location"] == f"http://falconframework.org{path}"


def test_an_internal_error_is_reported_without_its_text(
    client: falcon.testing.TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Database) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(Database, "read_trees", fail)
    answer = client.simulate_get("/resource_providers", headers=HEADERS)
    assert "secret" not in error(answer, 500)
    assert answer.headers["openstack-api-version"] == f"placement {LATEST}"


@pytest.mark.skipif(ENGINE != "sqlite", reason="this one is about a file")
def test_a_database_that_is_gone_is_503_and_back_again_without_a_restart(tmp_path: Path) -> None:
    settings, database = make_database(tmp_path)
    path = Path(settings.database.connection.removeprefix("sqlite:///"))
    client = falcon.testing.TestClient(app.create_app(settings, database))
    assert client.simulate_get("/healthcheck").status_code == 200
    database.dispose()
    path.rename(tmp_path / "away")
    path.mkdir()
    for method, where in (("GET", "/healthcheck"), ("GET", "/traits"), ("PUT", "/traits/CUSTOM_A")):
        answer = client.simulate_request(method, where, headers=HEADERS)
        assert error(answer, 503)
        assert answer.headers["retry-after"] == "1"
    path.rmdir()
    (tmp_path / "away").rename(path)
    assert client.simulate_put("/traits/CUSTOM_A", headers=HEADERS).status_code == 201
