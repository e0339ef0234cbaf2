"""Errors as HTTP: the status and the envelope of each, and details hidden from clients."""

import logging
from collections.abc import Iterator
from typing import Any

import falcon
import falcon.testing
import pytest

from placement import errors
from placement.api import problems
from placement.api.history import LATEST, Microversion


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


def test_a_long_detail_is_cut(client: falcon.testing.TestClient, resource: Raising) -> None:
    resource.error = errors.BadBody("x" * (problems.MAX_DETAIL + 1))
    assert error(client, 400)["detail"] == "x" * problems.MAX_DETAIL + "…"
    resource.error = errors.BadBody("x" * problems.MAX_DETAIL)
    assert error(client, 400)["detail"] == "x" * problems.MAX_DETAIL


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
