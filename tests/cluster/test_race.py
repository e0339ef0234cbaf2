"""Races of clients for capacity and for names, on several server processes.

`PLACEMENT_PROCESSES` lists numbers of processes (default 2). `PLACEMENT_RACES` is the number of
rounds with each of these numbers (default 4).
"""

import itertools
import os
import uuid as uuids
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest
import sqlalchemy as sa

from tests.cluster.model import complaints
from tests.kit.builders import database_url
from tests.kit.cloud import building, provider_uuid
from tests.kit.engines import ENGINE
from tests.kit.processes import Answer, Process, expect, new_host, send, serving

ROUNDS = int(os.environ.get("PLACEMENT_RACES", "2"))
PROCESSES = [int(number) for number in os.environ.get("PLACEMENT_PROCESSES", "2").split(",")]
CLIENTS = 8
ROOM = 20
# A writer that loses a race tries again, which may take long on a busy machine.
PATIENT = {"OS_PLACEMENT_DATABASE__WRITE_TIMEOUT": "120"}
MANY_HOSTS = 1000
_numbers = itertools.count(1)


class Racers:
    """Clients that act at the same time, each on a different process."""

    def __init__(self, url: str, processes: list[Process]) -> None:
        self.url = url
        self.port = processes[0].port
        ports = cycle(process.port for process in processes)
        self._ports = [next(ports) for _ in range(CLIENTS)]

    def race(self, act: Callable[[int, int], list[Answer]]) -> list[Answer]:
        """Run every client with its number and port. Return all responses."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            found = pool.map(act, range(CLIENTS), self._ports)
            return [answer for answers in found for answer in answers]

    def check(self, hosts: list[str]) -> None:
        """Check that the tables are consistent."""
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        with engine.connect() as conn:
            assert not list(complaints(conn, hosts))


@pytest.fixture(scope="module", params=PROCESSES)
def racers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Racers]:
    """Clients of a cloud with many hosts; tests use hosts, classes and projects of their own."""
    directory = tmp_path_factory.mktemp("race")
    url = database_url(directory)
    with building(sa.create_engine(url, poolclass=sa.NullPool)) as cloud:
        for number in range(MANY_HOSTS):
            cloud.add(f"host{number}", {"VCPU": 4})
    with serving(directory, [url] * request.param, 1, **PATIENT) as processes:
        yield Racers(url, processes)


@dataclass(frozen=True)
class Scarce:
    """A resource class that only the hosts of one test have, and a project that only it uses."""

    name: str
    port: int

    def hosts(self, *amounts: int) -> list[str]:
        """Create a host with each amount."""
        return [new_host(self.port, None, **{self.name: amount}) for amount in amounts]

    def demand(self) -> dict[str, object]:
        """Return a claim of one unit from any host."""
        return {
            "request": {"groups": {"": {"resources": {self.name: 1}}}},
            "consumer_uuid": str(uuids.uuid4()),
            "project_id": self.name,
            "user_id": "user",
            "consumer_type": "INSTANCE",
        }

    def usages(self) -> object:
        """Return the usages of the project."""
        return send(self.port, "GET", f"/usages?project_id={self.name}").body["usages"]


@pytest.fixture
def scarce(racers: Racers) -> Scarce:
    name = f"CUSTOM_SCARCE_{next(_numbers)}"
    expect(send(racers.port, "PUT", f"/resource_classes/{name}"), 201)
    return Scarce(name, racers.port)


def claim(host: str, amount: int = 1, **more: Any) -> dict[str, object]:
    return {
        "allocations": {host: {"resources": {"VCPU": amount}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        **more,
    }


def test_exactly_what_fits_is_admitted(
    racers: Racers, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    admitted = 0
    hosts = []
    for _ in range(ROUNDS):
        host = new_host(racers.port, VCPU=ROOM)
        hosts.append(host)

        def until_full(_number: int, port: int, host: str = host) -> list[Answer]:
            answers: list[Answer] = []
            while not answers or answers[-1].status == 204:
                answers.append(send(port, "PUT", f"/allocations/{uuids.uuid4()}", claim(host)))
            return answers

        answers = racers.race(until_full)
        refusals = [answer for answer in answers if answer.status != 204]
        assert {(answer.status, answer.code) for answer in refusals} == {
            (409, "placement.undefined_code")
        }, "only because the room is gone"
        assert len(answers) - len(refusals) == ROOM
        usages = send(racers.port, "GET", f"/resource_providers/{host}/usages").body["usages"]
        assert usages == {"VCPU": ROOM}
        admitted += len(answers) - len(refusals)
    racers.check(hosts)
    with capsys.disabled():
        processes = request.node.callspec.params["racers"]
        print(
            f"\n{ENGINE}, {processes} processes, {CLIENTS} clients: {ROUNDS} rounds, "
            f"{admitted} claims admitted of {ROUNDS * ROOM} that fit"
        )


PLACES = 100
CALLERS = 160


def test_callers_for_the_last_places_get_exactly_these_and_the_others_hear_that_nothing_is_left(
    racers: Racers, scarce: Scarce
) -> None:
    """No client receives a conflict, regardless of the order of the requests."""
    hosts = scarce.hosts(*(1, 2, 3, 4) * (PLACES // 10))

    def call(_number: int, port: int) -> list[Answer]:
        bodies = [scarce.demand() for _ in range(CALLERS // CLIENTS)]
        return [send(port, "POST", "/claims", body, "2.0") for body in bodies]

    answers = racers.race(call)
    told = Counter(
        (answer.status, answer.code if answer.status >= 400 else "") for answer in answers
    )
    assert told == {(201, ""): PLACES, (409, "placement.no_candidates"): CALLERS - PLACES}
    assert scarce.usages() == {"INSTANCE": {"consumer_count": PLACES, scarce.name: PLACES}}
    racers.check(hosts)


def test_several_claims_at_once_are_met_as_long_as_all_of_them_fit(
    racers: Racers, scarce: Scarce
) -> None:
    """A request for three units is refused if only two units are left."""
    hosts = scarce.hosts(*(1, 2, 3, 4) * 5)

    def until_full(_number: int, port: int) -> list[Answer]:
        answers: list[Answer] = []
        while not answers or answers[-1].status == 201:
            body = {"claims": [scarce.demand() for _ in range(3)]}
            answers.append(send(port, "POST", "/claims", body, "2.0"))
        return answers

    answers = racers.race(until_full)
    refusals = [answer for answer in answers if answer.status != 201]
    assert {answer.code for answer in refusals} == {"placement.no_candidates"}
    assert len(answers) - len(refusals) == 50 // 3
    assert scarce.usages() == {"INSTANCE": {"consumer_count": 48, scarce.name: 48}}
    racers.check(hosts)


def test_claims_on_any_host_get_exactly_what_fits_on_their_shared_disk(racers: Racers) -> None:
    disk, *hosts = shared_disk(racers.port, PLACES, hosts=CLIENTS)
    request = {
        "groups": {
            "": {"resources": {"VCPU": 1}},
            "_DISK": {"resources": {"DISK_GB": 1}, "in_tree": disk},
        }
    }
    owner = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}

    def call(_number: int, port: int) -> list[Answer]:
        return [
            send(
                port,
                "POST",
                "/claims",
                {"request": request, "consumer_uuid": str(uuids.uuid4()), **owner},
                "2.0",
            )
            for _ in range(CALLERS // CLIENTS)
        ]

    told = Counter(answer.status for answer in racers.race(call))
    assert told == {201: PLACES, 409: CALLERS - PLACES}
    usages = send(racers.port, "GET", f"/resource_providers/{disk}/usages").body["usages"]
    assert usages == {"DISK_GB": PLACES}
    racers.check([disk, *hosts])


def shared_disk(port: int, units: int, *, hosts: int) -> list[str]:
    """Create a disk and the hosts that share it. Return their uuids."""
    aggregate = str(uuids.uuid4())
    disk = new_host(port, None, DISK_GB=units)
    uuids_of_hosts = [new_host(port, None, VCPU=units) for _ in range(hosts)]
    traits = {"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    expect(send(port, "PUT", f"/resource_providers/{disk}/traits", traits), 200)
    for uuid, generation in ((disk, 2), *((uuid, 1) for uuid in uuids_of_hosts)):
        body = {"resource_provider_generation": generation, "aggregates": [aggregate]}
        expect(send(port, "PUT", f"/resource_providers/{uuid}/aggregates", body), 200)
    return [disk, *uuids_of_hosts]


def test_one_consumer_that_many_claim_for_gets_what_one_of_them_asks_for(
    racers: Racers, scarce: Scarce
) -> None:
    hosts = scarce.hosts(*[2] * CLIENTS)
    body = scarce.demand()
    answers = racers.race(lambda _number, port: [send(port, "POST", "/claims", body, "2.0")])
    assert sorted(answer.status for answer in answers) == [201] + [409] * (CLIENTS - 1)
    assert {answer.code for answer in answers if answer.status == 409} == {
        "placement.concurrent_update"
    }
    assert scarce.usages() == {"INSTANCE": {"consumer_count": 1, scarce.name: 1}}
    racers.check(hosts)


def test_claims_on_a_thousand_hosts_are_all_admitted(racers: Racers) -> None:
    hosts = [provider_uuid(number) for number in range(1, MANY_HOSTS + 1)]

    def spread(number: int, port: int) -> list[Answer]:
        mine = [
            hosts[(number * 7 + turn * 31) % MANY_HOSTS] for turn in range(20 * min(ROUNDS, 20))
        ]
        return [send(port, "PUT", f"/allocations/{uuids.uuid4()}", claim(host)) for host in mine]

    answers = racers.race(spread)
    assert Counter(answer.status for answer in answers) == {204: len(answers)}
    racers.check(hosts)


def test_what_all_create_at_once_is_made_once_and_seen_by_all(racers: Racers) -> None:
    for turn in range(ROUNDS):
        hosts = [new_host(racers.port, VCPU=10) for _ in range(CLIENTS)]
        aggregate, consumer = str(uuids.uuid4()), str(uuids.uuid4())
        new = {
            "project_id": f"project-{turn}", "user_id": f"user-{turn}",
            "consumer_type": f"TYPE_{turn}",
        }  # fmt: skip

        def create(
            number: int,
            port: int,
            turn: int = turn,
            hosts: list[str] = hosts,
            aggregate: str = aggregate,
            consumer: str = consumer,
            new: dict[str, str] = new,
        ) -> list[Answer]:
            host = hosts[number]
            path = f"/resource_providers/{host}"
            body = {"aggregates": [aggregate], "resource_provider_generation": 1}
            return [
                send(port, "PUT", f"/traits/CUSTOM_{turn}"),
                send(port, "PUT", f"/resource_classes/CUSTOM_{turn}"),
                send(port, "PUT", f"/resource_classes/CUSTOM_{turn}_{number}"),
                send(port, "PUT", f"{path}/aggregates", body),
                send(port, "PUT", f"/allocations/{uuids.uuid4()}", claim(host, 1, **new)),
                send(port, "PUT", f"/allocations/{consumer}", claim(host)),
            ]

        answers = racers.race(create)
        traits, shared, own, joined, claimed, same = (answers[place::6] for place in range(6))
        assert sorted(answer.status for answer in traits) == [201] + [204] * (CLIENTS - 1)
        assert sorted(answer.status for answer in shared) == [201] + [204] * (CLIENTS - 1)
        assert {answer.status for answer in own} == {201}
        assert {answer.status for answer in joined} == {200}
        assert {answer.status for answer in claimed} == {204}
        assert sorted(answer.status for answer in same) == [204] + [409] * (CLIENTS - 1)
        assert {answer.code for answer in same if answer.status == 409} == {
            "placement.concurrent_update"
        }
        usages = send(racers.port, "GET", f"/usages?project_id=project-{turn}").body["usages"]
        assert usages[f"TYPE_{turn}"]["consumer_count"] == CLIENTS
    racers.check([])


def test_a_class_that_is_given_to_an_inventory_is_not_deleted(racers: Racers) -> None:
    for turn in range(ROUNDS * 3):
        host = new_host(racers.port, VCPU=1)
        name = f"CUSTOM_GONE_{turn}"
        expect(send(racers.port, "PUT", f"/resource_classes/{name}"), 201)

        def act(number: int, port: int, host: str = host, name: str = name) -> list[Answer]:
            if number % 2:
                return [send(port, "DELETE", f"/resource_classes/{name}")]
            body = {"resource_class": name, "total": 1}
            return [send(port, "POST", f"/resource_providers/{host}/inventories", body)]

        assert {answer.status for answer in racers.race(act)} <= {201, 204, 400, 404, 409}
        listed = send(racers.port, "GET", f"/resource_providers/{host}/inventories").body
        left = send(racers.port, "GET", f"/resource_classes/{name}").status
        assert (name in listed["inventories"]) == (left == 200)
    engine = sa.create_engine(racers.url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        dangling = conn.exec_driver_sql(
            "SELECT COUNT(*) FROM inventories i LEFT JOIN resource_classes c "
            "ON c.id = i.resource_class_id WHERE c.id IS NULL"
        ).scalar()
    assert dangling == 0
