"""Claims are compared with state that was read before any lock, and that may have changed.

Each test has others do something between that and the first row that is written.
"""

import uuid as uuids
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.objects import allocation_state, locking
from placement.objects.allocation_change import AllocationState
from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.engines import ENGINE
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")

#   HOST  VCPU 10         OTHER  VCPU 10
#     |
#   NODE  DISK_GB 10
HOST, NODE, OTHER = (str(uuids.UUID(int=number)) for number in (1, 2, 3))
CONSUMER, SOMEBODY = (str(uuids.UUID(int=number)) for number in (11, 12))
FOUR = claim({HOST: {"VCPU": 4}})


class Cloud(Service):
    """A service with two trees, whose transactions that write are counted."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.transactions = 0
        for uuid, parent, stock in (
            (HOST, None, {"VCPU": 10}),
            (NODE, HOST, {"DISK_GB": 10}),
            (OTHER, None, {"VCPU": 10}),
        ):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            self.expect(200, "POST", "/resource_providers", body)
            self.expect(
                200, "PUT", f"/resource_providers/{uuid}/inventories", inventories(0, **stock)
            )
        sa.event.listen(self.database.writer, "begin", self._begin)

    def _begin(self, _conn: sa.Connection) -> None:
        self.transactions += 1

    def generation(self, uuid: str) -> int:
        return int(self.get(f"/resource_providers/{uuid}")["generation"])

    def stock(self, uuid: str, **record: int) -> None:
        """Set or delete the VCPU inventory of a provider."""
        body: dict[str, Any] = inventories(self.generation(uuid))
        body["inventories"] = {"VCPU": {"total": 10, **record}} if record else {}
        self.expect(200, "PUT", f"/resource_providers/{uuid}/inventories", body)

    def move(self, uuid: str, parent: str | None) -> None:
        body = {"name": uuid, "parent_provider_uuid": parent}
        self.expect(200, "PUT", f"/resource_providers/{uuid}", body)

    def revisions(self) -> dict[str, int]:
        """The revisions of the trees, by their roots."""
        with self.database.read() as conn:
            rows = conn.exec_driver_sql(
                "SELECT uuid, revision FROM resource_providers WHERE root_provider_id = id"
            )
            return dict(map(tuple, rows))


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with Cloud(tmp_path) as made:
        yield made
        made.check_used()


Act = Callable[[Cloud], Any]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Execute other writes after the next read of a write of allocations."""
    read = allocation_state.read

    def late(*arguments: Any) -> AllocationState:
        state = read(*arguments)
        monkeypatch.setattr(allocation_state, "read", read)
        act()
        return state

    monkeypatch.setattr(allocation_state, "read", late)


def take(amount: int) -> Act:
    body = claim({HOST: {"VCPU": amount}})
    return lambda cloud: cloud.expect(204, "PUT", f"/allocations/{SOMEBODY}", body)


def delete_host(cloud: Cloud) -> None:
    for uuid in (NODE, HOST):
        cloud.expect(204, "DELETE", f"/resource_providers/{uuid}")


def restock(cloud: Cloud) -> None:
    cloud.stock(HOST)
    cloud.stock(HOST, total=10)


@pytest.mark.parametrize(
    ("act", "status"),
    [
        pytest.param(take(6), 204, id="others take what is left beside it"),
        pytest.param(take(7), 409, id="others take more"),
        pytest.param(lambda cloud: cloud.stock(HOST, total=3), 409, id="there is less"),
        pytest.param(lambda cloud: cloud.stock(HOST, step_size=3), 409, id="another step"),
        pytest.param(lambda cloud: cloud.stock(HOST, min_unit=5), 409, id="a larger minimum"),
        pytest.param(lambda cloud: cloud.stock(HOST, max_unit=3), 409, id="a smaller maximum"),
        pytest.param(lambda cloud: cloud.stock(HOST, step_size=2, min_unit=4), 204, id="it fits"),
        pytest.param(lambda cloud: cloud.stock(HOST), 409, id="the inventory goes"),
        pytest.param(restock, 204, id="the inventory goes and comes back"),
        pytest.param(delete_host, 400, id="the provider goes"),
        pytest.param(lambda cloud: cloud.move(HOST, OTHER), 204, id="the provider moves"),
        pytest.param(
            lambda cloud: cloud.expect(204, "PUT", f"/allocations/{CONSUMER}", FOUR),
            409,
            id="the consumer comes",
        ),
    ],
)
def test_a_new_consumer_gets_what_there_is_when_its_rows_are_written(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, act: Act, status: int
) -> None:
    meanwhile(monkeypatch, lambda: act(cloud))
    cloud.expect(status, "PUT", f"/allocations/{CONSUMER}", FOUR)


def test_what_leaves_enough_does_not_have_a_claim_begin_again(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile(monkeypatch, lambda: take(6)(cloud))
    cloud.transactions = 0
    cloud.expect(204, "PUT", f"/allocations/{CONSUMER}", FOUR)
    assert cloud.transactions == 2  # one for each consumer


def test_the_tree_that_a_provider_has_moved_to_is_outdated(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also applies if the consumer only leaves the provider, because caches are outdated."""
    both = claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 1}})
    seen: list[dict[str, int]] = []

    def move(parent: str | None) -> None:
        cloud.move(NODE, parent)
        seen.append(cloud.revisions())

    path = f"/allocations/{CONSUMER}"
    meanwhile(monkeypatch, lambda: move(OTHER))
    cloud.expect(204, "PUT", path, both)
    now = cloud.revisions()
    assert {root for root in now if now[root] != seen[-1][root]} == {HOST, OTHER}

    meanwhile(monkeypatch, lambda: move(HOST))
    cloud.expect(204, "PUT", path, claim({OTHER: {"VCPU": 1}}, generation=1))
    now = cloud.revisions()
    assert {root for root in now if now[root] != seen[-1][root]} == {HOST, OTHER}

    cloud.expect(204, "PUT", path, claim({NODE: {"DISK_GB": 1}}, generation=2))
    meanwhile(monkeypatch, lambda: move(None))
    cloud.expect(204, "DELETE", path)
    now = cloud.revisions()
    assert {root for root in now if now[root] != seen[-1][root]} == {NODE}


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (("PUT", f"/allocations/{CONSUMER}", claim({HOST: {"VCPU": 2}}, generation=1)), 409),
        (("POST", "/allocations", {CONSUMER: claim({}, generation=1)}), 409),
        (("DELETE", f"/allocations/{CONSUMER}"), 204),
    ],
)
def test_a_concurrently_changed_consumer_is_read_again(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, request_: tuple[Any, ...], status: int
) -> None:
    path = f"/allocations/{CONSUMER}"
    cloud.expect(204, "PUT", path, FOUR)
    others = claim({OTHER: {"VCPU": 5}}, generation=1)
    meanwhile(monkeypatch, lambda: cloud.expect(204, "PUT", path, others))
    cloud.expect(status, *request_)
    left = {OTHER: {"VCPU": 5}} if status == 409 else {}
    allocations = cloud.get(path)["allocations"]
    assert {uuid: each["resources"] for uuid, each in allocations.items()} == left


def test_what_a_consumer_keeps_has_to_be_allowed_when_its_rows_are_written(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/allocations/{CONSUMER}"
    cloud.expect(204, "PUT", path, FOUR)
    meanwhile(monkeypatch, lambda: cloud.stock(HOST, step_size=3))
    cloud.expect(409, "PUT", path, claim({HOST: {"VCPU": 4}}, generation=1))


def test_a_class_whose_id_came_back_under_another_name_is_not_claimed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restock(name: str) -> None:
        body = inventories(cloud.generation(HOST), **{name: 10})
        cloud.expect(200, "PUT", f"/resource_providers/{HOST}/inventories", body)

    def rename() -> None:
        restock("VCPU")
        cloud.expect(204, "DELETE", "/resource_classes/CUSTOM_OLD")
        cloud.expect(201, "PUT", "/resource_classes/CUSTOM_NEW")
        restock("CUSTOM_NEW")

    cloud.expect(201, "PUT", "/resource_classes/CUSTOM_OLD")
    restock("CUSTOM_OLD")
    meanwhile(monkeypatch, rename)
    body = claim({HOST: {"CUSTOM_OLD": 1}})
    cloud.expect(400, "PUT", f"/allocations/{CONSUMER}", body)


def test_a_thousand_consumers_are_claimed_for_under_the_lock_of_what_was_read(
    cloud: Cloud,
) -> None:
    """A single statement cannot contain all consumers, so the state must be read under locks."""
    cloud.stock(OTHER, total=3000)
    bodies = {str(uuids.UUID(int=1000 + n)): claim({OTHER: {"VCPU": 1}}) for n in range(1500)}
    cloud.expect(204, "POST", "/allocations", bodies)
    for body in bodies.values():
        body["consumer_generation"] = 1
        body["allocations"] = {OTHER: {"resources": {"VCPU": 2}}}
    cloud.expect(204, "POST", "/allocations", bodies)
    for body in bodies.values():
        body["consumer_generation"] = 2
        body["allocations"] = {}
    cloud.expect(204, "POST", "/allocations", bodies)
    assert cloud.get(f"/resource_providers/{OTHER}/usages")["usages"] == {"VCPU": 0}


@pytest.mark.parametrize(
    "request_",
    [
        ("PUT", f"/allocations/{CONSUMER}", claim({OTHER: {"VCPU": 2}}, generation=1)),
        ("POST", "/allocations", {CONSUMER: claim({}, generation=1)}),
        ("DELETE", f"/allocations/{CONSUMER}"),
    ],
)
def test_a_concurrently_created_inventory_does_not_count_deleted_allocations(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, request_: tuple[Any, ...]
) -> None:
    """In an adopted database, allocations may exist without an inventory."""
    cloud.expect(204, "PUT", f"/allocations/{CONSUMER}", FOUR)
    with cloud.database.writer.begin() as conn:
        conn.exec_driver_sql("DELETE FROM inventories WHERE used = 4")
    look = allocation_state._read

    def late(*arguments: Any) -> AllocationState:
        state = look(*arguments)
        monkeypatch.setattr(allocation_state, "_read", look)
        cloud.stock(HOST, total=10)
        return state

    monkeypatch.setattr(allocation_state, "_read", late)
    cloud.expect(204, *request_)
    assert cloud.get(f"/resource_providers/{HOST}/usages")["usages"] == {"VCPU": 0}


def test_a_tree_that_a_provider_moves_to_before_the_lock_is_locked_too(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reshape locks the trees that it has read. Caches of the other tree are outdated as well."""
    lock, moved = locking.lock_roots, dict[str, int]()

    def late(conn: sa.Connection, revisions: Mapping[int, int]) -> None:
        monkeypatch.setattr(locking, "lock_roots", lock)
        cloud.move(NODE, OTHER)
        moved.update(cloud.revisions())
        lock(conn, revisions)

    monkeypatch.setattr(locking, "lock_roots", late)
    shapes = {NODE: inventories(cloud.generation(NODE), DISK_GB=20)}
    cloud.expect(204, "POST", "/reshaper", {"inventories": shapes, "allocations": {}})
    assert cloud.revisions()[OTHER] != moved[OTHER]


def test_a_tree_that_has_changed_since_it_was_read_is_locked_before_it_is_read_again(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trait of another provider of the tree changes its revision only."""
    lock, retries = locking.lock_unchanged, []

    def late(*arguments: Any, **options: Any) -> int:
        monkeypatch.setattr(locking, "lock_unchanged", lock)
        traits = {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX2"]}
        cloud.expect(200, "PUT", f"/resource_providers/{NODE}/traits", traits)
        return lock(*arguments, **options)

    def note(event: Event, details: Details) -> None:
        if event is Event.RETRY:
            retries.append(details)

    end = events.listen(note)
    monkeypatch.setattr(locking, "lock_unchanged", late)
    cloud.transactions = 0
    cloud.stock(HOST, total=9)
    end()
    # The first attempt, the other write, and the attempt that has locked the tree.
    assert cloud.transactions == 3
    assert not retries
    assert cloud.get(f"/resource_providers/{HOST}/inventories")["inventories"]["VCPU"]["total"] == 9
