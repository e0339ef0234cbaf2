"""What happens inside is told to whoever listens, and to the log with debugging on."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from placement import events
from placement.db.statement import Restart
from placement.events import Details, Event
from tests.kit.builders import make_app, make_database
from tests.kit.service import Client

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
    assert [event for event, _details in told][-2:] == [Event.SEARCH, Event.REQUEST]
    search, request = told[-2][1], told[-1][1]
    assert (search["candidates"], search["trees_searched"], search["exhausted"]) == (0, 0, False)
    assert (request["method"], request["path"], request["status"]) == ("GET", path, "200")


def test_a_write_that_is_run_again_is_told(tmp_path: Path, told: Told) -> None:
    _settings, database = make_database(tmp_path)
    left = [1, 2]

    def work(_conn: object) -> str:
        if left:
            left.pop()
            raise Restart
        return "done"

    assert database.write(work) == "done"
    assert told == [(Event.RETRY, {"attempt": 1}), (Event.RETRY, {"attempt": 2})]
    database.dispose()


def test_nobody_is_told_after_the_end(told: Told) -> None:
    stop = events.listen(lambda _event, _details: pytest.fail("told"))
    stop()
    events.tell(Event.RETRY, attempt=1)
    assert len(told) == 1


def test_with_debugging_an_event_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "placement.events")
    events.tell(Event.TREES, cached=3, loaded=1)
    assert caplog.messages == ["trees: cached=3 loaded=1"]


def test_the_fault_of_a_listener_harms_nobody_else(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_event: Event, _details: Details) -> None:
        raise ValueError("no counter of this name")

    first = events.listen(fail)
    second = events.listen(lambda event, details: told.append((event, details)))
    events.tell(Event.RETRY, attempt=1)
    first()
    second()
    assert len(told) == 2
    assert "no counter of this name" in caplog.text
