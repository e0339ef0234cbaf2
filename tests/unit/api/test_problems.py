"""Errors as HTTP: the status and the envelope of each, and details hidden from clients."""

import logging
from collections.abc import Iterator
from typing import Any

import falcon
import falcon.testing
import pytest

from placement import errors
from placement.api import problems
from placement.api.history import LATEST, Microversion, v

NEWER, OLDER = v("1.23"), v("1.22")


def descendants(kind: type[errors.PlacementError]) -> Iterator[type[errors.PlacementError]]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


class Raising:
    """A resource that fails in the selected way."""

    error: Exception

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        raise self.error


class Stamp:
    """The attributes that earlier stages set on a request."""

    version: Microversion | None = LATEST

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        req.context.request_id = "req-1"
        if self.version is not None:
            req.context.version = self.version


@pytest.fixture
def stamp() -> Stamp:
    return Stamp()


@pytest.fixture
def resource() -> Raising:
    return Raising()


@pytest.fixture
def client(resource: Raising, stamp: Stamp) -> falcon.testing.TestClient:
    app = falcon.App(middleware=[stamp])
    problems.register(app)
    app.add_route("/there", resource)
    return falcon.testing.TestClient(app)


def error(client: falcon.testing.TestClient, status: int, path: str = "/there") -> dict[str, Any]:
    answer = client.simulate_get(path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    (found,) = answer.json["errors"]
    assert found["status"] == status
    return dict(found)


@pytest.mark.parametrize("kind", [*descendants(errors.PlacementError)])
def test_every_error_of_the_domain_has_one_status(kind: type[errors.PlacementError]) -> None:
    statuses = [problems.STATUS[each] for each in kind.__mro__ if each in problems.STATUS]
    if statuses:
        assert len(statuses) == 1
    else:
        assert issubclass(kind, errors.ConfigurationError), "no request may meet it"


@pytest.mark.parametrize(
    ("raised", "status", "title"),
    [
        (errors.NotFound("no such host"), 404, "Not Found"),
        (errors.BadQuery("limit: 0"), 400, "Bad Request"),
        (errors.Conflict("somebody was faster"), 409, "Conflict"),
        (errors.Unavailable("later"), 503, "Service Unavailable"),
        (problems.RequestRefused(413, "too much"), 413, "Content Too Large"),
        (problems.RequestRefused(414, "too long"), 414, "URI Too Long"),
    ],
)
def test_errors_have_one_envelope(
    client: falcon.testing.TestClient, resource: Raising, raised: Exception, status: int, title: str
) -> None:
    resource.error = raised
    found = error(client, status)
    assert found.pop("code")
    assert found == {
        "status": status, "title": title, "detail": str(raised), "request_id": "req-1"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "code"),
    [("1.39", "placement.undefined_code"), ("2.0", "placement.outcome_unknown")],
)
def test_answers_with_503_have_codes_of_their_own_since_the_second_line(
    client: falcon.testing.TestClient, resource: Raising, stamp: Stamp, version: str, code: str
) -> None:
    stamp.version = v(version)
    resource.error = errors.OutcomeUnknown()
    assert error(client, 503)["code"] == code


@pytest.mark.parametrize(("version", "has_code"), [(NEWER, True), (OLDER, False), (None, False)])
def test_codes_are_returned_at_versions_that_have_them(
    client: falcon.testing.TestClient,
    resource: Raising,
    stamp: Stamp,
    version: Microversion | None,
    has_code: bool,
) -> None:
    stamp.version = version
    resource.error = errors.Conflict("somebody was faster")
    assert ("code" in error(client, 409)) == has_code


def test_a_long_detail_is_cut(client: falcon.testing.TestClient, resource: Raising) -> None:
    resource.error = errors.BadBody("x" * (problems.MAX_DETAIL + 1))
    assert error(client, 400)["detail"] == "x" * problems.MAX_DETAIL + "…"
    resource.error = errors.BadBody("x" * problems.MAX_DETAIL)
    assert error(client, 400)["detail"] == "x" * problems.MAX_DETAIL


def test_a_refusal_has_headers_and_members_of_its_own(
    client: falcon.testing.TestClient, resource: Raising
) -> None:
    resource.error = problems.RequestRefused(
        406, "no such version", headers={"X-Max": "1.39"}, members={"max_version": "1.39"}
    )
    assert client.simulate_get("/there").headers["x-max"] == "1.39"
    assert error(client, 406)["max_version"] == "1.39"


@pytest.mark.parametrize(("seconds", "header"), [(3, "3"), (None, None)])
def test_when_to_come_back_is_said_where_that_helps(
    client: falcon.testing.TestClient,
    resource: Raising,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int | None,
    header: str | None,
) -> None:
    resource.error = errors.Unavailable("later")
    monkeypatch.setattr(resource.error, "retry_after", seconds, raising=False)
    assert client.simulate_get("/there").headers.get("retry-after") == header


def test_an_unknown_error_is_internal_and_only_logged(
    client: falcon.testing.TestClient, resource: Raising, caplog: pytest.LogCaptureFixture
) -> None:
    resource.error = KeyError("password")
    with caplog.at_level(logging.ERROR):
        found = error(client, 500)
    assert found["detail"] == problems.FAULT
    assert "password" not in str(found)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is resource.error


def test_what_falcon_refuses_has_the_same_envelope(client: falcon.testing.TestClient) -> None:
    assert error(client, 404, "/nowhere")["detail"] == "No resource at /nowhere"
