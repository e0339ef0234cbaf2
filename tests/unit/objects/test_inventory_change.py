"""Inventories during a change, and inventories that cannot be deleted."""

import pytest

from placement.errors import InventoryInUse
from placement.inventory import InventoryRecord
from placement.objects.inventory_change import InventoryChange, NewInventory
from placement.objects.inventory_rows import Inventory

HOST, CHILD = 1, 2
UUIDS = {HOST: "host", CHILD: "child"}
VCPU, DISK, VGPU = 0, 2, 9


def inventory(row_id: int, class_id: int, name: str, used: int, provider: int = HOST) -> Inventory:
    return Inventory(row_id, provider, class_id, name, used, InventoryRecord(total=10), None)


def test_old_and_new_inventories_both_exist_while_they_change() -> None:
    changed, deleted = inventory(71, VCPU, "VCPU", 4), inventory(72, DISK, "DISK_GB", 5)
    change = InventoryChange(
        created=(NewInventory(CHILD, VGPU, "VGPU", InventoryRecord(total=2)),),
        updated={71: InventoryRecord(total=20)},
        deleted=(deleted,),
    )
    stocks = change.stocks({HOST: {"VCPU": changed, "DISK_GB": deleted}, CHILD: {}})
    amounts = {key: (stock.capacity, stock.used) for key, stock in stocks.items()}
    assert amounts == {(HOST, VCPU): (20, 4), (HOST, DISK): (10, 5), (CHILD, VGPU): (2, 0)}


def test_inventories_in_use_are_refused_by_the_provider_that_comes_first() -> None:
    change = InventoryChange(
        deleted=(
            inventory(73, VGPU, "VGPU", 1, CHILD),
            inventory(71, VCPU, "VCPU", 4),
            inventory(72, DISK, "DISK_GB", 5),
        )
    )
    with pytest.raises(InventoryInUse, match="'VCPU, DISK_GB' on resource provider 'host'"):
        change.refuse_in_use(UUIDS)


def test_an_inventory_that_all_consumers_leave_is_not_in_use() -> None:
    change = InventoryChange(deleted=(inventory(71, VCPU, "VCPU", 4),))
    change.refuse_in_use(UUIDS, {(HOST, VCPU): -4})
    with pytest.raises(InventoryInUse):
        change.refuse_in_use(UUIDS, {(HOST, VCPU): -3})


def test_an_unused_inventory_that_a_claim_begins_to_use_is_in_use() -> None:
    change = InventoryChange(deleted=(inventory(71, VCPU, "VCPU", 0),))
    with pytest.raises(InventoryInUse):
        change.refuse_in_use(UUIDS, {(HOST, VCPU): 1})
