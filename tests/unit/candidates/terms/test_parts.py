"""The first reason why an inventory cannot serve a part of an amount."""

import pytest

from placement.candidates.terms.amounts import AMOUNT_CODES, unfit_for_a_part
from placement.candidates.trace import Refusal
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
    ],
)
def test_no_part_of_two_units_fits(stock: Stock, code: Refusal | None) -> None:
    mask = 0 if code is None else 1 << AMOUNT_CODES.index(code)
    assert unfit_for_a_part(stock, 2, missing=1, step=1) == mask
