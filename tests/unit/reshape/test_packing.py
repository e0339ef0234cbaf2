"""Which child gets what a consumer holds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falcon_placement_client.inventory import InventoryRecord, units_allow
from falcon_placement_client.reshape import packing
from falcon_placement_client.reshape.packing import Bin, pack, pack_in_parts


def bins(*totals: int, **members: Any) -> list[Bin]:
    return [Bin({"VGPU": InventoryRecord(total, **members)}, {}) for total in totals]


def test_all_of_a_consumer_goes_to_one_child() -> None:
    stocks = {"VCPU": InventoryRecord(4), "MEMORY_MB": InventoryRecord(1000)}
    nodes = [Bin(stocks, {}), Bin(stocks, {})]
    holdings = [{"VCPU": 3, "MEMORY_MB": 100}, {"VCPU": 1, "MEMORY_MB": 950}, {"VCPU": 4}]
    assert pack(holdings, nodes) is None
    assert pack(holdings[:2], nodes) in ([0, 1], [1, 0])


def test_what_is_hard_to_place_goes_first() -> None:
    positions = pack([{"VGPU": 1}, {"VGPU": 3}, {"VGPU": 1}, {"VGPU": 3}], bins(4, 4))
    assert positions is not None
    assert positions[1] != positions[3]
    assert sorted(positions) == [0, 0, 1, 1]


def test_a_choice_that_leads_nowhere_is_taken_back() -> None:
    # Best fit alone would put 5 and 4 together and have no room for the threes.
    amounts = [5, 4, 4, 3, 3, 3]
    positions = pack([{"VGPU": amount} for amount in amounts], bins(11, 11))
    assert positions is not None
    for position in (0, 1):
        assert sum(a for a, at in zip(amounts, positions, strict=True) if at == position) == 11


def test_a_packing_is_given_up_after_so_many_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_TRIES", 3)
    each = bins(11, 11)
    assert pack([{"VGPU": amount} for amount in (5, 4, 4, 3, 3, 3)], each) is None
    assert [one.room for one in each] == [{"VGPU": 11}, {"VGPU": 11}]


def test_units_and_what_is_used_already_count() -> None:
    assert pack([{"VGPU": 2}], bins(8, max_unit=1)) is None
    assert pack([{"VGPU": 3}], bins(8, step_size=2)) is None
    used = Bin({"VGPU": InventoryRecord(4)}, {"VGPU": 3})
    assert pack([{"VGPU": 2}], [used]) is None
    assert pack([{"VGPU": 1}], [used]) == [0]


def test_children_with_equal_room_and_other_units_do_not_replace_each_other() -> None:
    of_any_amount, of_even_amounts = *bins(4), *bins(4, step_size=2)
    assert pack([{"VGPU": 4}, {"VGPU": 1}], [of_any_amount, of_even_amounts]) == [1, 0]


def test_what_fits_nowhere_is_divided() -> None:
    assert pack_in_parts([{"VGPU": 6}], bins(4, 4)) == [{0: {"VGPU": 4}, 1: {"VGPU": 2}}]
    assert pack_in_parts([{"VGPU": 6}, {"VGPU": 3}], bins(4, 4)) == 1
    assert pack_in_parts([{"VGPU": 3}], bins(2, 2, min_unit=2)) == 0
    of_three = [{0: {"VGPU": 3}, 1: {"VGPU": 3}}]
    assert pack_in_parts([{"VGPU": 6}], bins(4, 4, max_unit=3)) == of_three


@given(
    st.lists(st.integers(1, 6), max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.sampled_from([{}, {"step_size": 2}, {"max_unit": 4}, {"min_unit": 2}]),
)
def test_a_packing_is_found_exactly_where_there_is_one(
    amounts: list[int], totals: list[int], units: dict[str, int]
) -> None:
    stock = [InventoryRecord(total, **units) for total in totals]
    positions = pack([{"VGPU": amount} for amount in amounts], bins(*totals, **units))
    if positions is None:
        assert not _can_be_packed(amounts, totals, stock)
    else:
        for position, total in enumerate(totals):
            placed = [a for a, at in zip(amounts, positions, strict=True) if at == position]
            assert sum(placed) <= total
            assert all(units_allow(stock[position], amount) for amount in placed)


def _can_be_packed(amounts: list[int], rooms: list[int], stock: list[Any]) -> bool:
    if not amounts:
        return True
    first, *others = amounts
    return any(
        first <= room
        and units_allow(stock[i], first)
        and _can_be_packed(others, [*rooms[:i], room - first, *rooms[i + 1 :]], stock)
        for i, room in enumerate(rooms)
    )


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_parts_add_up_and_are_refused_only_for_want_of_room(
    amounts: list[int], totals: list[int]
) -> None:
    placed = pack_in_parts([{"VGPU": amount} for amount in amounts], bins(*totals))
    if isinstance(placed, int):
        assert sum(amounts) > sum(totals)
        return
    for amount, parts in zip(amounts, placed, strict=True):
        assert sum(part["VGPU"] for part in parts.values()) == amount
    for position, total in enumerate(totals):
        assert sum(parts.get(position, {}).get("VGPU", 0) for parts in placed) <= total
