"""The first reason why an inventory cannot serve an amount, or a part of it."""

import pytest

from placement.candidates.model import Refusal
from placement.candidates.terms.amounts import AMOUNT_CODES, unfit_for_a_part, unfit_whole
from placement.inventory import Stock


@pytest.mark.parametrize(
    ("stock", "code"),
    [
        (Stock(8, 0, 1, 8, 1), None),
        (Stock(8, 7, 1, 8, 1), None),
        (Stock(8, 0, 3, 8, 1), Refusal.MIN_UNIT),
        (Stock(9, 0, 1, 9, 3), Refusal.STEP_SIZE),
        (Stock(9, 0, 2, 9, 3), Refusal.STEP_SIZE),
        (Stock(8, 0, 2, 1, 2), Refusal.MAX_UNIT),
        (Stock(8, 8, 1, 8, 1), Refusal.CAPACITY),
        (Stock(8, 6, 3, 8, 1), Refusal.CAPACITY),
        (Stock(9, 7, 1, 9, 3), Refusal.CAPACITY),
        (Stock(9, 9, 3, 2, 1), Refusal.MIN_UNIT),
    ],
)
def test_no_part_of_two_units_fits(stock: Stock, code: Refusal | None) -> None:
    mask = 0 if code is None else 1 << AMOUNT_CODES.index(code)
    assert unfit_for_a_part(stock, 2, missing=1, step=1) == mask


@pytest.mark.parametrize(
    ("stock", "code"),
    [
        (Stock(16_384, 0, 1, 16_384, 256), Refusal.MAX_UNIT),
        (Stock(16_384, 0, 1, 65_536, 256), Refusal.CAPACITY),
        (Stock(16_384, 16_384, 1, 16_384, 256), Refusal.CAPACITY),
        (Stock(29_951, 0, 1, 65_536, 256), Refusal.CAPACITY),
        (Stock(29_952, 0, 1, 65_536, 256), Refusal.STEP_SIZE),  # the next smaller amount
        (Stock(65_536, 0, 1, 65_536, 256), Refusal.STEP_SIZE),
        (Stock(65_536, 0, 32_768, 65_536, 1), Refusal.MIN_UNIT),
        (Stock(32_767, 0, 32_768, 65_536, 1), Refusal.CAPACITY),
        (Stock(65_536, 65_535, 1, 20_000, 1), Refusal.MAX_UNIT),  # a single unit is free
        (Stock(65_536, 65_536, 1, 20_000, 1), Refusal.CAPACITY),
        (Stock(0, 0, 1, 255, 256), Refusal.MAX_UNIT),  # the units allow nothing
    ],
)
def test_near_amounts_decide_between_units_and_capacity(stock: Stock, code: Refusal) -> None:
    mask = unfit_whole(stock, 30_000, missing=1, step=1)
    assert mask & -mask == 1 << AMOUNT_CODES.index(code)
