"""Responses to requests that exceed the deadline."""

import logging
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from placement import deadline
from placement.candidates import budget
from tests.kit.cloud import building
from tests.kit.service import Service

HOSTS = 200
FOUND = "/allocation_candidates?resources=VCPU:1"
NOT_FOUND = "/allocation_candidates?resources=VCPU:9"


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
    monkeypatch.setattr(budget, "COST_PER_CHECK", 10)
    with Service(tmp_path, placement={"request_deadline": 30.0}) as service:
        with building(service.database.writer) as cloud:
            for number in range(HOSTS):
                cloud.add(f"host{number}", {"VCPU": 4, "MEMORY_MB": 1000 + number})
        service.get(FOUND)  # caches all trees
        clock = Clock()
        monkeypatch.setattr(deadline, "monotonic", clock)
        clock.runs = True
        yield service


def refusal(service: Service, method: str, path: str, body: object = None) -> str:
    answer = service.expect(503, method, path, body, "2.0")
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
    assert "request_deadline cut an answer short" in caplog.text


def test_a_search_that_has_nothing_says_so(service: Service) -> None:
    refusal(service, "GET", NOT_FOUND)


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
