"""Internal events reach their listeners, and the log at debug level."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement.api.history import LATEST
from placement.db.retries import Cause
from placement.db.statement import Restart
from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.builders import make_app, make_database
from tests.kit.service import Client, Service, inventories

Told = list[tuple[Event, Details]]


@pytest.fixture
def told() -> Iterator[Told]:
    gathered: Told = []
    stop = events.listen(lambda event, details: gathered.append((event, details)))
    yield gathered
    stop()


def test_a_request_for_candidates_tells_of_trees_search_and_answer(
    tmp_path: Path, told: Told
) -> None:
    path = "/allocation_candidates"
    Client(make_app(tmp_path)).send("GET", f"{path}?resources=VCPU:1")
    assert [event for event, _details in told if event is not Event.CONNECTION] == [
        Event.SEARCH,
        Event.REFUSAL,
        Event.REQUEST,
    ]
    search, refusal, request = (details for event, details in told if event is not Event.CONNECTION)
    assert refusal == {"code": "filtered"}
    assert (search["candidates"], search["trees_searched"], search["exhausted"]) == (0, 0, False)
    assert search["bound"] is None
    assert (request["method"], request["path"], request["status"]) == ("GET", path, "200")
    assert (request["operation"], request["version"]) == (
        "list_allocation_candidates",
        str(LATEST),
    )


def test_a_retried_write_is_reported(tmp_path: Path, told: Told) -> None:
    _settings, database = make_database(tmp_path)
    left = [1, 2]

    def work(_conn: object) -> str:
        if left:
            left.pop()
            raise Restart
        return "done"

    assert database.write(work) == "done"
    retries = [details for event, details in told if event is Event.RETRY]
    assert retries == [
        {"attempt": 1, "cause": Cause.CONFLICT},
        {"attempt": 2, "cause": Cause.CONFLICT},
    ]
    database.dispose()


def test_no_listener_is_called_after_the_end(told: Told) -> None:
    stop = events.listen(lambda _event, _details: pytest.fail("told"))
    stop()
    events.emit(Event.RETRY, attempt=1, cause=Cause.CONFLICT)
    assert len(told) == 1


def test_with_debugging_an_event_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "placement.runtime.events")
    events.emit(Event.TREES, cached=3, loaded=1)
    assert caplog.messages == ["trees: cached=3 loaded=1"]


def test_the_error_of_a_listener_affects_no_other_listener(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_event: Event, _details: Details) -> None:
        raise ValueError("no counter of this name")

    first = events.listen(fail)
    second = events.listen(lambda event, details: told.append((event, details)))
    events.emit(Event.RETRY, attempt=1)
    first()
    second()
    assert len(told) == 2
    assert "no counter of this name" in caplog.text


HOST = "11111111-1111-4111-8111-111111111111"


def details_of(told: Told, event: Event) -> list[Details]:
    return [details for each, details in told if each is event]


def test_an_answer_that_was_cut_short_says_by_which_option(tmp_path: Path, told: Told) -> None:
    def bound(path: str, **options: object) -> object:
        with Service(tmp_path, placement=options) as service:
            for number in range(2):
                uuid = HOST[:-1] + str(number)
                body = {"name": uuid, "uuid": uuid}
                service.expect(200, "POST", "/resource_providers", body)
                stock = inventories(0, VCPU=8)
                service.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", stock)
            service.send("GET", f"/allocation_candidates?resources=VCPU:1{path}")
        return details_of(told, Event.SEARCH)[-1]["bound"]

    assert bound("") is None
    assert bound("&limit=1") is None
    assert bound("", max_allocation_candidates=1) == "max_allocation_candidates"
    assert bound("&limit=1", max_allocation_candidates=1) is None
    assert bound("", max_answer_size=1) == "max_answer_size"
    assert bound("", max_search_steps=1) == "max_search_steps"  # and a 503
    assert details_of(told, Event.REQUEST)[-1]["status"] == "503"


def test_trees_are_reported_with_the_cached_ones(tmp_path: Path, told: Told) -> None:
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "h", "uuid": HOST})
        stock = inventories(0, VCPU=8)
        service.expect(200, "PUT", f"/resource_providers/{HOST}/inventories", stock)
        for _ in range(2):
            service.get("/allocation_candidates?resources=VCPU:1")
    assert details_of(told, Event.TREES) == [
        {"cached": 0, "loaded": 1, "kept": 1},
        {"cached": 1, "loaded": 0, "kept": 1},
    ]


def test_a_conflict_is_identified_by_its_code(tmp_path: Path, told: Told) -> None:
    with Service(tmp_path) as service:
        service.expect(200, "POST", "/resource_providers", {"name": "h", "uuid": HOST})
        stock = inventories(7, VCPU=8)
        service.expect(409, "PUT", f"/resource_providers/{HOST}/inventories", stock)
    assert details_of(told, Event.CONFLICT) == [{"code": "placement.concurrent_update"}]


def test_every_transaction_tells_how_long_it_had_a_connection(tmp_path: Path, told: Told) -> None:
    with Service(tmp_path) as service:
        service.get("/traits")
        service.expect(201, "PUT", "/traits/CUSTOM_A")
        service.expect(404, "DELETE", "/traits/CUSTOM_B")
    connections = details_of(told, Event.CONNECTION)
    assert [details["pool"] for details in connections] == ["read", "write", "write"]
    assert all(0 < float(str(details["seconds"])) < 60 for details in connections)


def test_an_exhausted_pool_is_reported(tmp_path: Path, told: Told) -> None:
    options = {"max_pool_size": 1, "max_overflow": 0, "pool_timeout": 0}
    with (
        Service(tmp_path, placement_database=options) as service,
        service.database.read(),
    ):
        told.clear()
        service.expect(503, "GET", "/traits")
    assert details_of(told, Event.NO_CONNECTION) == [{"pool": "read"}]


def test_an_operation_that_is_not_reached_has_no_name_of_its_own(
    tmp_path: Path, told: Told
) -> None:
    service = Client(make_app(tmp_path))
    for method, path in (("GET", "/nowhere"), ("PATCH", "/traits")):
        service.send(method, path)
    service.send("GET", "/traits", headers={"OpenStack-API-Version": "placement 7.0"})
    assert {details["operation"] for details in details_of(told, Event.REQUEST)} == {"other"}
