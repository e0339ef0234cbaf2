"""Inventories, as the service and its clients define them."""

import subprocess
import sys
from pathlib import Path

import pytest

import falcon_placement_client
from falcon_placement_client import public
from falcon_placement_client.inventory import InventoryRecord, units_allow


def test_capacity_is_cut_to_whole_units() -> None:
    assert InventoryRecord(100, allocation_ratio=0.57).capacity == 56
    assert InventoryRecord(10, reserved=1, allocation_ratio=1.5).capacity == 13
    assert InventoryRecord(1, reserved=2, allocation_ratio=0.5).capacity == 0


@pytest.mark.parametrize(("amount", "allowed"), [(0, False), (2, True), (3, False), (8, False)])
def test_units_say_how_much_one_consumer_may_get(amount: int, allowed: bool) -> None:
    record = InventoryRecord(8, min_unit=2, max_unit=6, step_size=2)
    assert units_allow(record, amount) is allowed
    assert units_allow(record.stock(0), amount) is allowed


def test_members_that_are_no_defaults_are_marked() -> None:
    assert InventoryRecord(8).not_default() == {"total": 8}
    record = InventoryRecord(8, step_size=2, allocation_ratio=1.5)
    assert record.not_default() == {"total": 8, "step_size": 2, "allocation_ratio": 1.5}


def test_each_public_name_can_be_imported_from_the_package() -> None:
    for name in public.__all__:
        assert getattr(falcon_placement_client, name) is getattr(public, name)
    with pytest.raises(ImportError):
        from falcon_placement_client import Nothing  # type: ignore[attr-defined] # noqa: F401


def test_each_module_of_the_client_can_be_imported_first() -> None:
    for module in sorted(Path(falcon_placement_client.__path__[0]).glob("[a-z]*.py")):
        code = f"import falcon_placement_client.{module.stem}"
        subprocess.run([sys.executable, "-c", code], check=True)
