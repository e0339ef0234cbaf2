"""Claims on a state: their changes and refusals."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

import pytest

from placement.errors import (
    CapacityExceeded,
    ConsumerGenerationConflict,
    NoInventory,
    PlacementError,
    UnitsViolated,
    UnknownProviders,
    UnknownResourceClasses,
)
from placement.inventory import InventoryRecord
from placement.objects.allocation_change import (
    AllocationChange,
    AllocationState,
    UsageMove,
    allocation_change,
    check_consumer_generations,
)
from placement.objects.allocation_release import release
from placement.objects.claims import Claim
from placement.objects.consumers import AllocationRow, Consumer
from placement.objects.inventory_rows import Inventory
from placement.objects.locking import LockedProvider
from placement.objects.unset import UNSET, Unset

VCPU, DISK = 0, 2
HOST = LockedProvider(str(UUID(int=1)), 0, 1, 1)
STORE = LockedProvider(str(UUID(int=2)), 0, 2, 2)
HOST_VCPU = (HOST.id, VCPU)
NEW, OLD = str(UUID(int=11)), str(UUID(int=12))
UNKNOWN = str(UUID(int=99))


def consumer(used: int) -> Consumer:
    """The consumer OLD at generation 3, which uses VCPUs of the host."""
    row = AllocationRow(91, HOST_VCPU, used, HOST.root_id, 71)
    return Consumer(81, OLD, 3, 1, 1, None, (row,))


def state(used: int = 0, old: Consumer | None = None) -> AllocationState:
    """A host with 10 VCPUs, some of them used, and a store with 10 GB in steps of 2."""
    vcpus = Inventory(71, HOST.id, VCPU, "VCPU", used, InventoryRecord(total=10, max_unit=8), None)
    disk = Inventory(72, STORE.id, DISK, "DISK_GB", 0, InventoryRecord(total=10, step_size=2), None)
    return AllocationState(
        {HOST.uuid: HOST, STORE.uuid: STORE},
        {HOST.id: {"VCPU": vcpus}, STORE.id: {"DISK_GB": disk}},
        {OLD: old} if old else {},
        {HOST.root_id: 111, STORE.root_id: 222},
        {"project": {"p": 1}, "user": {"u": 1}, "resource_class": {"VCPU": VCPU, "DISK_GB": DISK}},
    )


def claim(
    uuid: str,
    resources: Mapping[str, int],
    provider: str = HOST.uuid,
    generation: int | Unset | None = UNSET,
) -> Claim:
    return Claim(uuid, {provider: resources} if resources else {}, "p", "u", generation)


def change(before: AllocationState, *claims: Claim) -> AllocationChange:
    return allocation_change(before, claims, before.stocks())


def test_a_new_consumer_is_created_with_its_amounts() -> None:
    new = change(state(), claim(NEW, {"VCPU": 4}))
    assert list(new.consumers.created) == [NEW]
    (amount,) = new.amounts
    assert (amount.consumer_uuid, amount.key, amount.amount) == (NEW, HOST_VCPU, 4)
    assert new.moves() == {71: UsageMove(4, least=4, most=4, divisor=4)}
    assert new.provider_ids == {HOST.id}
    assert new.root_ids == {HOST.id: HOST.root_id}


def test_what_a_consumer_has_is_replaced_and_moves_by_the_difference() -> None:
    new = change(state(9, consumer(5)), claim(OLD, {"VCPU": 6}))
    assert [row.id for row in new.deleted_rows] == [91]
    assert [old.uuid for old, _claim in new.consumers.updated] == [OLD]
    assert new.moves() == {71: UsageMove(1, 6, 6, 6)}


def test_an_amount_that_stays_moves_nothing_but_the_units_have_to_allow_it() -> None:
    new = change(state(5, consumer(5)), claim(OLD, {"VCPU": 5}))
    assert new.moves() == {71: UsageMove(0, 5, 5, 5)}


def test_the_units_have_to_allow_every_amount_from_an_inventory() -> None:
    claims = claim(NEW, {"DISK_GB": 4}, STORE.uuid), claim(OLD, {"DISK_GB": 6}, STORE.uuid)
    assert change(state(), *claims).moves() == {72: UsageMove(10, least=4, most=6, divisor=2)}


def test_a_provider_that_a_consumer_leaves_is_concerned_and_keeps_its_generation() -> None:
    new = change(state(5, consumer(5)), claim(OLD, {"DISK_GB": 2}, STORE.uuid))
    assert new.moves() == {71: UsageMove(-5), 72: UsageMove(2, 2, 2, 2)}
    assert new.root_ids == {HOST.id: HOST.root_id, STORE.id: STORE.root_id}
    assert new.provider_ids == {STORE.id}


def test_a_consumer_that_is_emptied_is_deleted_and_its_provider_changes() -> None:
    new = change(state(5, consumer(5)), claim(OLD, {}))
    assert [old.uuid for old in new.consumers.deleted] == [OLD]
    assert (new.moves(), new.provider_ids) == ({71: UsageMove(-5)}, frozenset({HOST.id}))


def test_one_consumer_of_a_request_may_get_what_another_gives_back() -> None:
    before = state(10, consumer(8))
    new = change(before, claim(NEW, {"VCPU": 8}), claim(OLD, {}))
    assert new.moves() == {71: UsageMove(0, 8, 8, 8)}


def test_an_over_committed_inventory_can_be_given_back_in_part() -> None:
    new = change(state(20, consumer(8)), claim(OLD, {"VCPU": 7}))
    assert new.moves() == {71: UsageMove(-1, 7, 7, 7)}
    with pytest.raises(CapacityExceeded):
        change(state(20, consumer(7)), claim(OLD, {"VCPU": 8}))


def test_an_inventory_that_the_transaction_creates_is_moved_by_its_new_id() -> None:
    before = state()
    without_inventories = replace(before, inventories={HOST.id: {}, STORE.id: {}})
    new = allocation_change(without_inventories, [claim(NEW, {"VCPU": 1})], before.stocks())
    assert new.moves({HOST_VCPU: 99}) == {99: UsageMove(1, 1, 1, 1)}


def test_a_release_deletes_all_rows_and_moves_no_generation_of_a_provider() -> None:
    freed = release([consumer(5)])
    assert [row.id for row in freed.deleted_rows] == [91]
    assert [old.uuid for old in freed.consumers.deleted] == [OLD]
    assert freed.moves() == {71: UsageMove(-5)}
    assert (freed.provider_ids, freed.amounts) == (frozenset(), ())
    assert freed.root_ids == {HOST.id: HOST.root_id}


def test_a_provider_and_an_inventory_that_do_not_exist_any_more_can_be_left() -> None:
    row = AllocationRow(91, (999, VCPU), 5, None, None)
    new = change(state(0, replace(consumer(5), allocations=(row,))), claim(OLD, {}))
    assert [row.id for row in new.deleted_rows] == [91]
    assert (new.moves(), new.provider_ids, new.root_ids) == ({}, frozenset(), {})


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ([claim(NEW, {"VCPU": 1}, UNKNOWN)], UnknownProviders),
        ([claim(NEW, {"CUSTOM_NONE": 1})], UnknownResourceClasses),
        ([claim(NEW, {"DISK_GB": 2})], NoInventory),
        ([claim(NEW, {"VCPU": 9})], UnitsViolated),
        ([claim(NEW, {"DISK_GB": 3}, STORE.uuid)], UnitsViolated),
        ([claim(NEW, {"VCPU": 6})], CapacityExceeded),
        ([claim(NEW, {"VCPU": 3}), claim(OLD, {"VCPU": 3})], CapacityExceeded),
    ],
)
def test_what_cannot_be_is_refused(claims: list[Claim], error: type[PlacementError]) -> None:
    with pytest.raises(error):
        change(state(used=5), *claims)


@pytest.mark.parametrize(("uuid", "generation"), [(OLD, UNSET), (OLD, 3), (NEW, None)])
def test_the_present_generation_is_accepted(uuid: str, generation: int | Unset | None) -> None:
    claims = [claim(uuid, {"VCPU": 1}, generation=generation)]
    check_consumer_generations(state(5, consumer(5)), claims)


@pytest.mark.parametrize(("uuid", "generation"), [(OLD, 2), (OLD, None), (NEW, 0)])
def test_any_other_generation_is_refused(uuid: str, generation: int | None) -> None:
    claims = [claim(uuid, {"VCPU": 1}, generation=generation)]
    with pytest.raises(ConsumerGenerationConflict):
        check_consumer_generations(state(5, consumer(5)), claims)
