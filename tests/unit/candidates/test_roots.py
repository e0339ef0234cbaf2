"""The batches of roots, and when the database selects matching roots."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.stats import SERVED, UNSERVED, RootStats
from placement.candidates.trees.roots import RootReader, RootSource
from placement.candidates.tuning import DEFAULT_TUNING, SearchTuning

TUNING = DEFAULT_TUNING


class FakeReader:
    """Roots by id, some of which match. Records the calls."""

    def __init__(
        self, ids: Sequence[int], matching: Sequence[int], *, pinned: bool = False
    ) -> None:
        self.ids = ids
        self.matches = frozenset(matching)
        self.pinned = pinned
        self.asked: list[str] = []

    def run(self, after: int, size: int) -> tuple[dict[int, int], int, int]:
        self.asked.append(f"run of {size}")
        ids = [root_id for root_id in self.ids if root_id > after][:size]
        return dict.fromkeys(ids, 1), len(ids), ids[-1] if ids else after

    def sample(self, size: int) -> dict[int, int]:
        self.asked.append(f"sample of {size}")
        return dict.fromkeys(self.ids[1::2][:size], 1)

    def matching(self, after: int, stats: RootStats) -> dict[int, int]:
        self.asked.append(f"matching after {after}")
        return {root_id: 1 for root_id in self.ids if root_id > after and root_id in self.matches}


def read_all(
    reader: FakeReader,
    limit: int | None = None,
    *,
    randomize: bool = False,
    tuning: SearchTuning = TUNING,
) -> list[list[int]]:
    """The ids of the batches, each of whose matching roots has a candidate."""
    source = RootSource(cast(RootReader, reader), limit, randomize=randomize, tuning=tuning)
    stats = RootStats()
    batches = []
    while (batch := source.next_batch(stats)) is not None:
        batches.append([*batch])
        stats = stats.plus([SERVED if each in reader.matches else UNSERVED for each in batch])
        if limit is not None and stats.served >= limit:
            break
    return batches


def test_where_all_match_windows_grow_and_are_cut_into_batches() -> None:
    ids = range(1, 1001)
    reader = FakeReader(ids, ids)
    batches = read_all(reader)
    assert [root_id for batch in batches for root_id in batch] == [*ids]
    assert max(map(len, batches)) <= TUNING.largest_batch
    assert len(batches[0]) == TUNING.first_batch
    first = TUNING.first_window
    assert reader.asked[:2] == [f"run of {first}", f"run of {first * TUNING.window_growth}"]


def test_where_few_match_the_database_is_asked_for_all_that_is_left() -> None:
    reader = FakeReader(range(1, 1001), [500, 900])
    batches = read_all(reader)
    window = TUNING.first_window
    assert reader.asked == [f"run of {window}", f"matching after {window}"]
    assert batches[-1] == [500, 900]


def test_a_request_for_one_tree_asks_for_it_at_once() -> None:
    reader = FakeReader(range(1, 1001), [7], pinned=True)
    assert read_all(reader, 10, randomize=True) == [[7]]
    assert reader.asked == ["matching after 0"]


@pytest.mark.parametrize("limit", [10, 200])
def test_no_more_is_read_than_a_limit_takes(limit: int) -> None:
    ids = range(1, 10_001)
    reader = FakeReader(ids, ids)
    batches = read_all(reader, limit)
    assert limit <= sum(map(len, batches)) <= limit + TUNING.largest_batch
    assert len(reader.asked) <= 2


def test_a_sample_comes_first_and_its_roots_do_not_come_again() -> None:
    ids = range(1, 101)
    reader = FakeReader(ids, ids)
    batches = read_all(reader, 1000, randomize=True)
    assert reader.asked[0].startswith("sample of")
    roots = [root_id for batch in batches for root_id in batch]
    assert roots[0] == 2
    assert sorted(roots) == [*ids]


def test_a_sample_without_matches_is_followed_by_a_request_for_them() -> None:
    reader = FakeReader(range(1, 1001), [999])
    assert read_all(reader, 10, randomize=True)[-1] == [999]
    assert [each.split()[0] for each in reader.asked] == ["sample", "matching"]


def test_without_a_limit_all_roots_are_read_and_nothing_is_sampled() -> None:
    reader = FakeReader(range(1, 101), range(1, 101))
    read_all(reader, randomize=True)
    assert not any(each.startswith("sample") for each in reader.asked)


def test_an_empty_cloud_has_no_roots() -> None:
    assert read_all(FakeReader([], [])) == []


@given(
    st.sets(st.integers(1, 400), max_size=120).map(sorted),
    st.sets(st.integers(1, 400), max_size=120),
    st.sampled_from([None, 1, 5, 1000]),
    st.booleans(),
    st.integers(1, 8),
    st.integers(1, 8),
)
def test_no_match_is_left_out_and_no_root_comes_twice(
    ids: list[int],
    matching: set[int],
    limit: int | None,
    randomize: bool,
    window: int,
    batch: int,
) -> None:
    tuning = replace(TUNING, smallest_window=window, first_window=window, first_batch=batch)
    reader = FakeReader(ids, [root_id for root_id in ids if root_id in matching])
    roots = [
        root
        for each in read_all(reader, limit, randomize=randomize, tuning=tuning)
        for root in each
    ]
    assert len(roots) == len(set(roots))
    if limit is None or len(reader.matches) < limit:
        assert reader.matches <= set(roots)
    else:
        assert len(reader.matches.intersection(roots)) >= limit


def test_each_window_is_judged_by_its_own_matches() -> None:
    first = TUNING.first_window
    reader = FakeReader(range(1, 10_001), range(1, first + 1))
    read_all(reader)
    second = first * TUNING.window_growth
    assert reader.asked == [
        f"run of {first}",
        f"run of {second}",
        f"matching after {first + second}",
    ]
