"""Holds expire and never prevent a claim. Only one of several concurrent decisions takes effect."""

import math
import os
import sqlite3
import uuid as uuids
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import tables as t
from placement.db.engine import Database
from placement.entry import app
from placement.errors import HostFull, NoCandidatesFound
from placement.objects import allocations, claim_records, holds
from placement.objects.claims import Claim, NewRecord, SpreadGroup
from placement.objects.hold_expiry import HoldExpiry
from placement.runtime import deadline
from tests.kit import service as kit
from tests.kit.builders import settings
from tests.kit.engines import ENGINE
from tests.kit.holds import ALL, ONE, VERSION, Service, claim_of, race_for_group, race_for_hold
from tests.kit.statements import counted

RACES = int(os.environ.get("PLACEMENT_RACES", "3"))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service
        service.check_used()


def put(service: Service, host: str) -> Any:
    body = kit.claim({host: {"VCPU": 4}})
    return service.send("PUT", f"/allocations/{uuids.uuid4()}", body)


def post(service: Service, host: str) -> Any:
    body = {str(uuids.uuid4()): kit.claim({host: {"VCPU": 4}})}
    return service.send("POST", "/allocations", body)


def reshape(service: Service, host: str) -> Any:
    generation = service.get(f"/resource_providers/{host}")["generation"]
    body = {
        "inventories": {host: kit.inventories(generation, VCPU=4)},
        "allocations": {str(uuids.uuid4()): kit.claim({host: {"VCPU": 4}})},
    }
    headers = {"X-Roles": "service"}
    return service.send("POST", "/reshaper", body, headers=headers)


@pytest.mark.parametrize(
    "write", [lambda service, _host: service.claim(), put, post, reshape], ids=lambda f: f.__name__
)
def test_an_expired_hold_never_refuses_a_request(
    service: Service, write: Callable[[Service, str], Any]
) -> None:
    host = service.host()
    held = service.hold()
    assert write(service, host).status_code == 409
    assert service.exists(held), "a hold that has not ended is released by no other request"
    service.end(held)
    assert write(service, host).status_code < 300
    assert not service.exists(held)
    assert service.used() == 4


def test_a_hold_that_another_process_releases_is_room(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.host()
    service.end(service.hold())

    def another_is_faster(database: Database) -> Database:
        monkeypatch.undo()
        assert holds.release_expired(database) == 1
        return database

    monkeypatch.setattr(Database, "committing", another_is_faster)
    assert service.claim().status_code == 201


@pytest.mark.skipif(ENGINE != "sqlite", reason="the replica is a copy of a file")
def test_a_replica_that_lags_hides_no_room_and_no_hold(service: Service, tmp_path: Path) -> None:
    service.host()
    held = service.hold()
    replica = tmp_path / "replica.db"
    original = str(service.database.writer.url.database)
    with closing(sqlite3.connect(replica)) as copy, closing(sqlite3.connect(original)) as source:
        source.backup(copy)
    both = {
        "connection": str(service.database.writer.url),
        "slave_connection": f"sqlite:///{replica}",
    }
    made = settings(both["connection"], placement_database=both)
    database = Database(made.database)
    client = kit.Client(app.create_app(made, database))
    service.end(held)
    body = {**claim_of(ALL), "expires_in": 600}
    client.expect(201, "POST", "/claims", body, VERSION)
    assert not service.exists(held)
    assert holds.release_all(database) == 1
    assert service.used() == 0
    database.dispose()


def test_a_second_try_has_the_deadline_of_the_request(service: Service) -> None:
    service.host()
    service.end(service.hold())
    tries: list[bool] = []

    def work(_database: Database) -> None:
        tries.append(math.isfinite(deadline._current.ends))
        if len(tries) == 1:
            raise NoCandidatesFound("request", "")

    with deadline.limit(100):
        holds.retry_with_room(service.database, work)
    assert tries == [True, True]


def test_a_dry_run_may_release_and_nothing_else(service: Service) -> None:
    service.host()
    held = service.hold()
    service.end(held)
    body = claim_of(ALL)
    service.expect(201, "POST", "/claims?dry_run=true", body, VERSION)
    assert service.used() == 0
    assert not service.exists(str(body["consumer_uuid"]))


def test_a_member_whose_hold_has_ended_makes_room_in_its_group(service: Service) -> None:
    service.host()
    group = {"name": "web", "max_per_host": 1}
    held = service.hold(ONE, spread_group=group)
    assert service.claim(ONE, spread_group=group).status_code == 409
    service.end(held)
    assert service.claim(ONE, spread_group=group).status_code == 201


def test_a_member_that_other_software_moves_to_another_project_leaves_its_group(
    service: Service,
) -> None:
    service.host()
    group = {"name": "web", "max_per_host": 1}
    assert service.claim(ONE, spread_group=group).status_code == 201
    assert service.claim(ONE, project_id="q").status_code == 201
    assert service.claim(ONE, spread_group=group).status_code == 409
    with service.database.writer.begin() as conn:
        other = "(SELECT MAX(id) FROM projects)"
        conn.execute(sa.text(f"UPDATE consumers SET project_id = {other}"))
    assert service.claim(ONE, spread_group=group).status_code == 201
    with service.database.read() as conn:
        (members,) = claim_records.members(conn).values()
    assert len(members) == 1


def test_more_holds_end_than_one_transaction_releases(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "MAX_RELEASED", 2)
    service.host(9)
    held = [service.hold(ONE) for _ in range(5)]
    for each in held[1:]:
        service.end(each)
    assert holds.release_expired(service.database) == 4
    assert [service.exists(each) for each in held] == [True, False, False, False, False]
    assert service.used() == 1
    assert holds.release_expired(service.database) == 0


@pytest.mark.parametrize("differs", ["uuid", "created_at"])
def test_a_held_consumer_that_other_software_deletes_and_creates_again_loses_nothing(
    service: Service, differs: str
) -> None:
    """The new row has the id of the former one, and its uuid or its time of creation."""
    service.host()
    held = service.hold(remember=True)
    new = {"uuid": str(uuids.uuid4()), "created_at": datetime(2001, 1, 1)}[differs]
    uuid = new if differs == "uuid" else held
    with service.database.writer.begin() as conn:
        conn.execute(sa.update(t.consumers).values({differs: new}))
        conn.execute(sa.update(t.allocations).values(consumer_id=uuid))
    service.end(held)
    shown = service.get(f"/consumers/{uuid}?include=request", VERSION)
    assert shown.keys() == {"uuid", "project_id", "user_id", "consumer_type", "generation"}
    assert service.send("DELETE", f"/holds/{uuid}", None, VERSION).status_code == 404
    assert holds.release_expired(service.database) == 0
    assert service.claim().status_code == 409, "the new consumer has all of the host"
    assert records(service) == 0, "the record of the earlier consumer is deleted in passing"


def test_a_hold_that_other_software_writes_is_permanent(service: Service) -> None:
    service.host()
    held = service.hold(remember=True)
    with service.database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE consumers SET generation = generation + 1"))
    service.end(held)
    assert service.claim().status_code == 409
    assert service.exists(held)
    with service.database.read() as conn:
        assert not claim_records.find_expired(conn, 1), "its end is not looked at again"
    shown = service.get(f"/consumers/{held}?include=request", VERSION)
    assert shown["request"] == ALL, "the rest of the record stays"
    assert service.send("GET", "/consumers?held=true", None, VERSION).json == {"consumers": []}


def test_a_request_outlives_its_hold(service: Service) -> None:
    service.host()
    held = service.hold(remember=True)
    service.expect(200, "PUT", f"/holds/{held}", {"expires_in": None}, VERSION)
    assert service.get(f"/consumers/{held}?include=request", VERSION)["request"] == ALL


def test_deleted_consumers_leave_no_record(service: Service) -> None:
    service.host()
    held = service.hold(remember=True)
    service.expect(204, "DELETE", f"/allocations/{held}")
    assert records(service) == 0
    service.expect(204, "PUT", f"/consumers/{kept(service)}/request", ALL, VERSION)
    assert records(service) == 1


def kept(service: Service) -> str:
    body = claim_of(ALL)
    service.expect(201, "POST", "/claims", body, VERSION)
    return str(body["consumer_uuid"])


def records(service: Service) -> int:
    with service.database.read() as conn:
        return int(conn.execute(sa.text("SELECT COUNT(*) FROM claim_records")).scalar_one())


def test_limits_of_holds(tmp_path: Path) -> None:
    options = {"max_holds_per_project": 2, "max_hold_age": 700}
    with Service(tmp_path, placement=options) as service:
        service.host(9)
        assert code(service.claim(ONE, expires_in=701)) == "placement.hold_limit"
        first, _second = service.hold(ONE), service.hold(ONE)
        assert code(service.claim(ONE, expires_in=1)) == "placement.hold_limit"
        assert service.claim(ONE).status_code == 201, "a claim for good is no hold"
        assert service.claim(ONE, project_id="q", expires_in=1).status_code == 201
        path = f"/holds/{first}"
        service.expect(200, "PUT", path, {"expires_in": 650}, VERSION)
        answer = service.send("PUT", path, {"expires_in": 701}, VERSION)
        assert code(answer) == "placement.hold_limit"
        with service.database.writer.begin() as conn:
            conn.execute(sa.text("UPDATE claim_records SET held_since = held_since - 100"))
        answer = service.send("PUT", path, {"expires_in": 650}, VERSION)
        assert code(answer) == "placement.hold_limit", "the age is counted from the claim"
        service.end(first)
        assert service.claim(ONE, expires_in=1).status_code == 201, "ended holds do not count"
        three = [{**claim_of(ONE), "project_id": "r", "expires_in": 1} for _ in range(3)]
        answer = service.send("POST", "/claims", {"claims": three}, VERSION)
        assert code(answer) == "placement.hold_limit", "the holds of a request count together"


def code(answer: Any) -> str:
    assert answer.status_code == 409, answer.text
    return str(answer.json["errors"][0]["code"])


def test_a_claim_with_all_of_it_takes_two_statements_more(service: Service) -> None:
    service.host(99)
    service.claim(ONE)
    everything = {
        "remember": True,
        "expires_in": 600,
        "spread_group": {"name": "web", "max_per_host": 9},
    }
    numbers = []
    for members in ({}, everything, {}, {"remember": False}, {"remember": True}):
        with counted(service.database) as statements:
            assert service.claim(ONE, **members).status_code == 201
        numbers.append(len(statements))
    plain = numbers[0]
    assert numbers == [plain, plain + 2, plain, plain, plain + 2]


def test_a_thread_of_the_process_releases_what_no_request_does(service: Service) -> None:
    service.host()
    held = service.hold()
    service.end(held)
    expiry = HoldExpiry(service.database, interval=0.01)
    expiry.ensure_started()
    expiry.ensure_started()
    try:
        assert any(not service.exists(held) for _ in range(10_000)), "the hold was not released"
    finally:
        expiry.stop()


def test_members_of_one_request_count_for_a_host(service: Service) -> None:
    """A search spreads the members of its request. Others could use the same host meanwhile."""
    host = service.host()
    record = NewRecord(SpreadGroup("web", 1), host)
    claims = [
        Claim(str(uuids.uuid4()), {host: {"VCPU": 1}}, "p", "u", None, record=record)
        for _ in range(2)
    ]
    with pytest.raises(HostFull):
        service.database.write(partial(allocations.replace, claims=claims))
    service.database.write(partial(allocations.replace, claims=claims[:1]))


def test_members_on_a_tree_whose_root_shares_are_not_counted(service: Service) -> None:
    path = f"/resource_providers/{service.host()}/traits"
    traits = {"resource_provider_generation": 1, "traits": ["MISC_SHARES_VIA_AGGREGATE"]}
    service.expect(200, "PUT", path, traits)
    group = {"name": "web", "max_per_host": 1}
    claims = [{**claim_of(ONE), "spread_group": group} for _ in range(2)]
    service.expect(201, "POST", "/claims", {"claims": claims}, VERSION)
    assert service.claim(ONE, spread_group=group).status_code == 201


# -- races ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("race", [race_for_hold, race_for_group])
def test_of_racing_requests_as_many_succeed_as_may(
    service: Service, race: Callable[[Sequence[Service], int], None]
) -> None:
    race([service], RACES)


def test_a_request_remembered_during_a_conversion_is_not_lost(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.host()
    held, new = service.hold(remember=True), claim_of(None)
    del new["request"]
    later = {**ALL, "limit": 1}
    read = claim_records.get_for_consumers
    remembering: list[Future[Any]] = []
    with ThreadPoolExecutor(1) as pool:

        def read_before(conn: sa.Connection, uuids: Collection[str]) -> Any:
            records = read(conn, uuids)
            if not remembering:
                path = f"/consumers/{held}/request"
                remembering.append(pool.submit(service.send, "PUT", path, later, VERSION))
                wait(remembering, timeout=0.2)  # it may wait for a lock of the conversion
            return records

        monkeypatch.setattr(claim_records, "get_for_consumers", read_before)
        service.expect(201, "POST", "/claims", {**new, "from_hold": held}, VERSION)
        [remembered] = [each.result().status_code for each in remembering]
    path = f"/consumers/{new['consumer_uuid']}?include=request"
    kept = service.get(path, VERSION)["request"]
    assert (remembered, kept) in [(404, ALL), (204, later)]
