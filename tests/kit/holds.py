"""A service whose clients claim, hold, confirm and release, and races of these clients."""

from __future__ import annotations

import uuid as uuids
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from threading import Barrier
from typing import Any

import sqlalchemy as sa

from placement.objects import holds
from tests.kit import service as kit

VERSION = "2.0"
ONE = {"groups": {"": {"resources": {"VCPU": 1}}}}
ALL = {"groups": {"": {"resources": {"VCPU": 4}}}}
# Concurrent claims for a spread group.
CLAIMS = 12


class Service(kit.Service):
    """A service whose clients hold, confirm and release."""

    def host(self, total: int = 4) -> str:
        uuid = str(uuids.uuid4())
        self.expect(200, "POST", "/resource_providers", {"name": uuid, "uuid": uuid})
        body = kit.inventories(0, VCPU=total)
        self.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", body)
        return uuid

    def claim(self, request: object = ALL, **members: object) -> Any:
        """Return the response to a claim of a new consumer."""
        return self.send("POST", "/claims", {**claim_of(request), **members}, VERSION)

    def hold(self, request: object = ALL, **members: object) -> str:
        """Create a new hold."""
        body = {**claim_of(request), "expires_in": 600, **members}
        self.expect(201, "POST", "/claims", body, VERSION)
        return str(body["consumer_uuid"])

    def end(self, consumer: str, *, record: str = "consumer_uuid") -> None:
        """Let the time of a hold expire."""
        with self.database.writer.begin() as conn:
            statement = f"UPDATE claim_records SET expires_at = 1 WHERE {record} = :uuid"
            assert conn.execute(sa.text(statement), {"uuid": consumer}).rowcount == 1

    def exists(self, consumer: str) -> bool:
        return self.send("GET", f"/consumers/{consumer}", None, VERSION).status_code == 200

    def used(self) -> int:
        with self.database.read() as conn:
            return int(conn.execute(sa.text("SELECT SUM(used) FROM inventories")).scalar_one())


def claim_of(request: object) -> dict[str, object]:
    return {
        "request": request,
        "consumer_uuid": str(uuids.uuid4()),
        "project_id": "p",
        "user_id": "u",
        "consumer_type": "INSTANCE",
    }


def race(*acts: Callable[[], Any]) -> list[Any]:
    """Run all functions at the same time. Return their results."""
    barrier = Barrier(len(acts))

    def act(each: Callable[[], Any]) -> Any:
        barrier.wait()
        return each()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


def race_for_hold(services: Sequence[Service], rounds: int) -> None:
    """Take over, extend, delete and release an ended hold at the same time: one request wins.

    The services have the same database, or a node of one cluster each.
    """
    first = services[0]
    first.host()
    nodes = cycle(services)
    for number in range(rounds):
        next(nodes)  # each round gives each request to another node
        _race_for_hold(first, nodes, f"round {number}")


def _race_for_hold(first: Service, nodes: Iterator[Service], name: str) -> None:
    held, new = first.hold(remember=True), claim_of(None)
    first.end(held)
    del new["request"]
    path = f"/holds/{held}"

    def on_next(method: str, path: str, body: object = None) -> Callable[[], int]:
        node = next(nodes)
        return lambda: node.send(method, path, body, VERSION).status_code

    releasing = next(nodes).database
    taken, extended, deleted, released = race(
        on_next("POST", "/claims", {**new, "from_hold": held}),
        on_next("PUT", path, {"expires_in": 900}),
        on_next("DELETE", path),
        lambda: holds.release_expired(releasing),
    )
    assert taken in {201, 409}, (name, taken)
    assert extended in {200, 404}, (name, extended)
    assert deleted in {204, 404}, (name, deleted)
    # An extension is followed by nothing, or by one of the others: exactly one end of the hold.
    ends = [taken == 201, deleted == 204, released == 1]
    assert ends.count(True) == 1 or (extended == 200 and not any(ends)), (name, ends)
    assert not (extended == 200 and released), f"{name}: an extended hold has not ended"
    new_uuid = str(new["consumer_uuid"])
    assert first.exists(new_uuid) == (taken == 201), name
    assert first.exists(held) == (not any(ends)), name
    left = new_uuid if taken == 201 else "" if any(ends) else held
    assert first.used() == (4 if left else 0), name
    if left:
        first.expect(204, "DELETE", f"/allocations/{left}")


def race_for_group(services: Sequence[Service], rounds: int) -> None:
    """Claim at the same time for a group that has room for half of the claims.

    The services have the same database, or a node of one cluster each.
    """
    hosts = [services[0].host(CLAIMS * rounds) for _ in range(3)]
    nodes = cycle(services)
    for number in range(rounds):
        group = {"name": f"web-{number}", "max_per_host": 2}
        claims = [partial(next(nodes).claim, ONE, spread_group=group) for _ in range(CLAIMS)]
        answers = race(*claims)
        counts = Counter(each.status_code for each in answers)
        assert counts == {201: 6, 409: 6}, f"round {number}"
        placed = Counter(uuid for each in answers for uuid in each.json.get("allocations", ()))
        assert placed == dict.fromkeys(hosts, 2), f"round {number}"
