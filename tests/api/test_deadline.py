"""Responses to requests that exceed the deadline."""

import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from placement.db.retries import Pauses
from placement.objects import locking
from placement.runtime import budget, deadline
from tests.kit.cloud import building
from tests.kit.drivers import failing_once
from tests.kit.engines import FAMILY
from tests.kit.service import Service

HOSTS = 200
FOUND = "/allocation_candidates?resources=VCPU:1"
NOT_FOUND = "/allocation_candidates?resources=VCPU:9"
NOVA = "1.36"  # with a limit
TOO_LONG = {"sqlite": "SQLITE_INTERRUPT", "mariadb": 1969, "postgresql": "57014"}[FAMILY]


class Clock:
    """A clock that advances by one second at each reading, once it is running."""

    def __init__(self) -> None:
        self._seconds = count()
        self.runs = False

    def __call__(self) -> float:
        return float(next(self._seconds)) if self.runs else 0.0


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service whose requests may read the clock 30 times."""
    monkeypatch.setattr(budget, "WORK_BETWEEN_CHECKS", 10)
    with Service(tmp_path, placement={"request_deadline": 30.0}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4, "MEMORY_MB": 1000 + number})
        service.get(FOUND)  # caches all trees
        clock = Clock()
        monkeypatch.setattr(deadline, "monotonic", clock)
        clock.runs = True
        yield service


def refusal(
    service: Service, method: str, path: str, body: object = None, version: str = "2.0"
) -> str:
    answer = service.expect(503, method, path, body, version)
    assert answer.headers["retry-after"] == "1"
    detail = answer.json["errors"][0]["detail"]
    assert "[placement]request_deadline" in detail
    return str(detail)


def test_a_search_answers_with_what_it_has(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        candidates = service.get(FOUND)["allocation_requests"]
    assert 0 < len(candidates) < HOSTS
    assert "request_deadline cut a response short" in caplog.text


def test_a_search_that_has_nothing_says_so(service: Service) -> None:
    refusal(service, "GET", NOT_FOUND)


def test_a_scheduler_gets_what_was_found_until_the_deadline(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        candidates = service.get(f"{FOUND}&limit=1000", NOVA)["allocation_requests"]
    assert 0 < len(candidates) < HOSTS
    assert "request_deadline cut a response short" in caplog.text
    refusal(service, "GET", f"{NOT_FOUND}&limit=1000", version=NOVA)


@pytest.fixture
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service whose searches may do little work. Only the last host has 9 VCPU."""
    monkeypatch.setattr(budget, "WORK_BETWEEN_CHECKS", 10)
    with Service(tmp_path, placement={"request_deadline": 600.0, "max_search_steps": 5}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4, "MEMORY_MB": 1000 + number})
            cloud.add("large", {"VCPU": 9})
        yield service


@pytest.mark.parametrize(("path", "found"), [(NOT_FOUND, 1), (FOUND.replace(":1", ":10"), 0)])
def test_the_limit_on_work_ends_no_search_of_a_scheduler_without_a_candidate(
    short: Service, path: str, found: int
) -> None:
    answer = short.get(f"{path}&limit=1000", NOVA)
    assert len(answer["allocation_requests"]) == found
    short.expect(503, "GET", path, version=NOVA)
    short.expect(503, "GET", f"{path}&limit=1000", version="2.0")


def test_the_limit_on_work_ends_a_search_of_a_scheduler_that_has_candidates(
    short: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        answer = short.get(f"{FOUND}&limit=1000", NOVA)
    assert 0 < len(answer["allocation_requests"]) < HOSTS
    assert "max_search_steps cut a response short" in caplog.text
    for request in answer["allocation_requests"]:
        ((host, allocated),) = request["allocations"].items()
        assert allocated == {"resources": {"VCPU": 1}}
        assert answer["provider_summaries"][host]["resources"]["VCPU"]["capacity"] >= 4


def test_without_a_deadline_the_limit_on_work_ends_every_search(tmp_path: Path) -> None:
    with Service(tmp_path, placement={"request_deadline": 0.0, "max_search_steps": 1}) as service:
        with building(service.database.writer) as cloud:
            cloud.add("host", {"VCPU": 4})
        service.expect(503, "GET", f"{FOUND}&limit=1000", version=NOVA)


def test_a_statement_that_takes_too_long_leaves_a_scheduler_its_candidates(tmp_path: Path) -> None:
    with Service(tmp_path, placement={"request_deadline": 600.0}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4, "MEMORY_MB": 1000 + number})
        path = f"{FOUND}&limit=1000"
        service.get(path, NOVA)  # connects
        reader, found = service.database.reader, []
        for after in count():
            service.restart()  # without cached trees
            try:
                with failing_once(reader, "SELECT", TOO_LONG, after=after):
                    found.append(len(service.get(path, NOVA)["allocation_requests"]))
            except AssertionError as error:
                if "no SELECT was sent" not in str(error):
                    raise
                break
        assert found[0] == HOSTS
        assert 0 < min(found) < HOSTS
        service.restart()
        with failing_once(reader, "SELECT", TOO_LONG, after=found.index(min(found))):
            service.expect(503, "GET", FOUND, version=NOVA)


def test_a_scheduler_waits_for_a_connection_until_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = {"max_pool_size": 1, "max_overflow": 0, "pool_timeout": 0}
    with Service(
        tmp_path, placement={"request_deadline": 30.0}, placement_database=pool
    ) as service:
        service.get(f"{FOUND}&limit=1000", NOVA)
        held = service.database.reader.connect()
        service.expect(503, "GET", f"{FOUND}&limit=1000", version="2.0")
        monkeypatch.setattr(Pauses, "wait", lambda _pauses: held.close())
        service.get(f"{FOUND}&limit=1000", NOVA)
        held = service.database.reader.connect()
        clock = Clock()
        monkeypatch.setattr(deadline, "monotonic", clock)
        monkeypatch.setattr(Pauses, "wait", lambda _pauses: None)
        clock.runs = True
        service.expect(503, "GET", f"{FOUND}&limit=1000", version=NOVA)
        held.close()


@pytest.mark.parametrize(("version", "seconds"), [("1.0", 30), ("1.39", 30), ("2.0", 5)])
def test_the_default_depends_on_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, seconds: int
) -> None:
    with Service(tmp_path, placement={"request_deadline": None}) as service:
        monkeypatch.setattr(deadline, "monotonic", count(step=31).__next__)
        detail = refusal(service, "GET", "/resource_providers", version=version)
    assert f"exceeded {seconds} seconds" in detail


def test_an_explanation_says_that_it_is_not_complete(service: Service) -> None:
    for path in (f"{FOUND}&explain=providers", f"{FOUND}&limit=1&explain=providers"):
        answer: Any = service.get(path, "2.0")
        assert answer["allocation_requests"]
        hosts = answer["explanation"]["hosts"]
        assert hosts["all"] == HOSTS
        assert hosts["looked"] < HOSTS
        assert hosts["complete"] is False


@pytest.mark.parametrize("amount", [1, 9])
def test_a_claim_is_refused_and_leaves_nothing(service: Service, amount: int) -> None:
    before = service.dump()
    claims = [
        {
            "request": {"groups": {"": {"resources": {"VCPU": amount}}}},
            "consumer_uuid": f"00000000-0000-4000-8000-{number:012d}",
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
        }
        for number in range(50)
    ]
    refusal(service, "POST", "/claims", {"claims": claims})
    assert service.dump() == before


def test_a_list_that_is_read_too_slowly_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.expect(200, "GET", "/resource_providers?include=inventories,traits", version="2.0")
    monkeypatch.setattr(deadline, "monotonic", count(step=20).__next__)
    refusal(service, "GET", "/resource_providers?include=inventories,traits")


def test_without_a_deadline_none_is_ended(service: Service, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Service(tmp_path / "other", placement={"request_deadline": 0.0}) as other:
        other.expect(200, "GET", "/resource_providers")
        with building(other.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4})
        assert len(other.get(FOUND)["allocation_requests"]) == HOSTS


def test_a_request_has_no_deadline_after_its_commit(tmp_path: Path) -> None:
    """It has taken effect, and must not be answered as if it had not."""
    with Service(tmp_path) as service, deadline.limit(100):
        service.database.write(lambda conn: locking.renew_revisions(conn, ()))
        assert not deadline.is_set()
