"""The limits of simulations: the limit on work, and one simulation at a time in a process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from placement.api.operations import simulations
from placement.db import tables as t
from placement.foresight.simulation.simulate import simulate
from placement.runtime import turns
from tests.kit.cloud import SHARING, aggregate_uuid, building, provider_uuid
from tests.kit.engines import FAMILY
from tests.kit.service import Service
from tests.kit.statements import counted

HOSTS = 40
OWNER = {
    "project_id": "p",
    "user_id": "u",
    "consumer_type": "INSTANCE",
    "consumer_generation": None,
}
ONE_VCPU = {"groups": {"": {"resources": {"VCPU": 1}}}}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            for number in range(1, HOSTS + 1):
                cloud.add(f"host{number}", {"VCPU": 8})
        yield service


def populate(service: Service, *hosts: int, consumers: int = 4) -> list[str]:
    """Create consumers of 1 VCPU on each of these hosts. Return the consumers."""
    bodies: dict[str, Any] = {}
    for host in hosts:
        for number in range(consumers):
            allocations = {provider_uuid(host): {"resources": {"VCPU": 1}}}
            uuid = f"c0000000-0000-4000-8000-{host:06d}{number:06d}"
            bodies[uuid] = {"allocations": allocations, **OWNER}
    service.expect(204, "POST", "/allocations", bodies, "2.0")
    return sorted(bodies)


def drain(*hosts: int) -> dict[str, Any]:
    return {"drain": [provider_uuid(host) for host in hosts]}


def simulated(service: Service, *changes: Any, **members: Any) -> Any:
    body = {"changes": list(changes), **members}
    return service.expect(200, "POST", "/simulations", body, "2.0").json


def test_the_bound_on_work_ends_a_simulation(tmp_path: Path) -> None:
    # A placement costs at least two steps.
    with Service(tmp_path, placement={"max_simulation_steps": 60}) as service:
        with building(service.database.writer) as cloud:
            for number in range(1, HOSTS + 1):
                cloud.add(f"host{number}", {"VCPU": 8})
        first, second = populate(service, 1, consumers=8), populate(service, 2)
        answer = simulated(service, drain(1), drain(2), {"claim": {"request": ONE_VCPU}})
        assert answer["fits"] is None
        assert answer["complete"] is False
        moved = [each["consumer"] for each in answer["moves"]]
        assert answer["unplaceable"] == []
        assert sorted(moved + answer["undecided"]) == sorted(first + second)
        assert moved
        assert answer["undecided"]
        assert [each["code"] for each in answer["claims"]] == ["budget"]


def test_the_bodies_of_moves_are_valid_for_consumers_without_a_type(service: Service) -> None:
    consumer = "c0000000-0000-4000-8000-000000000001"
    held = {"allocations": {provider_uuid(1): {"resources": {"VCPU": 1}}}, **OWNER}
    del held["consumer_type"]
    service.expect(204, "PUT", f"/allocations/{consumer}", held, "1.37")
    (move,) = simulated(service, drain(1))["moves"]
    bodies = {consumer: move["body"]}
    service.expect(400, "POST", "/allocations", bodies, "1.39")
    service.expect(204, "POST", "/allocations", bodies, "2.0")
    after = service.get(f"/allocations/{consumer}", "2.0")
    assert list(after["allocations"]) == [provider_uuid(2)]
    assert after["consumer_type"] == "unknown"


def test_copies_are_bounded_before_they_are_made(tmp_path: Path) -> None:
    with Service(tmp_path, placement={"max_simulation_steps": 100_000}) as service:
        with building(service.database.writer) as cloud:
            root = cloud.add("host", {"VCPU": 8})
            for number in range(100):
                cloud.add(f"child{number}", {"VCPU": 1}, parent=root)
        # A hundred providers each: the bound allows eight copies.
        add = {"add": {"like": provider_uuid(root), "count": 10_000}}
        answer = simulated(service, add, {"claim": {"request": ONE_VCPU}})
        assert (answer["fits"], answer["complete"]) == (None, False)


@pytest.mark.parametrize("order", [[], [{"by": "trait", "name": "COMPUTE_NODE", "first": "with"}]])
def test_hosts_are_not_searched_in_vain_for_candidates_of_their_own(
    tmp_path: Path, order: list[Any]
) -> None:
    with Service(tmp_path, placement={"max_search_steps": 100_000}) as service:
        with building(service.database.writer) as cloud:
            root = cloud.add("host", {"VCPU": 8}, aggregates=["a"])
            sharing: dict[str, Any] = {"traits": [SHARING], "aggregates": ["a"]}
            cloud.add("disk", {"DISK_GB": 100}, parent=root, **sharing)
            for number in range(20):
                cloud.add(f"storage{number}", {"DISK_GB": 100}, **sharing)
        # Each of 8 groups can be served by each of 21 providers.
        groups = {f"_{number}": {"resources": {"DISK_GB": 1}} for number in range(8)}
        answer = simulated(service, {"claim": {"request": {"groups": groups}}}, order=order)
        assert answer["fits"] is True
        body = {"groups": groups, "limit": 10, "order": order}
        found = service.expect(200, "POST", "/allocation_candidates", body, "2.0").json
        assert len(found["allocation_requests"]) == 10
        assert "complete" not in found


def test_full_hosts_are_not_searched_for_each_claim(tmp_path: Path) -> None:
    """A search of a full host takes at least a step, and there are 50 claims of 500 hosts."""
    full = [{"VCPU": 2, "MEMORY_MB": 8}, {"VCPU": 1, "MEMORY_MB": 900}, {"MEMORY_MB": 900}]
    with Service(tmp_path, placement={"max_simulation_steps": 12_000}) as service:
        with building(service.database.writer) as cloud:
            for number in range(500):
                cloud.add(f"full{number}", full[number % 3])
            cloud.add("free", {"VCPU": 4096, "MEMORY_MB": 8192})
        groups = [{"": {"resources": {"VCPU": 2, "MEMORY_MB": 9 + each}}} for each in range(50)]
        answer = simulated(service, *[{"claim": {"request": {"groups": each}}} for each in groups])
        assert (answer["fits"], answer["complete"]) == (True, True)


def test_a_process_works_on_one_simulation_at_a_time(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()

    def slow(*arguments: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return simulate(*arguments)

    monkeypatch.setattr(simulations, "simulate", slow)
    monkeypatch.setattr(turns, "MAX_WAIT", 0.01)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(simulated, service, drain(1))
        assert begun.wait(60)
        busy = service.expect(503, "POST", "/simulations", {"changes": []}, "2.0")
        assert busy.headers["Retry-After"] == "5"
        assert busy.json["errors"][0]["code"] == "placement.large_work_busy"
        go_on.set()
        assert first.result()["fits"] is True
    assert simulated(service, drain(1))["fits"] is True


@pytest.mark.parametrize("consumers", [1, 8])
def test_statements_do_not_depend_on_the_number_of_consumers(
    service: Service, consumers: int
) -> None:
    populate(service, 1, 2, consumers=consumers)
    simulated(service, drain(1, 2))
    with counted(service.database) as statements:
        answer = simulated(service, drain(1, 2), order=[])
    assert len(answer["moves"]) == 2 * consumers
    # Roots, consumers of trees, their allocations, expired holds and records; where views tear, the
    # roots again.
    assert len(statements) == 5 + (FAMILY == "mariadb")


def test_an_expired_hold_does_not_move_and_its_resources_are_free(service: Service) -> None:
    for number, host in enumerate((1, 2)):
        request = {"groups": {"": {"resources": {"VCPU": 8}, "in_tree": provider_uuid(host)}}}
        body = {**OWNER, "request": request, "expires_in": 600}
        body["consumer_uuid"] = f"c0000000-0000-4000-8000-{number:012d}"
        service.expect(201, "POST", "/claims", body, "2.0")
    claim = {"claim": {"request": {"groups": {"": {"resources": {"VCPU": 8}}}}}}
    drained = drain(*range(3, HOSTS + 1))
    assert len(simulated(service, drain(1))["moves"]) == 1
    assert simulated(service, drain(1), drained, claim)["fits"] is False
    with service.database.writer.begin() as conn:
        conn.execute(sa.update(t.claim_records).values(expires_at=1))
    for changes in ([drain(1)], [drain(1), drained, claim]):
        answer = simulated(service, *changes)
        assert (answer["fits"], answer["moves"], answer["unplaceable"]) == (True, [], [])


def test_an_expired_hold_is_no_member_of_its_spread_group(service: Service) -> None:
    for number, host in enumerate((1, 2)):
        request = {"groups": {"": {"resources": {"VCPU": 1}, "in_tree": provider_uuid(host)}}}
        body: dict[str, Any] = {
            **OWNER,
            "request": request,
            "spread_group": {"name": "g", "max_per_host": 1},
        }
        body["consumer_uuid"] = f"c0000000-0000-4000-8000-{number:012d}"
        if host == 2:
            body["expires_in"] = 600
        service.expect(201, "POST", "/claims", body, "2.0")
    drained = drain(1, *range(3, HOSTS + 1))
    assert simulated(service, drained)["fits"] is False
    with service.database.writer.begin() as conn:
        held = t.claim_records.c.expires_at.is_not(None)
        conn.execute(sa.update(t.claim_records).where(held).values(expires_at=1))
    assert [move["to"] for move in simulated(service, drained)["moves"]] == [[provider_uuid(2)]]


def test_an_allocation_without_an_inventory_takes_up_no_capacity(service: Service) -> None:
    # Other software may delete an inventory in use. The request is refused at first, so what the
    # consumer holds elsewhere is released and taken again.
    consumer = "c0000000-0000-4000-8000-000000000001"
    held = {provider_uuid(host): {"resources": {"VCPU": 8}} for host in (1, 2)}
    service.expect(204, "PUT", f"/allocations/{consumer}", {"allocations": held, **OWNER}, "2.0")
    with service.database.writer.begin() as conn:
        provider = t.resource_providers.c.uuid == provider_uuid(2)
        root = conn.scalars(sa.select(t.resource_providers.c.id).where(provider)).one()
        conn.execute(sa.delete(t.inventories).where(t.inventories.c.resource_provider_id == root))
    service.restart()
    requests = {consumer: {"groups": {"": {"resources": {"VCPU": 9}}}}}
    answer = simulated(service, drain(1), requests=requests)
    assert [each["consumer"] for each in answer["unplaceable"]] == [consumer]


# Two groups need more together than the host has free, although each of them fits.
@pytest.mark.parametrize(("held_units", "suffixes"), [(8, [""]), (2, ["_A", "_B"])])
def test_a_host_that_was_full_serves_the_consumer_that_releases_it(
    service: Service, held_units: int, suffixes: list[str]
) -> None:
    first, second = (f"c0000000-0000-4000-8000-{number:012d}" for number in (1, 2))
    held = {first: {1: 5}, second: {1: 1, 2: held_units}}
    bodies = {
        consumer: {
            "allocations": {
                provider_uuid(host): {"resources": {"VCPU": units}} for host, units in parts.items()
            },
            **OWNER,
        }
        for consumer, parts in held.items()
    }
    service.expect(204, "POST", "/allocations", bodies, "2.0")
    group = {"resources": {"VCPU": 8 // len(suffixes)}, "in_tree": provider_uuid(2)}
    request = {"groups": dict.fromkeys(suffixes, group), "group_policy": "none"}
    answer = simulated(service, drain(1), requests={first: request, second: request})
    assert [each["consumer"] for each in answer["unplaceable"]] == [first]
    assert [each["consumer"] for each in answer["moves"]] == [second]


def test_each_consumer_moves_to_the_host_of_its_other_allocations(service: Service) -> None:
    bodies = {
        f"c0000000-0000-4000-8000-{other:012d}": {
            "allocations": {provider_uuid(host): {"resources": {"VCPU": 1}} for host in (1, other)},
            **OWNER,
        }
        for other in (2, 3)
    }
    service.expect(204, "POST", "/allocations", bodies, "2.0")
    moves = simulated(service, drain(1))["moves"]
    assert [move["to"] for move in moves] == [[provider_uuid(2)], [provider_uuid(3)]]


def test_hosts_are_sorted_again_after_each_change(service: Service) -> None:
    populate(service, *range(2, HOSTS + 1), consumers=1)
    claim = {"claim": {"request": {"groups": {"": {"resources": {"VCPU": 2}}}}}}
    order = [{"by": "free", "resource_class": "VCPU", "first": "most"}]
    answer = simulated(service, claim, claim, order=order)
    claimed = [list(each["allocations"]) for each in answer["claims"]]
    assert claimed == [[provider_uuid(1)], [provider_uuid(2)]]


def test_a_drained_sharing_provider_serves_no_host(tmp_path: Path) -> None:
    rack = [aggregate_uuid(1)]
    with Service(tmp_path) as service:
        with building(service.database.writer) as cloud:
            cloud.add("host", {"VCPU": 8}, aggregates=rack)
            storage = cloud.add("storage", {"DISK_GB": 8}, traits=[SHARING], aggregates=rack)
        request = {"groups": {"": {"resources": {"VCPU": 1, "DISK_GB": 1}}}}
        claim = {"claim": {"request": request}}
        before, after = simulated(service, claim, drain(storage), claim)["claims"]
        assert before["mappings"] == {"": [provider_uuid(1), provider_uuid(storage)]}
        assert after["code"] == "no_inventory"


def test_a_moved_consumer_fills_its_host_for_its_spread_group(service: Service) -> None:
    members = [f"c0000000-0000-4000-8000-{host:012d}" for host in range(1, HOSTS + 1)]
    for host, consumer in enumerate(members[:-1], 1):
        request = {"groups": {"": {"resources": {"VCPU": 1}, "in_tree": provider_uuid(host)}}}
        body = {
            "request": request,
            "consumer_uuid": consumer,
            "project_id": "p",
            "user_id": "u",
            "consumer_type": "INSTANCE",
            "spread_group": {"name": "apart", "max_per_host": 1},
        }
        service.expect(201, "POST", "/claims", body, "2.0")
    # Only the last host has no member of the group.
    answer = simulated(service, drain(1), drain(2))
    assert [each["consumer"] for each in answer["moves"]] == members[:1]
    assert [each["consumer"] for each in answer["unplaceable"]] == members[1:2]
