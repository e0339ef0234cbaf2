"""The client of the REST API: pages, conflicts, servers that are busy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from keystoneauth1.session import Session
from keystoneauth1.token_endpoint import Token

from falcon_placement_client import identity
from falcon_placement_client.command_client import LostError, RestClient
from falcon_placement_client.errors import (
    ClientError,
    RefusedError,
    ReshapeFailed,
    RestError,
    ServiceTooOld,
)
from falcon_placement_client.rest import RestApi, Version, retry
from tests.kit.listener import listening

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

CONFLICT = RefusedError("PUT /", 409, "placement.concurrent_update", "")


class Server:
    """Answers requests with these statuses, the last one again and again."""

    def __init__(self, *statuses: str, location: str = "") -> None:
        self.statuses = list(statuses)
        self.location = location
        self.seen: list[str] = []

    def __call__(self, environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        self.seen.append(environ["PATH_INFO"])
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        respond(status, [("Content-Type", "application/json"), ("Location", self.location)])
        return [b"{}"]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "RETRY_SECONDS", 0.001)


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable", "504 Late"])
def test_a_server_that_is_busy_for_a_moment_is_asked_again(status: str) -> None:
    server = Server(status, status, "200 OK")
    with listening(server) as url:
        assert RestClient(url, "admin").get("/x") == {}
    assert len(server.seen) == 3


def test_a_server_that_stays_busy_has_refused() -> None:
    server = Server("503 Service Unavailable")
    with listening(server) as url, pytest.raises(RefusedError, match="refused with 503"):
        RestClient(url, "admin").get("/x")
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_is_not_sent_to_the_server_of_a_redirection(status: int) -> None:
    other = Server("200 OK")
    with listening(other) as elsewhere:
        server = Server(f"{status} Moved", location=f"{elsewhere}/x")
        with listening(server) as url:
            adapter = identity.adapter_of(Session(Token(url, "secret")))
            for api in (RestClient(url, "secret"), RestClient(None, adapter), RestApi(adapter)):
                refused = f"with {status}: Moved to {elsewhere}/x; redirections are not followed"
                with pytest.raises(RefusedError, match=refused):
                    api.get("/x", (1, 39))
            RestClient(None, adapter).wait(0)
    assert (len(server.seen), other.seen) == (4, [])


def test_only_a_server_that_has_answered_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(Server("200 OK")) as url:
        client = RestClient(url, "admin")
        client.get("/x")
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    with pytest.raises(LostError, match=r"at GET /x: connection refused"):
        client.get("/x")
    assert len(pauses) == identity.RETRIES
    with pytest.raises(RestError, match=r"cannot reach .*: connection refused"):
        RestClient(url, "admin").get("/x")
    assert len(pauses) == identity.RETRIES


def pages(count: int, size: int) -> Iterator[Any]:
    """The answers to requests for the pages of a list."""
    for start in range(0, count, size):
        body: dict[str, Any] = {
            "resource_providers": [{"uuid": str(n)} for n in range(start, min(start + size, count))]
        }
        if start + size < count:
            body["resource_providers_links"] = [{"rel": "next"}]
        yield mock.Mock(status_code=200, json=lambda body=body: body)


@pytest.mark.parametrize(
    ("count", "markers"), [(1, [""]), (2, [""]), (5, ["", "&marker=1", "&marker=3"])]
)
def test_all_pages_of_a_list_are_read(count: int, markers: list[str]) -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = pages(count, 2)
    listed = RestApi(adapter).pages("limit=2", (2, 0))
    assert [entry["uuid"] for entry in listed] == [str(n) for n in range(count)]
    paths = [call.args[0] for call in adapter.request.call_args_list]
    assert paths == [f"/resource_providers?limit=2{marker}" for marker in markers]


def versions(*lines: str, newest: str = "1.39") -> Any:
    """The answer of a service that speaks versions up to 1.39 and these lines of versions."""
    listed = [{"id": line, "max_version": newest} for line in ("v1.0", *lines)]
    return mock.Mock(status_code=200, json=lambda: {"versions": listed})


@pytest.mark.parametrize(
    ("at_most", "seen"),
    [((2, 0), ["placement 2.0", "placement 1.0"]), ((1, 38), ["placement 1.0"])],
)
def test_2_0_is_found_by_a_request_at_2_0_alone(at_most: Version, seen: list[str]) -> None:
    stated: list[str] = []

    def application(environ: WSGIEnvironment, respond: StartResponse) -> Iterable[bytes]:
        stated.append(environ["HTTP_OPENSTACK_API_VERSION"])
        is_refused = stated[-1] == "placement 2.0"
        respond("406 Not Acceptable" if is_refused else "200 OK", [])
        return [] if is_refused else [b'{"versions": [{"id": "v1.0", "max_version": "1.39"}]}']

    newest = min(at_most, (1, 39))
    with listening(application) as url:
        assert RestClient(url, "admin", None, at_most).version == newest
        assert stated == seen
        stated.clear()
        assert RestClient(url, "admin", (1, 36), at_most).newest == newest
        assert stated == seen


def test_the_newest_version_to_use_holds_for_a_service_that_lists_2_0() -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = [versions("v2.0")]
    assert RestApi(adapter, (1, 38)).version == (1, 38)


def test_a_service_below_1_36_is_too_old() -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = [versions(newest="1.35"), versions(newest="1.36")]
    with pytest.raises(ServiceTooOld, match=r"supports placement 1\.0 to 1\.35; 1\.36"):
        _ = RestApi(adapter).version
    assert RestApi(adapter).version == (1, 36)


def test_only_a_missing_object_does_not_have_to_be_deleted() -> None:
    adapter = mock.Mock()
    statuses = (204, 404, 409)
    adapter.request.side_effect = [mock.Mock(status_code=each, content=b"") for each in statuses]
    api = RestApi(adapter)
    api._version = (1, 39)
    assert [api.delete("/x"), api.delete("/x")] == [True, False]
    with pytest.raises(RefusedError, match="with 409"):
        api.delete("/x")


def test_an_operation_is_run_again_where_another_one_has_met_a_rolled_back_service() -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = [versions("v2.0"), versions()]
    api = RestApi(adapter)
    spoken: list[Version] = []

    def elsewhere() -> None:
        raise RefusedError("GET /x", 406, "", "")

    def operation() -> str:
        spoken.append(api.version)
        if len(spoken) > 1:
            return "done"
        with pytest.raises(RefusedError):
            api.run(elsewhere)
        # A path of 2.0, at the version of now.
        raise RefusedError("POST /claims", 404, "", "")

    assert api.run(operation) == "done"
    assert spoken == [(2, 0), (1, 39)]


def test_a_path_that_was_unknown_is_tried_again_after_another_negotiation() -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = [versions("v2.0"), versions("v2.0")]
    api = RestApi(adapter)
    writes_trees = [api.writes_trees]
    api.lacks_trees = True
    writes_trees.append(api.writes_trees)
    with pytest.raises(RefusedError):
        api.run(mock.Mock(side_effect=RefusedError("GET /x", 406, "", "")))
    writes_trees.append(api.writes_trees)
    assert writes_trees == [True, False, True]


@pytest.mark.parametrize("status", [404, 406, 409])
def test_a_refusal_at_a_supported_version_is_final(status: int) -> None:
    adapter = mock.Mock()
    adapter.request.side_effect = [versions("v2.0"), versions("v2.0")]
    operation = mock.Mock(side_effect=RefusedError("GET /x", status, "", ""))
    with pytest.raises(RefusedError):
        RestApi(adapter).run(operation)
    assert operation.call_count == 1


@pytest.mark.parametrize(
    ("errors", "attempts", "raised"),
    [
        ([], 1, None),
        ([CONFLICT, ReshapeFailed("", is_stale=True)], 3, None),
        ([CONFLICT] * 3, 3, CONFLICT),
        ([RefusedError("PUT /", 409, "placement.inventory.inuse", "")], 1, RefusedError),
        ([ReshapeFailed("")], 1, ReshapeFailed),
    ],
)
def test_conflicts_are_tried_again_and_nothing_else(
    errors: list[ClientError], attempts: int, raised: Any
) -> None:
    attempt = mock.Mock(side_effect=[*errors, "done"])
    if raised is None:
        assert retry(attempt, (0, 0)) == "done"
    else:
        with pytest.raises(type(raised) if isinstance(raised, ClientError) else raised):
            retry(attempt, (0, 0))
    assert attempt.call_count == attempts


def test_a_further_attempt_waits_a_part_of_its_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    retry(mock.Mock(side_effect=[CONFLICT, CONFLICT, None]), (1, 100))
    first, second = pauses
    assert 0 <= first <= 1
    assert 0 <= second <= 100


def test_a_response_without_json_differs_from_a_refusal() -> None:
    answer = mock.Mock(status_code=200, json=mock.Mock(side_effect=json.JSONDecodeError("", "", 0)))
    adapter = mock.Mock(request=mock.Mock(return_value=answer))
    with pytest.raises(ClientError, match="GET /traits: the response is not JSON"):
        RestApi(adapter).get("/traits?name=x", (1, 39))
