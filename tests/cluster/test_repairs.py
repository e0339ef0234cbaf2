"""Repairs of a database while clients write.

`PLACEMENT_REPAIRS` is the number of writes of each client (default 60).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from placement.objects import derived
from placement.operate import checks
from tests.kit.builders import database_url
from tests.kit.engines import seeded
from tests.kit.rows import damage, wrong_usages
from tests.kit.service import Service, inventories

WRITES = int(os.environ.get("PLACEMENT_REPAIRS", "60"))
CLIENTS = 4
HOSTS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(5)]
ROOM = 12
OWNER = {"project_id": "project", "user_id": "user", "consumer_type": "INSTANCE"}
INCOMPLETE = ("incomplete-p", "incomplete-u")
# An id of no provider.
NOWHERE = 1_000_000
# A usage that is too high admits no claims that do not fit.
MISCOUNT = "UPDATE inventories SET used = used + 2 WHERE id = {}"


class Writer:
    """A client with consumers and a card of its own, and operators who change rows by SQL."""

    def __init__(self, service: Service, number: int) -> None:
        self._service = service
        self._random: Random = seeded(number)
        self._number = number
        # Consumer -> amount on each host, by the responses.
        self.claims: dict[str, dict[str, int]] = {}
        self._consumers = [f"{number:08d}-0000-4000-8000-{each:012d}" for each in range(3)]
        self._card = f"{number:08d}-0000-4000-9000-000000000000"
        body = {"name": f"card {number}", "uuid": self._card, "parent_provider_uuid": HOSTS[0]}
        service.expect(200, "POST", "/resource_providers", body)

    def write(self) -> None:
        """Write a few times."""
        actions = [self._claim, self._claim, self._claim, self._release, self._stock, self._move]
        actions += [self._add_idle_consumer, self._lose_root, self._lose_rows]
        for _ in range(WRITES):
            self._random.choice(actions)()

    def _generation(self, consumer: str) -> Any:
        return self._service.get(f"/allocations/{consumer}").get("consumer_generation")

    def _claim(self) -> None:
        consumer = self._random.choice(self._consumers)
        amounts = {host: self._random.randint(1, 3) for host in self._random.sample(HOSTS, 2)}
        claims = {host: {"resources": {"VCPU": amount}} for host, amount in amounts.items()}
        for generation in (self._generation(consumer), 0):
            body = {"allocations": claims, "consumer_generation": generation, **OWNER}
            answer = self._service.send("PUT", f"/allocations/{consumer}", body)
            assert answer.status_code in {204, 409}, answer.text
            if answer.status_code == 204:
                self.claims[consumer] = amounts
                break

    def _release(self) -> None:
        consumer = self._random.choice(self._consumers)
        expected = 204 if self.claims.pop(consumer, None) else 404
        self._service.expect(expected, "DELETE", f"/allocations/{consumer}")

    def _stock(self) -> None:
        path = f"/resource_providers/{self._card}"
        answer = self._service.send("GET", path)
        if answer.status_code == 200:
            body = inventories(answer.json["generation"], VGPU=self._random.randint(1, 9))
            answer = self._service.send("PUT", f"{path}/inventories", body)
        assert answer.status_code in {200, 404, 409}, answer.text

    def _move(self) -> None:
        body = {
            "name": f"card {self._number}",
            "parent_provider_uuid": self._random.choice([*HOSTS, None]),
        }
        answer = self._service.send("PUT", f"/resource_providers/{self._card}", body)
        assert answer.status_code in {200, 404, 409}, answer.text

    def _sql(self, *statements: str) -> None:
        damage(self._service.database, statements)

    def _add_idle_consumer(self) -> None:
        consumer = self._random.choice(self._consumers)
        if consumer not in self.claims:
            self._sql(
                f"DELETE FROM consumers WHERE uuid = '{consumer}'",
                "INSERT INTO consumers (uuid, project_id, user_id, generation) SELECT"
                f" '{consumer}', MIN(projects.id), MIN(users.id), 0 FROM projects, users"
                " HAVING MIN(users.id) IS NOT NULL",
            )

    def _lose_root(self) -> None:
        card = f"WHERE uuid = '{self._card}'"
        self._sql(f"UPDATE resource_providers SET root_provider_id = NULL {card}")

    def _lose_rows(self) -> None:
        provider_id = NOWHERE + self._number
        lost = f"INSERT INTO resource_provider_aggregates VALUES (NULL, NULL, {provider_id}, {{}})"
        self._sql(
            f"DELETE FROM resource_provider_aggregates WHERE resource_provider_id = {provider_id}",
            *(lost.format(number) for number in range(5)),
        )


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, Service]]:
    monkeypatch.setattr(derived, "TREES_PER_TRANSACTION", 2)
    monkeypatch.setattr(checks, "ROWS_PER_TRANSACTION", 3)
    patient = {"write_timeout": 120, "max_retries": -1}
    url = database_url(tmp_path)
    with (
        Service(tmp_path, url=url, placement_database=patient) as service,
        Service(tmp_path, url=url, placement_database=patient) as operator,
    ):
        for host in HOSTS:
            service.expect(200, "POST", "/resource_providers", {"name": host, "uuid": host})
            path = f"/resource_providers/{host}/inventories"
            service.expect(200, "PUT", path, inventories(0, VCPU=ROOM))
        yield service, operator


def test_repairs_and_writes_at_once_keep_the_invariants(services: tuple[Service, Service]) -> None:
    service, operator = services
    writers = [Writer(service, number) for number in range(1, CLIENTS + 1)]
    finished = Event()

    def repair() -> None:
        while not finished.is_set():
            for row_id in range(1, len(HOSTS) + 1):
                damage(operator.database, [MISCOUNT.format(row_id)])
            checks.repair(operator.database, INCOMPLETE)
            assert wrong_usages(operator.database) == []

    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        repairing = pool.submit(repair)
        try:
            for written in [pool.submit(writer.write) for writer in writers]:
                written.result()
        finally:
            finished.set()
        repairing.result()
    checks.repair(operator.database, INCOMPLETE)
    with operator.database.read() as conn:
        assert [check.name for check, _finding in checks.find_faults(conn)] == []
        used = conn.execute(sa.text("SELECT MAX(used) FROM inventories")).scalar_one()
    assert used <= ROOM
    for writer in writers:
        for consumer, amounts in writer.claims.items():
            stored = operator.get(f"/allocations/{consumer}")["allocations"]
            assert {host: claim["resources"] for host, claim in stored.items()} == {
                host: {"VCPU": amount} for host, amount in amounts.items()
            }
