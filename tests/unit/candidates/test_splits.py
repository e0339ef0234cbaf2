"""An amount in parts: each provider in turn gives the largest part that its units allow."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.search.splits import split_amount
from placement.inventory import Stock, fits, sizes

STOCKS = st.builds(
    Stock,
    st.integers(-2, 20),
    st.integers(0, 6),
    st.integers(1, 6),
    st.integers(1, 20),
    st.integers(1, 5),
)


@given(STOCKS, st.integers(1, 30))
def test_sizes_of_parts_are_the_amounts_that_fit(stock: Stock, most: int) -> None:
    assert list(sizes(stock, most)) == [n for n in range(1, most + 1) if fits(stock, n)]


def plain(*rooms: int) -> list[tuple[int, Stock]]:
    return [(position, Stock(room, 0, 1, room, 1)) for position, room in enumerate(rooms)]


@given(st.lists(STOCKS, max_size=6), st.integers(1, 60))
def test_a_part_is_the_largest_that_fits_of_what_is_missing(
    stocks: Sequence[Stock], amount: int
) -> None:
    expected, missing = [], amount
    for position, stock in enumerate(stocks):
        part = max((n for n in range(1, missing + 1) if fits(stock, n)), default=0)
        missing -= part
        expected += [(position, part)] if part else []
    assert split_amount(amount, enumerate(stocks)) == (None if missing else tuple(expected))


@pytest.mark.parametrize(
    ("amount", "providers", "split"),
    [
        (20, plain(9, 8, 7), ((0, 9), (1, 8), (2, 3))),
        (17, plain(9, 8, 7), ((0, 9), (1, 8))),
        (25, plain(9, 8, 7), None),
        (2**31, plain(2**31 - 1, 2**31 - 1), ((0, 2**31 - 1), (1, 1))),
        # The second provider has no part of 3 or less, so it is passed over.
        (
            11,
            [(0, Stock(8, 0, 1, 8, 1)), (1, Stock(4, 0, 4, 4, 4)), (2, Stock(3, 0, 1, 3, 1))],
            ((0, 8), (2, 3)),
        ),
        # 3 + 2 is not tried.
        (5, [(0, Stock(4, 0, 1, 4, 1)), (1, Stock(3, 0, 2, 3, 1))], None),
    ],
)
def test_parts_are_given_in_turn(
    amount: int, providers: Sequence[tuple[int, Stock]], split: object
) -> None:
    assert split_amount(amount, providers) == split
