"""Concurrent writers on one database: only fitting claims succeed, and no response is 500."""

import uuid as uuids
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.kit import service as kit

WRITERS = 8


class Service(kit.Service):
    """A service that receives concurrent requests from several threads."""

    def race(self, act: Callable[[int], Any], times: int = WRITERS) -> list[Any]:
        """Run all writers at the same time. Return their responses."""
        with ThreadPoolExecutor(WRITERS) as pool:
            return list(pool.map(act, range(times)))

    def host(self, **totals: int) -> str:
        """A new provider with these inventories."""
        uuid = str(uuids.uuid4())
        self.send("POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        records = {name: {"total": total} for name, total in totals.items()}
        self.inventories(uuid, records)
        return uuid

    def inventories(self, uuid: str, records: dict[str, dict[str, int]]) -> Any:
        path = f"/resource_providers/{uuid}"
        generation = self.send("GET", path).json["generation"]
        body = {"resource_provider_generation": generation, "inventories": records}
        return self.send("PUT", f"{path}/inventories", body)

    def used(self, uuid: str) -> dict[str, int]:
        return dict(self.send("GET", f"/resource_providers/{uuid}/usages").json["usages"])


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service
        service.check_used()


def claim(host: str, amount: int = 1, **more: object) -> dict[str, object]:
    return {
        "allocations": {host: {"resources": {"VCPU": amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        **more,
    }


def statuses(answers: list[Any]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def claim_for_new_project(service: Service, host: str, _number: int) -> Any:
    body = claim(host, project_id=str(uuids.uuid4()))
    return service.send("PUT", f"/allocations/{uuids.uuid4()}", body)


def test_racing_claims_are_admitted_exactly_as_far_as_they_fit(service: Service) -> None:
    for _ in range(5):
        host = service.host(VCPU=20)
        answers = service.race(partial(claim_for_new_project, service, host), 40)
        assert statuses(answers) == {204: 20, 409: 20}
        assert service.used(host) == {"VCPU": 20}
        codes = {each.json["errors"][0]["code"] for each in answers if each.status_code == 409}
        assert codes == {"placement.undefined_code"}, "capacity is gone; nobody lost a race"


def test_a_new_consumer_is_claimed_by_one_writer_only(service: Service) -> None:
    host = service.host(VCPU=100)
    consumer = uuids.uuid4()
    answers = service.race(lambda _n: service.send("PUT", f"/allocations/{consumer}", claim(host)))
    assert statuses(answers) == {204: 1, 409: WRITERS - 1}
    for answer in answers:
        if answer.status_code == 409:
            (error,) = answer.json["errors"]
            assert error["code"] == "placement.concurrent_update"
            assert "consumer generation conflict" in error["detail"]
    assert service.used(host) == {"VCPU": 1}


def test_of_writers_that_state_one_generation_one_wins(service: Service) -> None:
    host = service.host(VCPU=100)
    path = f"/resource_providers/{host}"
    generation = service.send("GET", path).json["generation"]

    def put(number: int) -> Any:
        body = {
            "resource_provider_generation": generation,
            "inventories": {"VCPU": {"total": 100 + number}},
        }
        return service.send("PUT", f"{path}/inventories", body)

    assert statuses(service.race(put)) == {200: 1, 409: WRITERS - 1}
    assert service.send("GET", path).json["generation"] == generation + 1


def test_the_same_new_names_may_be_made_by_all_at_once(service: Service) -> None:
    created = service.race(lambda _n: service.send("PUT", "/traits/CUSTOM_RACE"))
    assert statuses(created) == {201: 1, 204: WRITERS - 1}
    created = service.race(lambda _n: service.send("PUT", "/resource_classes/CUSTOM_RACE"))
    assert statuses(created) == {201: 1, 204: WRITERS - 1}
    created = service.race(
        lambda n: service.send("PUT", f"/resource_classes/CUSTOM_RACE_{n}"), WRITERS
    )
    assert statuses(created) == {201: WRITERS}
    hosts = [service.host(VCPU=1) for _ in range(WRITERS)]
    aggregate = str(uuids.uuid4())
    joined = service.race(
        lambda n: service.send(
            "PUT",
            f"/resource_providers/{hosts[n]}/aggregates",
            {"aggregates": [aggregate], "resource_provider_generation": 1},
        )
    )
    assert statuses(joined) == {200: WRITERS}
    names = service.race(lambda _n: service.send("POST", "/resource_providers", {"name": "one"}))
    assert statuses(names) == {200: 1, 409: WRITERS - 1}


def test_racing_moves_of_a_tree_leave_one_root_and_no_loop(service: Service) -> None:
    hosts = [service.host(VCPU=1) for _ in range(4)]

    def move(number: int) -> Any:
        child, parent = hosts[number % 4], hosts[(number * 3 + 1) % 4]
        body = {"name": child, "parent_provider_uuid": parent if number % 5 else None}
        return service.send("PUT", f"/resource_providers/{child}", body)

    assert set(statuses(service.race(move, 60))) <= {200, 400}
    providers = {
        each["uuid"]: each
        for each in service.send("GET", "/resource_providers").json["resource_providers"]
    }
    for provider in providers.values():
        steps, at = 0, provider
        while at["parent_provider_uuid"] is not None and steps < 10:
            at, steps = providers[at["parent_provider_uuid"]], steps + 1
        assert at["uuid"] == provider["root_provider_uuid"]


def test_claims_moves_and_deletions_at_once_lose_nothing(service: Service) -> None:
    hosts = [service.host(VCPU=30) for _ in range(3)]

    def live(number: int) -> list[int]:
        mine = str(uuids.uuid4())
        other = str(uuids.uuid4())
        first, second = hosts[number % 3], hosts[(number + 1) % 3]
        seen = [service.send("PUT", f"/allocations/{mine}", claim(first)).status_code]
        empty = {**claim(first), "allocations": {}, "consumer_generation": 1}
        seen.append(
            service.send("POST", "/allocations", {mine: empty, other: claim(second)}).status_code
        )
        if number % 2:
            seen.append(service.send("DELETE", f"/allocations/{other}").status_code)
        return seen

    results = service.race(live, 40)
    assert {status for seen in results for status in seen} == {204}
    assert sum(service.used(host)["VCPU"] for host in hosts) == 20
