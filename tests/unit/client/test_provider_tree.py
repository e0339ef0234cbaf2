"""Trees of providers: what drivers do with them, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Any

import pytest
from hypothesis import given

from falcon_placement_client.errors import ProviderTreeError
from falcon_placement_client.provider_data import ProviderData
from falcon_placement_client.provider_tree import ProviderTree, TreeSnapshot
from tests.unit.client.any_tree import trees

HOST, NUMA0, NUMA1, DISK = (f"00000000-0000-0000-0000-{number:012}" for number in range(1, 5))
AGGREGATE = "aaaaaaaa-0000-0000-0000-000000000001"
A_LIST: Any = ["AVX"]  # in the place of one name
DEFAULTS = {"reserved": 0, "min_unit": 1, "max_unit": 2**31 - 1, "step_size": 1}


def host() -> ProviderTree:
    """A host, VCPU 8, with two NUMA nodes."""
    tree = ProviderTree()
    tree.new_root("host1", HOST, generation=3)
    tree.update_inventory("host1", {"VCPU": {"total": 8}})
    tree.new_child("NUMA0", "host1", NUMA0)
    tree.new_child("NUMA1", HOST, NUMA1)
    return TreeSnapshot(tree).edit()


def test_a_provider_is_found_by_name_and_by_uuid() -> None:
    tree = host()
    numa = tree.find("NUMA1")
    assert numa is not None
    assert numa == tree.data(NUMA1) == tree.data(NUMA1.upper())
    assert (numa.name, numa.uuid, numa.parent_uuid) == ("NUMA1", NUMA1, HOST)
    assert tree.find("NUMA2") is None
    assert (tree.exists("NUMA1"), tree.exists("NUMA2")) == (True, False)
    assert tree.root("NUMA1").name == "host1"


def test_uuids_are_of_all_providers_or_of_a_subtree() -> None:
    tree = host()
    core = tree.new_child("core", "NUMA1")
    shared = tree.new_root("disk")
    assert tree.get_provider_uuids() == [HOST, NUMA0, NUMA1, core, shared]
    assert tree.get_provider_uuids("NUMA1") == [NUMA1, core]
    assert tree.get_provider_uuids_in_tree("core") == [HOST, NUMA0, NUMA1, core]
    assert [each.name for each in tree.roots()] == ["host1", "disk"]


def test_a_provider_is_removed_with_all_below_it() -> None:
    tree = host()
    tree.new_child("core", "NUMA1")
    tree.remove("NUMA1")
    assert [each.name for each in tree] == ["host1", "NUMA0"]


def test_an_update_says_whether_it_changed_anything() -> None:
    tree = host()
    assert tree.has_inventory("host1")
    assert not tree.has_inventory("NUMA0")
    assert not tree.has_inventory_changed("host1", {"VCPU": {"total": 8, "reserved": 0}})
    assert not tree.update_inventory("host1", {"VCPU": {"total": 8}})
    assert tree.update_inventory("host1", {"VCPU": {"total": 16}}, generation=4)
    assert tree.data("host1").generation == 4
    assert tree.has_inventory_changed("host1", {"VCPU": {"total": 8}})

    assert tree.update_traits("host1", {"HW_CPU_X86_AVX", "CUSTOM_A"})
    assert not tree.update_traits("host1", ["CUSTOM_A", "HW_CPU_X86_AVX", "CUSTOM_A"])
    assert not tree.add_traits("host1", "CUSTOM_A")
    assert tree.remove_traits("host1", "CUSTOM_A", "CUSTOM_B")
    assert tree.has_traits("host1", ["HW_CPU_X86_AVX"])
    assert not tree.has_traits("host1", ["HW_CPU_X86_AVX", "CUSTOM_A"])
    assert tree.has_traits_changed("host1", [])

    assert tree.update_aggregates("host1", {AGGREGATE.upper()})
    assert not tree.add_aggregates("host1", AGGREGATE)
    assert tree.in_aggregates("host1", [AGGREGATE])
    assert not tree.have_aggregates_changed("host1", [AGGREGATE])
    assert tree.remove_aggregates("host1", AGGREGATE)
    assert not tree.has_aggregates_changed("host1", [])


def test_records_are_complete_and_cannot_be_changed() -> None:
    record = host().data("host1").inventory["VCPU"]
    assert asdict(record) == {"total": 8, "allocation_ratio": 1.0, **DEFAULTS}
    with pytest.raises(FrozenInstanceError):
        record.total = 9  # type: ignore[misc]


def test_a_record_is_given_back_and_checked_like_a_mapping() -> None:
    tree = host()
    record = tree.data("host1").inventory["VCPU"]
    assert not tree.update_inventory("host1", tree.data("host1").inventory)
    assert tree.update_inventory("host1", {"VCPU": replace(record, total=9)})
    with pytest.raises(ProviderTreeError, match="host1: inventory VCPU: reserved is 10"):
        tree.update_inventory("host1", {"VCPU": replace(record, reserved=10)})


def test_a_sharing_provider_is_known_by_its_trait() -> None:
    tree = host()
    tree.new_root("disk", DISK)
    tree.update_inventory("disk", {"DISK_GB": {"total": 1000}})
    assert not tree.has_sharing_provider("DISK_GB")
    tree.add_traits("disk", "MISC_SHARES_VIA_AGGREGATE")
    assert tree.has_sharing_provider("DISK_GB")
    assert not tree.has_sharing_provider("VCPU")


def test_a_copy_is_edited_by_itself_and_a_snapshot_stays() -> None:
    tree = host()
    before, other = tree.snapshot(), tree.copy()
    other.remove("NUMA1")
    assert tree == before
    assert other != before
    assert str(other.changes()) == "- child NUMA1 below host1"
    assert not tree.changes()


Edit = Callable[[ProviderTree], object]
WORDS: list[tuple[Edit, str]] = [
    (lambda tree: None, "no difference"),
    (lambda tree: tree.new_child("NUMA2", "host1"), "+ child NUMA2 below host1"),
    (lambda tree: tree.new_root("disk"), "+ root disk"),
    (lambda tree: tree.remove("NUMA1"), "- child NUMA1 below host1"),
    (
        lambda tree: tree.remove("host1"),
        "- child NUMA1 below host1; - child NUMA0 below host1; - root host1",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": 16, "reserved": 2}}),
        "host1: VCPU total 8 -> 16, reserved 0 -> 2",
    ),
    (
        lambda tree: tree.update_inventory(
            "host1", {"VCPU": {"total": 8}, "DISK_GB": {"total": 9, "allocation_ratio": 1.5}}
        ),
        "host1: + DISK_GB total 9, allocation_ratio 1.5",
    ),
    (lambda tree: tree.update_inventory("host1", {}), "host1: - VCPU"),
    (
        lambda tree: tree.update_traits("NUMA0", ["CUSTOM_B", "CUSTOM_A"]),
        "NUMA0: + traits CUSTOM_A, CUSTOM_B",
    ),
    (
        lambda tree: tree.update_aggregates("NUMA0", [AGGREGATE]),
        f"NUMA0: + aggregate {AGGREGATE}",
    ),
]


@pytest.mark.parametrize(("edit", "words"), WORDS, ids=[words for _, words in WORDS])
def test_changes_say_themselves_in_words(edit: Edit, words: str) -> None:
    tree = host()
    edit(tree)
    assert str(tree.changes()) == words
    assert bool(tree.changes()) == (words != "no difference")


def test_the_difference_of_two_trees_contains_renamed_and_moved_providers() -> None:
    old = TreeSnapshot([ProviderData(HOST, "host1"), ProviderData(NUMA0, "a", HOST)])
    new = TreeSnapshot([ProviderData(NUMA0, "b"), ProviderData(HOST, "host1", NUMA0)])
    assert str(new - old) == "a is renamed b; b becomes a root; host1 below b now"
    assert old + (new - old) == new


WRONG: list[tuple[Edit, str]] = [
    (
        lambda tree: tree.data("host2"),
        "no provider 'host2' in the tree: it has host1, NUMA0, NUMA1",
    ),
    (lambda tree: tree.new_child("NUMA2", "host2"), "no provider 'host2' in the tree"),
    (lambda tree: tree.new_root("NUMA0"), "NUMA0: a provider NUMA0 is in the tree already"),
    (lambda tree: tree.new_root("host2", HOST), f"host2: a provider {HOST} is in the tree already"),
    (lambda tree: tree.new_root("host2", "7"), "host2: UUID '7' is not a UUID"),
    (lambda tree: tree.new_root(""), "'' cannot be a provider's name: expected 1 to 200"),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": "8"}}),
        "host1: inventory VCPU: total is '8', expected a whole number from 1 to 2147483647",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": True}}),
        "host1: inventory VCPU: total is True, expected a whole number",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": 8, "reserved": 9}}),
        "host1: inventory VCPU: reserved is 9, expected no more than the total, 8",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"totl": 8}}),
        "host1: inventory VCPU: no member 'totl', expected total, reserved",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"reserved": 8}}),
        r"host1: inventory VCPU is \{'reserved': 8\}, expected \{'total': amount",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": 8, "reservd": 1}}),
        "host1: inventory VCPU: no member 'reservd', expected total, reserved",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"VCPU": {"total": 8, "allocation_ratio": -1}}),
        "host1: inventory VCPU: allocation_ratio is -1, expected a number",
    ),
    (
        lambda tree: tree.update_inventory("host1", {"vcpu": {"total": 8}}),
        "host1: 'vcpu' cannot be a",
    ),
    (lambda tree: tree.update_inventory("host1", {"VCPU": 8}), "host1: inventory VCPU is 8"),  # type: ignore[dict-item]
    (lambda tree: tree.update_inventory("host1", 8), "host1: the inventory is 8"),  # type: ignore[arg-type]
    (lambda tree: tree.update_traits("host1", "CUSTOM_A"), "host1: the traits are 'CUSTOM_A'"),
    (lambda tree: tree.add_traits("host1", "avx"), "host1: 'avx' cannot be a trait: expected cap"),
    (lambda tree: tree.add_traits("host1", A_LIST), r"host1: \['AVX'\] cannot be a trait: expec"),
    (lambda tree: tree.remove_traits("host1", A_LIST), r"host1: \['AVX'\] cannot be a trait: ex"),
    (lambda tree: tree.add_aggregates("host1", A_LIST), r"host1: aggregate .* is not a UUID"),
    (lambda tree: tree.update_aggregates("host1", ["az1"]), "host1: aggregate 'az1' is not a UUID"),
]


@pytest.mark.parametrize(("edit", "words"), WRONG, ids=[words[:40] for _, words in WRONG])
def test_what_cannot_be_is_refused_and_changes_nothing(edit: Edit, words: str) -> None:
    tree = host()
    with pytest.raises(ProviderTreeError, match=f"^{words}"):
        edit(tree)
    assert not tree.changes()


def test_trees_that_cannot_be_are_refused() -> None:
    with pytest.raises(ProviderTreeError, match="the same name"):
        TreeSnapshot([ProviderData(HOST, "a"), ProviderData(NUMA0, "a")])
    with pytest.raises(ProviderTreeError, match=f"a: its parent {HOST} is not in the tree"):
        TreeSnapshot([ProviderData(NUMA0, "a", HOST)])
    with pytest.raises(ProviderTreeError, match="is its own ancestor"):
        TreeSnapshot([ProviderData(HOST, "a", NUMA0), ProviderData(NUMA0, "b", HOST)])


def test_a_difference_is_not_applied_to_a_tree_without_its_providers() -> None:
    stocked = host()
    stocked.update_inventory("NUMA0", {"VCPU": {"total": 1}})
    with pytest.raises(ProviderTreeError, match=r"NUMA0: \+ VCPU total 1: there is no provider"):
        TreeSnapshot() + stocked.changes()


# -- any two trees ----------------------------------------------------------------------------


@given(trees(), trees())
def test_a_difference_applied_to_the_old_tree_gives_the_new_one(
    old: TreeSnapshot, new: TreeSnapshot
) -> None:
    difference = new - old
    assert old + difference == new
    assert bool(difference) == (old != new)
    assert new + difference == new, "applied twice it changes nothing more"
