"""Amounts in parts: the same sets as by trying all of them, and few steps where these are many."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from math import comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.budget import Budget, BudgetSpentError
from placement.candidates.model import Split
from placement.candidates.search import sums
from placement.candidates.search.split_search import SplitNumbers
from placement.candidates.search.splits import COST_PER_TRIAL, PartProvider, Splits
from placement.candidates.search.sums import COST_PER_RUN, NOTHING, ReachableSums, largest_first
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


def by_trying(amount: int, providers: Sequence[PartProvider], needed: int) -> set[Split]:
    """The splits by their definition: every set, every part."""
    parts_of: dict[frozenset[int], Split] = {}
    for count in range(1, len(providers) + 1):
        for members in combinations(providers, count):
            parts = completed(amount, [each.sizes for each in members])
            if parts is not None:
                positions = [each.position for each in members]
                parts_of[frozenset(positions)] = tuple(zip(positions, parts, strict=True))
    trait_bits = {each.position: each.trait_bits for each in providers}
    return {
        parts
        for members, parts in parts_of.items()
        if len(members) > 1
        and not any(fewer < members for fewer in parts_of)
        and all(any(trait_bits[each] & bit for each in members) for bit in (1, 2) if needed & bit)
    }


def completed(amount: int, choices: Sequence[range]) -> tuple[int, ...] | None:
    if not choices:
        return None if amount else ()
    for part in sorted(choices[0], reverse=True):
        rest = completed(amount - part, choices[1:]) if part <= amount else None
        if rest is not None:
            return (part, *rest)
    return None


def some_givers(rng: random.Random) -> list[PartProvider]:
    """Mostly providers of like units; also such as have nothing in common."""
    kind = rng.choice(("plain", "units", "unlike", "fixed"))
    step, least = rng.randint(1, 3), rng.randint(1, 4)
    providers = []
    for number in range(rng.randint(1, 6)):
        if kind == "unlike":
            step, least = rng.randint(1, 5), rng.randint(1, 4)
        first = {"plain": 1, "fixed": rng.randint(1, 9)}.get(kind, step * least)
        last = first if kind == "fixed" else first + rng.randint(0, 12)
        position = 10 * rng.randrange(100) + number
        size = range(first, last + 1, 1 if kind == "plain" else step)
        providers.append(PartProvider(position, size, rng.randrange(4)))
    return providers


@pytest.mark.parametrize("most_runs", [sums.MAX_RUNS, 2])
def test_the_sets_equal_the_definition(most_runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where sums are kept so coarsely that they let through what cannot be."""
    monkeypatch.setattr(sums, "MAX_RUNS", most_runs)
    rng = random.Random(most_runs)
    total = 0
    for _ in range(4000):
        providers, amount = some_givers(rng), rng.randint(1, 40)
        needed = rng.choice((0, 0, 1, 2, 3))
        splits = list(Splits(amount, providers).sets(needed))
        assert len(splits) == len(set(splits))
        assert set(splits) == by_trying(amount, providers, needed), (amount, providers, needed)
        total += len(splits)
    assert total > 4000


def plain(*rooms: int) -> list[PartProvider]:
    return [PartProvider(position, range(1, room + 1)) for position, room in enumerate(rooms)]


def test_the_first_set_has_the_largest_rooms() -> None:
    assert next(Splits(20, plain(4, 9, 8, 7)).sets()) == ((1, 9), (2, 8), (3, 3))


def test_parts_follow_the_order_of_the_givers() -> None:
    """The first one leaves as much as the smallest part of the other."""
    providers = [PartProvider(7, range(1, 9)), PartProvider(3, range(4, 9, 4))]
    assert list(Splits(9, providers).sets()) == [((7, 5), (3, 4))]


@pytest.mark.parametrize(
    ("amount", "rooms"), [(2**31, [2**31 - 1, 2**31 - 1]), (1500, [1] * 1500), (900, [1] * 1000)]
)
def test_large_numbers_cost_what_their_sets_have_members(amount: int, rooms: list[int]) -> None:
    budget = Budget(10**9)
    splits = Splits(amount, plain(*rooms), budget.spend)
    first = list(islice(splits.sets(), 10))
    assert first
    assert all(sum(part for _position, part in parts) == amount for parts in first)
    assert budget.cost <= 600 * len(rooms) + 40 * sum(map(len, first))


def test_each_sum_that_is_made_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """All providers differ, so each set computes its own sums."""
    made = 0
    make = sums._sums

    def count(*arguments: Any) -> ReachableSums:
        nonlocal made
        made += 1
        return make(*arguments)

    monkeypatch.setattr(sums, "_sums", count)
    budget = Budget(20_000)
    with pytest.raises(BudgetSpentError):
        list(Splits(600, plain(*range(20, 60)), budget.spend).sets())
    assert made <= budget.cost // sums.COST_PER_SUM + 100


def test_each_size_that_is_tried_for_a_part_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of odd steps are not exact, so many sizes are tried without success."""
    least = 0

    def count(*arguments: Any) -> Iterator[int]:
        nonlocal least
        least += COST_PER_RUN + COST_PER_TRIAL  # to find that there is none, or no more
        for size in largest_first(*arguments):
            least += COST_PER_TRIAL
            yield size

    monkeypatch.setattr("placement.candidates.search.splits.largest_first", count)
    rng = random.Random(2)
    parts = [
        PartProvider(place, range(step, step * rng.randint(20, 400) + 1, step))
        for place, step in enumerate(
            rng.choices((2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37), k=54)
        )
    ]
    budget = Budget(50_000)
    with pytest.raises(BudgetSpentError):
        next(Splits(9973, parts, budget.spend).sets())
    assert 200_000 < least <= budget.cost


def test_sizes_that_fit_together_badly_end_at_the_bound_on_work() -> None:
    """2**31 of steps that have no common measure; and parts of one size, all different."""
    primes = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061]
    steps = [PartProvider(place, range(step, 2**28, step)) for place, step in enumerate(primes)]
    fixed = [
        PartProvider(place, range(n, n + 1)) for place, n in enumerate(range(10**6, 10**6 + 999, 7))
    ]
    for amount, providers in ((2**31 - 1, steps), (10**6 * 31 + 1, fixed)):
        budget = Budget(20_000)
        try:
            splits = Splits(amount, providers, budget.spend)
            for parts in islice(splits.sets(), 3):
                assert sum(part for _position, part in parts) == amount
        except BudgetSpentError:
            pass
        assert budget.cost <= 400_000


def test_each_run_that_a_part_is_compared_with_is_work() -> None:
    """Without that, steps of 6, 10 and 15 took a minute and a half."""
    others = ReachableSums(tuple((amount, amount) for amount in range(0, 600, 6)))
    budget = Budget(10_000)
    assert not list(largest_first(range(10, 601, 10), 5999, others, budget.spend))
    assert budget.cost == COST_PER_RUN * len(others.runs)

    steps = [range(6, 601, 6), range(10, 601, 10), range(15, 601, 15)]
    providers = [PartProvider(place, steps[place // 10]) for place in range(30)]
    with pytest.raises(BudgetSpentError):
        next(Splits(5999, providers, Budget(2_000).spend).sets(), None)


def test_equal_providers_are_one_kind_however_many_sets_they_make() -> None:
    """The only provider with the needed trait is a small one that no set can use."""
    providers = [*plain(*[10] * 63), PartProvider(63, range(1, 2), trait_bits=1)]
    assert comb(63, 32) > 10**17
    budget = Budget(10**6)
    assert not list(Splits(315, providers, budget.spend).sets(1))
    assert budget.cost < 20_000
    assert next(Splits(311, providers).sets(1))[-1] == (63, 1)


def test_an_amount_out_of_reach_has_no_sets() -> None:
    assert not Splits(15, plain(8, 6)).exist
    assert not Splits(7, [PartProvider(0, range(2, 9, 2)), PartProvider(1, range(4, 9, 4))]).exist
    assert not Splits(8, plain(8, 6)).exist, "one could serve it alone, and the other too little"
    assert not list(Splits(15, plain(8, 6)).sets())


def test_sums_are_runs_of_amounts() -> None:
    some = NOTHING.with_optional(range(4, 9), 100).with_optional(range(4, 9), 100)
    assert some.runs == ((0, 0), (4, 16))
    assert some.can_complete(NOTHING.with_part(range(3, 4), 100), 7)
    assert not some.can_complete(NOTHING.with_part(range(3, 4), 100), 6)
    coarse = NOTHING.with_part(range(2, 2**31, 2), 2**31)
    assert len(coarse.runs) <= sums.MAX_RUNS
    assert not coarse.exact


def test_equal_splits_have_one_number() -> None:
    numbers = SplitNumbers()
    one, other = ((1, 4), (2, 4)), ((1, 4), (3, 4))
    assert [numbers.number(one), numbers.number(other), numbers.number(one)] == [-1, -2, -1]
    assert numbers.split(-2) == other
