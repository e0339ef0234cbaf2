"""Twelve clients claim the faces of one card at the same time, on two server processes."""

import os
import uuid as uuids
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import pytest
import sqlalchemy as sa

from tests.cluster.model import complaints
from tests.kit.builders import database_url
from tests.kit.cloud import building, provider_uuid
from tests.kit.processes import Answer, Process, send, serving

ROUNDS = int(os.environ.get("PLACEMENT_RACES", "2"))
CALLERS = 12
OPTIONS = {"OS_PLACEMENT__EXCLUSIVE": "CUSTOM_CARD", "OS_PLACEMENT_DATABASE__WRITE_TIMEOUT": "120"}
# Each card has four faces: two classes of its own, and two slices that serve together.
PROVIDERS = 4
FACES = {"VGPU": "card", "PGPU": "card", "CUSTOM_SLICE": "below"}
CAPACITY = {"VGPU": 3, "PGPU": 1, "CUSTOM_SLICE": 4}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A host for each round, with a card of two slices."""
    url = database_url(tmp_path_factory.mktemp("cards"))
    with building(sa.create_engine(url, poolclass=sa.NullPool)) as cloud:
        for number in range(2 * ROUNDS):
            host = cloud.add(f"host{number}", {"VCPU": 64})
            inventories = {"VGPU": CAPACITY["VGPU"], "PGPU": CAPACITY["PGPU"]}
            card = cloud.add(f"card{number}", inventories, traits=["CUSTOM_CARD"], parent=host)
            for part in "ab":
                cloud.add(f"slice{number}{part}", {"CUSTOM_SLICE": 2}, parent=card)
    return url


@pytest.fixture(scope="module")
def processes(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Process]]:
    with serving(tmp_path_factory.mktemp("servers"), [url] * 2, 1, **OPTIONS) as processes:
        yield processes


def owner(consumer: str) -> dict[str, object]:
    return {"project_id": "project", "user_id": consumer, "consumer_type": "INSTANCE"}


def put(port: int, number: int, provider: str, name: str) -> Answer:
    """Claim a unit of a class, and a processor of the host."""
    host = provider_uuid(PROVIDERS * number + 1)
    allocations = {host: {"resources": {"VCPU": 1}}, provider: {"resources": {name: 1}}}
    body = {"allocations": allocations, "consumer_generation": None, **owner("user")}
    return send(port, "PUT", f"/allocations/{uuids.uuid4()}", body)


def post(port: int, number: int, name: str) -> Answer:
    """Search and claim a unit of a class in the tree of the host."""
    group = {"resources": {name: 1}, "in_tree": provider_uuid(PROVIDERS * number + 1)}
    body = {"request": {"groups": {"": group}}, "consumer_uuid": str(uuids.uuid4())}
    return send(port, "POST", "/claims", {**body, **owner("user")}, "2.0")


@pytest.mark.parametrize("searching", [False, True])
def test_one_face_of_a_card_is_claimed(url: str, processes: list[Process], searching: bool) -> None:
    """All claims of the face that is used first are admitted as long as they fit."""
    hosts = []
    for number in range(ROUNDS * searching, ROUNDS * (1 + searching)):
        hosts.append(provider_uuid(PROVIDERS * number + 1))
        card, *slices = (provider_uuid(PROVIDERS * number + each) for each in (2, 3, 4))
        ports = cycle(process.port for process in processes)
        callers = [
            (port, name) for port, name, _ in zip(ports, cycle(FACES), range(CALLERS), strict=False)
        ]

        def act(
            caller: tuple[int, tuple[int, str]],
            number: int = number,
            card: str = card,
            slices: list[str] = slices,
        ) -> tuple[str, int]:
            index, (port, name) = caller
            if searching:
                answer = post(port, number, name)
            else:
                provider = card if FACES[name] == "card" else slices[index // len(FACES) % 2]
                answer = put(port, number, provider, name)
            return name, answer.status

        with ThreadPoolExecutor(CALLERS) as pool:
            told = Counter(pool.map(act, enumerate(callers)))
        admitted = {name: count for (name, status), count in told.items() if status < 300}
        assert {status for _name, status in told} == {201 if searching else 204, 409}
        ((name, count),) = admitted.items()
        assert count == min(CAPACITY[name], CALLERS // len(FACES))
        usages: Counter[str] = Counter()
        for provider in (card, *slices):
            path = f"/resource_providers/{provider}/usages"
            usages.update(send(processes[0].port, "GET", path).body["usages"])
        assert +usages == {name: count}
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as conn:
        assert not list(complaints(conn, hosts))
