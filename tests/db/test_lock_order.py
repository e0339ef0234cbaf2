"""A transaction that waits for a tree holds no other lock in the tree, which avoids deadlocks."""

import time
import uuid as uuids
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.statements import allocations as statements
from placement.objects import allocation_state, locking
from placement.runtime import events
from placement.runtime.events import Details, Event
from tests.kit.engines import ENGINE, FAMILY
from tests.kit.interleaving import is_waiting
from tests.kit.service import Service, claim, inventories

pytestmark = pytest.mark.skipif(ENGINE == "sqlite", reason="nobody writes while another one does")

#   HOST  VCPU
#     |
#   NODE  DISK_GB
HOST, NODE = (str(uuids.UUID(int=number)) for number in (1, 2))
CONSUMER, OTHER = (str(uuids.UUID(int=number)) for number in (11, 12))
BOTH = claim({HOST: {"VCPU": 1}, NODE: {"DISK_GB": 1}})

PATIENCE = 300  # seconds
BY_TREE = {
    "mariadb": "FORCE INDEX (resource_providers_root_provider_id_idx) WHERE root_provider_id",
    "postgresql": "WHERE root_provider_id",
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as made:
        for uuid, parent, stock in ((HOST, None, {"VCPU": 9}), (NODE, HOST, {"DISK_GB": 9})):
            body = {"name": uuid, "uuid": uuid, "parent_provider_uuid": parent}
            made.expect(200, "POST", "/resource_providers", body)
            path = f"/resource_providers/{uuid}/inventories"
            made.expect(200, "PUT", path, inventories(0, **stock))
        # On PostgreSQL the row of the root lies behind that of the node now.
        made.expect(204, "PUT", f"/allocations/{OTHER}", claim({HOST: {"VCPU": 1}}))
        yield made


def put(service: Service) -> Any:
    return service.send("PUT", f"/allocations/{CONSUMER}", BOTH)


def demand(service: Service) -> Any:
    body = {
        "request": {"groups": {"": {"resources": {"VCPU": 1, "DISK_GB": 1}}}},
        "consumer_uuid": CONSUMER,
        "project_id": "project",
        "user_id": "user",
        "consumer_type": "INSTANCE",
    }
    return service.send("POST", "/claims", body, "2.0")


@pytest.mark.parametrize("act", [put, demand])
def test_a_claim_that_waits_for_a_root_has_locked_nothing_else_of_its_tree(
    service: Service, act: Callable[[Service], Any]
) -> None:
    with ThreadPoolExecutor(1) as pool, service.database.writer.connect() as conn:
        conn.begin()
        with service.database.read() as reading:
            root_id = reading.exec_driver_sql("SELECT MIN(id) FROM resource_providers").scalar_one()
        locking.renew_revisions(conn, [root_id])
        answer = pool.submit(act, service)
        try:
            wait_for_a_waiting_claim(service)
            rows = f"SELECT id FROM resource_providers {BY_TREE[FAMILY]} = {root_id}"
            assert len(conn.execute(sa.text(f"{rows} FOR UPDATE NOWAIT")).all()) == 2
        finally:
            conn.rollback()
        assert answer.result().status_code < 300
    service.check_used()


def test_a_claim_of_new_consumers_that_waits_for_the_first_has_none_of_the_others(
    service: Service,
) -> None:
    retries: list[object] = []

    def note(event: Event, details: Details) -> None:
        if event is Event.RETRY:
            retries.append(details)

    first, last = sorted(str(uuids.UUID(int=number)) for number in (21, 22))
    body = {uuid: claim({HOST: {"VCPU": 1}}) for uuid in (last, first)}
    end = events.listen(note)
    with ThreadPoolExecutor(1) as pool, service.database.writer.connect() as conn:
        conn.begin()
        owner = allocation_state.find_consumers(conn, [OTHER])[OTHER]
        ids = {"project_id": owner.project_id, "user_id": owner.user_id, "consumer_type_id": None}
        statements.create_consumers([{"uuid": first, **ids}]).execute(conn)
        answer = pool.submit(service.send, "POST", "/allocations", body)
        try:
            wait_for_a_waiting_claim(service)
            statements.create_consumers([{"uuid": last, **ids}]).execute(conn)
        finally:
            conn.rollback()
        assert answer.result().status_code == 204
    end()
    assert not retries


def wait_for_a_waiting_claim(service: Service) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with service.database.read() as conn:
            if is_waiting(conn):
                return
        # InnoDB refreshes its view of transactions only after 0.1 s without a query of it.
        time.sleep(0.3)
    raise AssertionError("nobody waits for the tree")
