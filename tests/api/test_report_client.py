"""`ReportClient` with the service in this process, in each version that it supports."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
from hypothesis import given
from keystoneauth1.adapter import Adapter

from falcon_placement_client.consumers import AllocationRecords, NewConsumer
from falcon_placement_client.errors import (
    AllocationConflict,
    ConsumerError,
    NoCandidates,
    NoPlacementService,
    ProviderTreeError,
    RefusedError,
    ReshapeFailed,
    ReshapeNeeded,
    ServiceTooOld,
    UpdateFailed,
)
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from falcon_placement_client.report import UPDATE_PAUSES, ComputeDriver, ReportClient
from falcon_placement_client.rest import Version
from placement.direct import PlacementDirect
from tests.kit.builders import database_url, settings
from tests.kit.engines import share
from tests.kit.recorder import Killed, Recorder
from tests.kit.service import claim
from tests.unit.client.any_tree import trees

HOST, CHILD0, CHILD1, DISK = (f"00000000-0000-0000-0000-{number:012}" for number in range(1, 5))
AGGREGATE = "aaaaaaaa-0000-0000-0000-000000000001"
FIRST_LINE: list[Version] = [(1, 36), (1, 39)]
# At 2.0 a whole tree is one write, and at 1.39 it takes single requests.
VERSIONS: list[Version] = [(1, 39), (2, 0)]
READ_TREE = f"GET /resource_providers?in_tree={HOST}&include=inventories,traits,aggregates"
WHOLE = f"PUT /provider_trees/{HOST}"


def consumer(number: int, kind: str = "INSTANCE") -> NewConsumer:
    return NewConsumer(f"cccccccc-0000-0000-0000-{number:012}", "project", "user", kind)


@contextmanager
def serving(directory: Path) -> Iterator[Recorder]:
    """A service on a separate empty database, and the requests to it."""
    direct = PlacementDirect(settings(database_url(directory)), latest_microversion=True)
    with direct as adapter:
        yield Recorder(adapter)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with serving(tmp_path) as recorder:
        yield recorder


@pytest.fixture(params=VERSIONS, ids=str)
def client(recorder: Recorder, request: pytest.FixtureRequest) -> ReportClient:
    return ReportClient(recorder, request.param)


@pytest.fixture
def writes_trees(request: pytest.FixtureRequest) -> bool:
    """Whether `client` writes whole trees."""
    return bool(request.node.callspec.params["client"] == (2, 0))


def describe_host(tree: ProviderTree, allocations: AllocationRecords | None = None) -> None:
    """A host with two NUMA nodes, each with its part of the processors."""
    if not tree.exists("host1"):
        tree.new_root("host1", HOST)
    tree.update_inventory("host1", {"DISK_GB": {"total": 100}})
    tree.add_traits("host1", "COMPUTE_NODE", "CUSTOM_RACK")
    tree.update_aggregates("host1", [AGGREGATE])
    for name, uuid in (("NUMA0", CHILD0), ("NUMA1", CHILD1)):
        if not tree.exists(name):
            tree.new_child(name, "host1", uuid)
        tree.update_inventory(name, {"VCPU": {"total": 4}, "CUSTOM_X": {"total": 1}})
        tree.update_traits(name, ["HW_NUMA_ROOT"])


def shown(recorder: Recorder, path: str) -> Any:
    answer = recorder.get(path, microversion="1.39")
    assert answer.status_code == 200, answer.text
    return answer.json()


def generation(recorder: Recorder, path: str) -> int:
    """Return the generation of a provider. The request is not recorded."""
    return int(shown(Recorder(recorder), path)["generation"])


# -- reading and writing a tree ---------------------------------------------------------------


def test_what_was_changed_is_written_and_nothing_else(
    client: ReportClient, recorder: Recorder, writes_trees: bool
) -> None:
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    tree.update_inventory("host1", {"DISK_GB": {"total": 200}})
    tree.remove_traits("host1", "CUSTOM_RACK")
    tree.update_aggregates("host1", [])
    tree.remove("NUMA1")
    recorder.requests.clear()
    client.update_from_provider_tree(tree)
    path = f"/resource_providers/{HOST}"
    singly = [
        f"PUT {path}/aggregates",
        f"PUT {path}/traits",
        f"DELETE /resource_providers/{CHILD1}",
        f"PUT {path}/inventories",
    ]
    assert recorder.writes() == ([WHOLE, singly[2]] if writes_trees else singly)
    assert client.get_provider_tree(HOST) == tree


def test_removals_precede_additions_anywhere_in_the_tree(
    client: ReportClient, recorder: Recorder, writes_trees: bool
) -> None:
    """Otherwise, the same device would be offered twice for a moment."""
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    # The one that gains is the first of the tree, and the ones that lose come after it.
    tree.update_inventory("host1", {"DISK_GB": {"total": 100}, "VCPU": {"total": 6}})
    tree.update_inventory("NUMA0", {"VCPU": {"total": 2}, "CUSTOM_X": {"total": 1}})
    tree.update_inventory("NUMA1", {"CUSTOM_X": {"total": 1}})
    recorder.requests.clear()
    client.update_from_provider_tree(tree)
    singly = [f"PUT /resource_providers/{uuid}/inventories" for uuid in (CHILD0, CHILD1, HOST)]
    assert recorder.writes() == ([WHOLE] if writes_trees else singly)


def test_concurrent_writes_of_other_clients_stay(client: ReportClient, recorder: Recorder) -> None:
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    other = ReportClient(recorder, (1, 39))
    theirs = other.get_provider_tree(HOST)
    theirs.add_traits("host1", "CUSTOM_MAINTENANCE")
    theirs.new_child("accelerator", "host1")
    other.update_from_provider_tree(theirs)

    tree.add_traits("host1", "CUSTOM_NEW")
    tree.update_inventory("host1", {"DISK_GB": {"total": 200}})
    client.update_from_provider_tree(tree)
    now = client.get_provider_tree(HOST)
    assert now.has_traits("host1", ["CUSTOM_MAINTENANCE", "CUSTOM_NEW", "CUSTOM_RACK"])
    assert now.exists("accelerator")
    assert now.data("host1").inventory["DISK_GB"].total == 200


def test_a_write_between_two_requests_repeats_the_update(
    client: ReportClient, recorder: Recorder
) -> None:
    client.report(HOST, describe_host)
    other = ReportClient(Recorder(recorder), (1, 39))
    met: list[str] = []

    def intervene(request: str) -> None:
        if request in (f"PUT /resource_providers/{HOST}/inventories", WHOLE) and len(met) < 2:
            met.append(request)
            theirs = other.get_provider_tree(HOST)
            theirs.add_traits("host1", f"CUSTOM_THEIRS_{len(met)}")
            other.update_from_provider_tree(theirs)

    recorder.before = intervene
    tree = client.get_provider_tree(HOST)
    tree.update_inventory("host1", {"DISK_GB": {"total": 200}})
    client.update_from_provider_tree(tree)
    now = client.get_provider_tree(HOST)
    assert len(met) == 2
    assert now.has_traits("host1", ["CUSTOM_THEIRS_1", "CUSTOM_THEIRS_2"])
    assert now.data("host1").inventory["DISK_GB"].total == 200


@pytest.mark.parametrize("version", FIRST_LINE)
def test_a_provider_that_is_deleted_while_the_tree_is_read_is_left_out(
    recorder: Recorder, version: Version
) -> None:
    client = ReportClient(recorder, version)
    tree = client.get_provider_tree(HOST)
    tree.new_root("host", HOST)
    tree.new_child("child0", "host", CHILD0)
    client.update_from_provider_tree(tree)
    recorder.requests.clear()

    def delete(request: str) -> None:
        if request == f"GET /resource_providers/{CHILD0}/traits":
            recorder.before = lambda request: None
            recorder.delete(f"/resource_providers/{CHILD0}")

    recorder.before = delete
    assert [each.name for each in client.get_provider_tree(HOST)] == ["host"]
    assert recorder.requests.count(f"GET /resource_providers?in_tree={HOST}") == 2


def test_a_provider_that_is_deleted_before_it_is_written_is_created_again(
    client: ReportClient, recorder: Recorder, writes_trees: bool
) -> None:
    client.report(HOST, describe_host)

    def delete(request: str) -> None:
        if request in (f"PUT /resource_providers/{CHILD1}/inventories", WHOLE):
            recorder.before = lambda request: None
            Recorder(recorder).delete(f"/resource_providers/{CHILD1}", microversion="1.39")

    recorder.before = delete
    tree = client.get_provider_tree(HOST)
    tree.update_inventory("NUMA1", {"VCPU": {"total": 8}})
    assert client.update_from_provider_tree(tree) == tree
    if writes_trees:
        assert recorder.writes()[-2:] == [WHOLE, WHOLE]
    else:
        assert "POST /resource_providers" in recorder.writes()
    assert client.get_provider_tree(HOST) == tree


def test_writers_that_never_end_are_reported(
    client: ReportClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("falcon_placement_client.rest.time.sleep", pauses.append)
    client.report(HOST, describe_host)
    path = f"/resource_providers/{HOST}"

    def intervene(request: str) -> None:
        if request in (f"PUT {path}/traits", WHOLE):
            body = {"aggregates": [], "resource_provider_generation": generation(recorder, path)}
            Recorder(recorder).put(f"{path}/aggregates", json=body, microversion="1.39")

    recorder.before = intervene
    tree = client.get_provider_tree(HOST)
    tree.add_traits("host1", "CUSTOM_NEW")
    with pytest.raises(UpdateFailed, match="other clients keep changing"):
        client.update_from_provider_tree(tree)
    assert len(pauses) == len(UPDATE_PAUSES)


def test_providers_are_renamed_and_moved_as_the_tree_says(recorder: Recorder) -> None:
    client = ReportClient(recorder, (1, 39))
    client.report(HOST, describe_host)
    new = client.get_provider_tree(HOST)
    new.remove("NUMA1")
    new.new_root("other", CHILD1)
    new.update_inventory("other", {"VCPU": {"total": 4}})
    with pytest.raises(UpdateFailed, match=r"^other: .*un-parenting"):
        ReportClient(recorder, (1, 36)).update_from_provider_tree(new)
    client.update_from_provider_tree(new)
    assert client.get_provider_tree(CHILD1).data("other").parent_uuid is None
    assert not client.get_provider_tree(HOST).exists(CHILD1)


def test_sharing_providers_belong_to_the_tree(client: ReportClient, recorder: Recorder) -> None:
    client.report(HOST, describe_host)
    shared = ProviderTree()
    shared.new_root("nfs", DISK)
    shared.update_inventory("nfs", {"DISK_GB": {"total": 1000}})
    shared.update_aggregates("nfs", [AGGREGATE])
    shared.update_traits("nfs", ["MISC_SHARES_VIA_AGGREGATE"])
    client.update_from_provider_tree(shared)

    tree = client.get_provider_tree(HOST)
    assert tree.has_sharing_provider("DISK_GB")
    tree.update_inventory("host1", {})
    tree.update_inventory("nfs", {"DISK_GB": {"total": 2000}})
    assert client.update_from_provider_tree(tree) == tree
    assert client.get_provider_tree(HOST) == tree

    tree.update_inventory("NUMA0", {"VCPU": {"total": 5}})
    recorder.requests.clear()
    assert client.update_from_provider_tree(tree).exists("nfs")


def test_agents_that_write_at_the_same_time_lose_nothing(
    client: ReportClient, recorder: Recorder
) -> None:
    """An attempt fails only if another agent has written, which happens at most six times."""
    client.report(HOST, describe_host)

    def add_three(agent: int) -> None:
        for number in range(3):
            tree = client.get_provider_tree(HOST)
            tree.add_traits("host1", f"CUSTOM_{agent}_{number}")
            client.update_from_provider_tree(tree)

    assert len(UPDATE_PAUSES) >= 2 * 3
    with ThreadPoolExecutor(3) as agents:
        list(agents.map(add_three, range(3)))
    traits = {f"CUSTOM_{agent}_{number}" for agent in range(3) for number in range(3)}
    assert client.get_provider_tree(HOST).has_traits("host1", traits)


def renewed(tree: TreeSnapshot) -> TreeSnapshot:
    """Return the same tree with unique names for its UUIDs, because names must be unique."""
    return TreeSnapshot(replace(each, name=f"provider {each.uuid}") for each in tree)


def edited(base: TreeSnapshot, tree: TreeSnapshot) -> ProviderTree:
    """Return a tree that was read as `old` and edited into `new` in the same way as by drivers."""
    copy = base.edit()
    for root in base.roots():
        copy.remove(root.uuid)
    for each in tree:
        if each.parent_uuid is None:
            copy.new_root(each.name, each.uuid)
        else:
            copy.new_child(each.name, each.parent_uuid, each.uuid)
        copy.update_inventory(each.uuid, each.inventory)
        copy.update_traits(each.uuid, each.traits)
        copy.update_aggregates(each.uuid, each.aggregates)
    return copy


def delete_all(recorder: Recorder) -> None:
    """Delete all providers, including providers left by a failed example."""
    while providers := shown(recorder, "/resource_providers")["resource_providers"]:
        for each in providers:
            recorder.delete(f"/resource_providers/{each['uuid']}")


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_any_tree_becomes_any_other(tmp_path: Path, version: Version) -> None:
    with serving(tmp_path) as recorder:
        client = ReportClient(recorder, version)

        @hypothesis.settings(max_examples=share(30))
        @given(trees(), trees())
        def becomes(old: TreeSnapshot, new: TreeSnapshot) -> None:
            delete_all(recorder)
            current = TreeSnapshot()
            for tree in (renewed(old), renewed(new), TreeSnapshot()):
                current = client.update_from_provider_tree(edited(current, tree))
                assert current == tree
                read = [client.get_provider_tree(each.uuid) for each in tree.roots()]
                assert {each.uuid: each for one in read for each in one} == {
                    each.uuid: each for each in tree
                }

        becomes()


# -- what it costs ----------------------------------------------------------------------------


def twenty(tree: ProviderTree) -> None:
    """A host with nineteen devices."""
    tree.new_root("host1", HOST)
    for number in range(19):
        name = f"device{number}"
        tree.new_child(name, "host1")
        tree.update_inventory(name, {"VGPU": {"total": 4}})
        tree.update_traits(name, ["CUSTOM_A"])


def test_an_update_without_changes_is_one_request(client: ReportClient, recorder: Recorder) -> None:
    for describe in (describe_host, lambda tree, _allocations: twenty(tree)):
        tree = ProviderTree()
        describe(tree, None)
        client.update_from_provider_tree(tree)
        same = client.get_provider_tree(HOST)
        recorder.requests.clear()
        client.update_from_provider_tree(same)
        assert len(recorder.requests) == 1
        client.update_from_provider_tree(TreeSnapshot(same).edit())
        assert len(recorder.requests) == 2
        same.remove("host1")
        client.update_from_provider_tree(same)


def seven(tree: ProviderTree) -> None:
    """A host with six devices, custom names and an aggregate."""
    tree.new_root("host1", HOST)
    tree.update_inventory("host1", {"VCPU": {"total": 8}})
    tree.update_aggregates("host1", [AGGREGATE])
    for number in range(6):
        name = f"device{number}"
        tree.new_child(name, "host1")
        tree.update_inventory(name, {"CUSTOM_X": {"total": 4}})
        tree.update_traits(name, ["CUSTOM_A"])


def test_a_host_that_was_read_is_written_by_one_read_and_one_write_at_2_0(
    recorder: Recorder,
) -> None:
    client = ReportClient(recorder)
    client.report(HOST, lambda tree, _: seven(tree))
    assert recorder.requests == [READ_TREE, WHOLE]
    tree = client.get_provider_tree(HOST)
    tree.add_traits("device3", "CUSTOM_B")
    recorder.requests.clear()
    client.update_from_provider_tree(tree)
    assert recorder.requests == [READ_TREE, WHOLE]
    assert client.get_provider_tree(HOST) == tree


def test_a_service_without_whole_trees_is_asked_for_them_once_at_2_0(recorder: Recorder) -> None:
    recorder.lacks_trees = True
    client = ReportClient(recorder)
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    tree.update_inventory("host1", {"DISK_GB": {"total": 7}})
    client.update_from_provider_tree(tree)
    other = ProviderTree()
    other.new_root("other", DISK)
    client.update_from_provider_tree(other)
    assert [request for request in recorder.requests if "provider_trees" in request] == [WHOLE]
    assert client.get_provider_tree(HOST) == tree
    assert client.get_provider_tree(DISK) == other


@pytest.mark.parametrize("version", FIRST_LINE)
def test_whole_trees_are_not_written_below_2_0(recorder: Recorder, version: Version) -> None:
    client = ReportClient(recorder, version)
    client.report(HOST, describe_host)
    assert "POST /resource_providers" in recorder.writes()
    assert [request for request in recorder.requests if "provider_trees" in request] == []


def test_inventory_leaves_one_tree_before_another_gets_it_at_2_0(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    tree = client.get_provider_tree(HOST)
    for name, uuid, total in (("host1", HOST, 1), ("host2", DISK, 3)):
        tree.new_root(name, uuid)
        tree.update_inventory(name, {"VCPU": {"total": total}})
    base = client.update_from_provider_tree(tree)
    changed = base.edit()
    changed.update_inventory("host1", {"VCPU": {"total": 2}})
    changed.update_inventory("host2", {"VCPU": {"total": 2}})
    recorder.requests.clear()
    client.update_from_provider_tree(changed)
    assert recorder.writes() == [f"PUT /provider_trees/{DISK}", WHOLE]


def test_a_provider_that_goes_to_another_tree_takes_single_requests_at_2_0(
    recorder: Recorder,
) -> None:
    client = ReportClient(recorder)
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    node = tree.data("NUMA1")
    tree.remove("NUMA1")
    tree.new_root("other", node.uuid)
    tree.update_inventory("other", node.inventory)
    tree.update_traits("other", node.traits)
    recorder.requests.clear()
    client.update_from_provider_tree(tree)
    assert recorder.writes() == [f"PUT /resource_providers/{CHILD1}"]
    assert client.get_provider_tree(CHILD1).data("other").parent_uuid is None


def test_a_refused_whole_tree_changes_nothing(client: ReportClient, recorder: Recorder) -> None:
    """Inventory in use is kept.

    If the tree is one transaction, all other parts are kept as well.
    """
    old_host(client, recorder)
    before = client.get_provider_tree(HOST)
    tree = client.get_provider_tree(HOST)
    split_gpus(tree, {})
    recorder.requests.clear()
    with pytest.raises(ReshapeNeeded, match=r"host1: .*VGPU.* in use"):
        client.update_from_provider_tree(tree)
    if WHOLE in recorder.requests:
        assert client.get_provider_tree(HOST) == before
    assert len(holders(recorder, HOST)) == 3


def test_allocations_of_a_hundred_consumers_are_one_request_at_2_0(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    client.report(HOST, lambda tree, _: host_with(tree, {"VCPU": {"total": 100}}))
    for number in range(100):
        take(recorder, number, {HOST: {"VCPU": 1}})
    recorder.requests.clear()
    assert len(client.get_allocations_for_provider_tree(HOST)) == 100
    assert len(recorder.requests) == 1


# -- allocations and reshapes -----------------------------------------------------------------


def host_with(tree: ProviderTree, inventory: dict[str, dict[str, Any]]) -> None:
    if not tree.exists("host1"):
        tree.new_root("host1", HOST)
    tree.update_inventory("host1", inventory)


def take(recorder: Adapter, number: int, amounts: dict[str, dict[str, int]]) -> None:
    answer = recorder.put(
        f"/allocations/{consumer(number).uuid}", json=claim(amounts), microversion="1.39"
    )
    assert answer.status_code == 204, answer.text


def split_gpus(tree: ProviderTree, allocations: AllocationRecords | None = None) -> None:
    """A driver that creates a provider for each of two physical GPUs."""
    if tree.exists("host1") and "VGPU" in tree.data("host1").inventory and allocations is None:
        raise ReshapeNeeded("VGPU moves to the physical GPUs")
    host_with(tree, {"VCPU": {"total": 8}})
    for name, uuid in (("pgpu0", CHILD0), ("pgpu1", CHILD1)):
        if not tree.exists(name):
            tree.new_child(name, "host1", uuid)
        tree.update_inventory(name, {"VGPU": {"total": 2}})
        tree.update_traits(name, ["CUSTOM_GPU"])
    free = {CHILD0: 2, CHILD1: 2}
    for record in (allocations or {}).values():
        held = record["allocations"].get(HOST, {"resources": {}})["resources"].pop("VGPU", 0)
        if held:
            gpu = next(uuid for uuid, room in free.items() if room >= held)
            free[gpu] -= held
            record["allocations"][gpu] = {"resources": {"VGPU": held}}


def old_host(client: ReportClient, recorder: Adapter) -> None:
    """The root has VGPU. Three instances use one each, and one of them a disk on shared storage."""
    tree = client.get_provider_tree(HOST)
    host_with(tree, {"VCPU": {"total": 8}, "VGPU": {"total": 4}})
    client.update_from_provider_tree(tree)
    shared = ProviderTree()
    shared.new_root("nfs", DISK)
    shared.update_inventory("nfs", {"DISK_GB": {"total": 1000}})
    client.update_from_provider_tree(shared)
    for number in (1, 2):
        take(recorder, number, {HOST: {"VCPU": 1, "VGPU": 1}})
    take(recorder, 3, {HOST: {"VCPU": 1, "VGPU": 1}, DISK: {"DISK_GB": 10}})
    take(recorder, 4, {DISK: {"DISK_GB": 10}})


def test_allocations_are_all_of_each_consumer_of_the_tree(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    records = client.get_allocations_for_provider_tree(HOST)
    assert records.keys() == {consumer(number).uuid for number in (1, 2, 3)}
    for uuid, record in records.items():
        assert record.items() <= shown(recorder, f"/allocations/{uuid}").items()
        assert record["consumer_generation"] == 1
    assert records[consumer(3).uuid]["allocations"][DISK]["resources"] == {"DISK_GB": 10}


def test_inventory_in_use_moves_with_its_allocations(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    client.report(HOST, split_gpus)
    tree = client.get_provider_tree(HOST)
    assert {each.name: set(each.inventory) for each in tree} == {
        "host1": {"VCPU"}, "pgpu0": {"VGPU"}, "pgpu1": {"VGPU"},
    }  # fmt: skip
    assert holders(recorder, CHILD0) | holders(recorder, CHILD1) == {
        consumer(number).uuid: {"VGPU": 1} for number in (1, 2, 3)
    }
    assert shown(recorder, f"/allocations/{consumer(3).uuid}")["consumer_type"] == "INSTANCE"


def holders(recorder: Recorder, uuid: str) -> dict[str, dict[str, int]]:
    allocations = shown(recorder, f"/resource_providers/{uuid}/allocations")["allocations"]
    return {key: each["resources"] for key, each in allocations.items()}


def test_a_reshape_whose_result_does_not_fit_is_refused_and_changes_nothing(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    tree = client.get_provider_tree(HOST)
    records = client.get_allocations_for_provider_tree(HOST)
    split_gpus(tree, records)
    tree.update_inventory("pgpu0", {"VGPU": {"total": 1}})
    with pytest.raises(ReshapeFailed, match="host1, pgpu0, pgpu1") as caught:
        client.update_from_provider_tree(tree, records)
    assert not caught.value.is_stale
    assert len(holders(recorder, HOST)) == 3


def test_a_reshape_of_a_provider_that_was_written_since_it_was_read_is_stale(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    tree = client.get_provider_tree(HOST)
    records = client.get_allocations_for_provider_tree(HOST)
    split_gpus(tree, records)
    take(recorder, 5, {HOST: {"VCPU": 1}})
    with pytest.raises(ReshapeFailed, match="host1: another client has written") as caught:
        client.update_from_provider_tree(tree, records)
    assert caught.value.is_stale


def test_a_reshape_succeeds_despite_concurrent_claims(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    late: list[int] = []

    def claim_and_release(request: str) -> None:
        if request == "POST /reshaper" and len(late) < 12:
            late.append(5)
            take(Recorder(recorder), 5, {HOST: {"VCPU": 1, "VGPU": 1}})
            Recorder(recorder).delete(f"/allocations/{consumer(5).uuid}")

    recorder.before = claim_and_release
    client.report(HOST, split_gpus)
    assert len(late) == 12
    assert len(holders(recorder, CHILD0) | holders(recorder, CHILD1)) == 3


def test_a_scheduler_never_sees_moved_inventory_without_its_allocations(
    client: ReportClient, recorder: Recorder
) -> None:
    """Check the sequence of a reshape before each of its requests, and continuously.

    One of four VGPUs is always free.
    """
    old_host(client, recorder)
    recorder.requests.clear()  # what follows is the reshape alone
    seen: list[tuple[int, bool]] = []
    done = threading.Event()
    looks = threading.Semaphore(0)  # reads of the scheduler, which polls continuously

    def offers(adapter: Adapter, amount: int) -> list[set[str]]:
        answer = adapter.get(
            f"/allocation_candidates?resources=VGPU:{amount}", microversion="1.39"
        ).json()
        return [set(each["allocations"]) for each in answer["allocation_requests"]]

    def ask(adapter: Adapter) -> None:
        one, two = offers(adapter, 1), offers(adapter, 2)
        seen.append((len(one), bool(two)))

    def ask_all_the_while() -> None:
        adapter = Recorder(recorder)
        while not done.is_set():
            ask(adapter)
            looks.release()

    def ask_before(_request: str) -> None:
        ask(Recorder(recorder))
        assert looks.acquire(timeout=60), "the scheduler asks no more"

    recorder.before = ask_before
    scheduler = threading.Thread(target=ask_all_the_while)
    scheduler.start()
    try:
        client.report(HOST, split_gpus)
    finally:
        done.set()
        scheduler.join()
    ask(Recorder(recorder))
    assert len(seen) > 2 * len(recorder.requests) > 0
    assert set(seen) == {(1, False)}, "one is free, and never two"


# -- cut short --------------------------------------------------------------------------------


def changed_host(tree: ProviderTree, allocations: AllocationRecords | None = None) -> None:
    """Change `describe_host`: remove a node, add another, and change the rest."""
    if tree.exists("NUMA1"):
        tree.remove("NUMA1")
    tree.update_inventory("host1", {"DISK_GB": {"total": 50}, "CUSTOM_Y": {"total": 1}})
    tree.update_traits("host1", ["COMPUTE_NODE", "CUSTOM_NEW"])
    tree.update_aggregates("host1", [])
    if not tree.exists("NUMA2"):
        tree.new_child("NUMA2", "host1")
    tree.update_inventory("NUMA2", {"VCPU": {"total": 4}})
    tree.update_traits("NUMA2", ["HW_NUMA_ROOT", "CUSTOM_NEW"])
    tree.update_aggregates("NUMA2", [AGGREGATE])


def check_between(before: ProviderTree, after: ProviderTree, now: ProviderTree) -> None:
    """Check that nothing is offered twice, or before all of its data is complete."""

    def vcpus(tree: ProviderTree) -> int:
        return sum(each.inventory["VCPU"].total for each in tree if "VCPU" in each.inventory)

    assert vcpus(now) <= max(vcpus(before), vcpus(after))
    new = now.find("NUMA2")
    if new is not None and new.inventory:
        assert (new.traits, new.aggregates) == (
            after.data("NUMA2").traits, after.data("NUMA2").aggregates,
        )  # fmt: skip


Setup = Callable[[ReportClient, Recorder], None]


def report_host(client: ReportClient, _recorder: Recorder) -> None:
    client.report(HOST, describe_host)


def outcome_of(
    directory: Path, version: Version, setup: Setup, driver: ComputeDriver
) -> ProviderTree:
    with serving(directory) as recorder:
        client = ReportClient(recorder, version)
        setup(client, recorder)
        client.report(HOST, driver)
        return client.get_provider_tree(HOST)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(
    ("setup", "driver"),
    [(report_host, changed_host), (old_host, split_gpus)],
    ids=["update", "reshape"],
)
def test_an_agent_killed_at_any_request_is_put_right_by_the_next(
    tmp_path: Path, version: Version, setup: Setup, driver: ComputeDriver
) -> None:
    """A lost response leaves what a kill before the next request leaves, or all requests."""
    (tmp_path / "whole").mkdir()
    whole = outcome_of(tmp_path / "whole", version, setup, driver)
    cuts, is_killed = -1, True
    while is_killed:
        cuts += 1
        directory = tmp_path / str(cuts)
        directory.mkdir()
        with serving(directory) as recorder:
            setup(ReportClient(recorder, version), recorder)
            before = ReportClient(recorder, version).get_provider_tree(HOST)
            recorder.requests.clear()
            recorder.lives = cuts
            try:
                ReportClient(recorder, version).report(HOST, driver)
                is_killed = False
            except Killed:
                pass
            sent = recorder.requests[:cuts]
            recorder.lives = None
            client = ReportClient(recorder, version)
            check_between(before, whole, client.get_provider_tree(HOST))
            client.report(HOST, driver)
            now = client.get_provider_tree(HOST)
            assert contents(now) == contents(whole), f"after {sent}"
            if driver is split_gpus:
                assert len(holders(recorder, CHILD0) | holders(recorder, CHILD1)) == 3
    # A whole tree: two reads of it, one of sharing providers, a write, and a provider to delete.
    is_whole = any("/provider_trees/" in request for request in sent)
    assert cuts >= (5 if is_whole else 8)


def contents(tree: ProviderTree) -> dict[str, tuple[Any, ...]]:
    """The data of providers by name, because UUIDs of new providers differ."""
    return {each.name: (dict(each.inventory), each.traits, each.aggregates) for each in tree}


# -- claims -----------------------------------------------------------------------------------

ONE_VCPU: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}}}


def test_a_claim_a_move_and_a_release(client: ReportClient, recorder: Recorder) -> None:
    client.report(HOST, lambda tree, _: host_with(tree, {"VCPU": {"total": 2}}))
    request: JsonRequest = {"groups": {"": {"resources": {"VCPU": 2}}}}
    answer = client.allocation_candidates(request)
    assert [set(each["allocations"]) for each in answer["allocation_requests"]] == [{HOST}]

    got = client.claim(request, consumer(1))
    assert got.allocations[HOST]["resources"] == {"VCPU": 2}
    assert (got.mappings, got.consumer_generation) == ({"": [HOST]}, 1)
    with pytest.raises(NoCandidates):
        client.claim(ONE_VCPU, consumer(2))

    client.move(consumer(1).uuid, consumer(2, "MIGRATION"))
    assert holders(recorder, HOST) == {consumer(2).uuid: {"VCPU": 2}}
    client.move(consumer(2).uuid, consumer(1))
    assert holders(recorder, HOST) == {consumer(1).uuid: {"VCPU": 2}}
    with pytest.raises(AllocationConflict, match="has no allocations to move"):
        client.move(consumer(2).uuid, consumer(1))

    for spelling in (str, str.upper):
        itself = replace(consumer(1), uuid=spelling(consumer(1).uuid))
        with pytest.raises(AllocationConflict, match="cannot be moved to itself"):
            client.move(consumer(1).uuid, itself)
    assert holders(recorder, HOST) == {consumer(1).uuid: {"VCPU": 2}}

    assert client.release(consumer(1).uuid)
    assert not client.release(consumer(1).uuid)
    assert holders(recorder, HOST) == {}


@pytest.mark.parametrize("version", FIRST_LINE)
def test_a_claim_takes_the_next_candidate_after_a_conflict(
    recorder: Recorder, version: Version
) -> None:
    client = ReportClient(recorder, version)
    for number in range(3):
        tree = ProviderTree()
        tree.new_root(f"host{number}")
        tree.update_inventory(f"host{number}", {"VCPU": {"total": 1}})
        client.update_from_provider_tree(tree)
    faster: list[str] = []

    def be_faster(request: str) -> None:
        if request.startswith("PUT /allocations") and not faster:
            faster.append(request)
            other = ReportClient(Recorder(recorder), version)
            for number in (10, 11):
                other.claim(ONE_VCPU, consumer(number))

    recorder.before = be_faster
    client.claim(ONE_VCPU, consumer(1))
    recorder.before = lambda _request: None
    with pytest.raises(NoCandidates):
        client.claim(ONE_VCPU, consumer(2))


def three_hosts(client: ReportClient) -> list[str]:
    """Create hosts with one VCPU each. Return their UUIDs."""
    tree = ProviderTree()
    uuids = [tree.new_root(f"host{number}") for number in range(3)]
    for uuid in uuids:
        tree.update_inventory(uuid, {"VCPU": {"total": 1}})
    client.update_from_provider_tree(tree)
    return uuids


def test_a_ranked_claim_takes_the_candidates_in_that_order(client: ReportClient) -> None:
    uuids = three_hosts(client)

    def rank(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        assert answer["provider_summaries"].keys() == {
            uuid for each in answer["allocation_requests"] for uuid in each["allocations"]
        }
        places = {
            uuid: each for each in answer["allocation_requests"] for uuid in each["allocations"]
        }
        return [places[uuid] for uuid in reversed(uuids) if uuid in places]

    for number, uuid in enumerate(reversed(uuids)):
        got = client.claim(ONE_VCPU, consumer(number), rank)
        assert (set(got.allocations), got.mappings) == ({uuid}, {"": [uuid]})
        assert got.consumer_generation == 1
    with pytest.raises(NoCandidates):
        client.claim(ONE_VCPU, consumer(4), rank)


def test_a_claim_that_nothing_can_serve_says_why_at_2_0(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    three_hosts(client)
    two: JsonRequest = {"groups": {"": {"resources": {"VCPU": 2}}}, "limit": 5}
    reason = r"None of 3 hosts can serve the request\. .* 2 VCPU"
    assert re.match(reason, client.explain(two))
    for rank in (None, lambda answer: answer["allocation_requests"]):
        with pytest.raises(NoCandidates, match=reason):
            client.claim(two, consumer(1), rank)


def test_usages_are_of_all_providers_of_the_tree(client: ReportClient, recorder: Recorder) -> None:
    assert client.get_usages_for_provider_tree(HOST) == {}
    client.report(HOST, describe_host)
    take(recorder, 1, {CHILD0: {"VCPU": 3}, HOST: {"DISK_GB": 10}})
    assert client.get_usages_for_provider_tree(CHILD1) == {
        HOST: {"DISK_GB": 10},
        CHILD0: {"VCPU": 3, "CUSTOM_X": 0},
        CHILD1: {"VCPU": 0, "CUSTOM_X": 0},
    }


# -- refusals ---------------------------------------------------------------------------------


def test_a_deleted_custom_name_is_created_again(
    client: ReportClient, recorder: Recorder, writes_trees: bool
) -> None:
    client.report(HOST, describe_host)
    tree = client.get_provider_tree(HOST)
    tree.remove_traits("host1", "CUSTOM_RACK")
    client.update_from_provider_tree(tree)
    assert recorder.delete("/traits/CUSTOM_RACK", microversion="1.39").status_code == 204
    if not writes_trees:
        with pytest.raises(UpdateFailed, match=r"^host1: .*CUSTOM_RACK"):
            client.report(HOST, describe_host)
    client.report(HOST, describe_host)
    assert client.get_provider_tree(HOST).has_traits("host1", ["CUSTOM_RACK"])


def test_consumers_and_records_that_cannot_be_are_refused_by_name(
    client: ReportClient, recorder: Recorder
) -> None:
    old_host(client, recorder)
    with pytest.raises(ConsumerError, match="consumer 'i-1': expected a UUID"):
        NewConsumer("i-1", "project", "user")
    with pytest.raises(ConsumerError, match="consumer 'i-1': expected a UUID"):
        client.release("i-1")
    with pytest.raises(ProviderTreeError, match="the tree: UUID 'host1' is not a UUID"):
        client.get_provider_tree("host1")
    for member in ("project_id", "allocations"):
        tree = client.get_provider_tree(HOST)
        records = client.get_allocations_for_provider_tree(HOST)
        split_gpus(tree, records)
        records[consumer(2).uuid].pop(member)  # type: ignore[misc]
        with pytest.raises(ConsumerError, match=f"{consumer(2).uuid}: no {member}; expected a"):
            client.update_from_provider_tree(tree, records)
    assert len(holders(recorder, HOST)) == 3


def test_a_forbidden_write_is_reported(recorder: Recorder) -> None:
    recorder.additional_headers.update({"X-Auth-Token": "someone", "X-Roles": "reader"})
    client = ReportClient(recorder)
    with pytest.raises(RefusedError) as caught:
        client.get_provider_tree(HOST)
    assert caught.value.status == 403


def test_a_service_that_is_too_old_is_refused(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old:
        status_code = 200
        content = b"{}"

        def json(self) -> dict[str, Any]:
            return {"versions": [{"id": "v1.0", "min_version": "1.0", "max_version": "1.30"}]}

    monkeypatch.setattr(recorder, "request", lambda *args, **options: Old())
    with pytest.raises(ServiceTooOld, match=r"supports placement 1.0 to 1.30; 1.36 or later"):
        ReportClient(recorder).release(consumer(1).uuid)


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Welcome to nginx!</html>",
        b"[]",
        b"null",
        b'{"versions": {"values": []}}',  # keystone's
        b'{"versions": [{"id": "v2.1", "version": "2.96"}]}',  # nova's
        b'{"versions": [{"id": "v1.0", "max_version": "many"}]}',
    ],
)
def test_what_is_no_placement_service_is_refused(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    answer = requests.Response()
    answer.status_code, answer._content = 200, content
    monkeypatch.setattr(recorder, "request", lambda *args, **options: answer)
    with pytest.raises(NoPlacementService, match=r"^GET /: .*is the endpoint that of placement\?$"):
        ReportClient(recorder).get_provider_tree(HOST)


def test_providers_are_found_by_name_and_listed(client: ReportClient) -> None:
    client.report(HOST, describe_host)
    host = client.find_provider("host1")
    assert host is not None
    assert (host.uuid, host.root_uuid, host.parent_uuid) == (HOST, HOST, None)
    assert client.find_provider(HOST) == host
    assert client.find_provider("host2") is None
    assert sorted(client.list_providers({"in_tree": HOST})) == sorted(client.list_providers())
    assert {each.root_uuid for each in client.list_providers()} == {HOST}
    assert client.list_providers({"required": "HW_CPU_X86_AVX2"}) == []
    assert client.list_providers({"member_of": [AGGREGATE, AGGREGATE], "name": "host1"}) == [host]
    with pytest.raises(RefusedError, match="400"):
        client.list_providers({"nmae": "host1"})


def test_consumers_are_listed_in_the_form_in_which_they_are_written(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    client.report(HOST, describe_host)
    made = client.claim({"groups": {"": {"resources": {"VCPU": 1}}}}, consumer(1))
    listed = client.list_consumers({"in_tree": HOST})
    assert listed == {consumer(1).uuid: client.get_allocations_for_consumer(consumer(1).uuid)}
    assert client.list_consumers({"project_id": "another"}) == {}
    client.put_allocations(consumer(1).uuid, listed[consumer(1).uuid])
    assert made.consumer_generation == 1
    with pytest.raises(ServiceTooOld, match="a list of consumers"):
        ReportClient(recorder, (1, 39)).list_consumers()
