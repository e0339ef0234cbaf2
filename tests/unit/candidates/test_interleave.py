"""Anchors take turns, and no candidate comes twice."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.search.anchors import Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.result import interleave, unique


class Scripted:
    """A search with these candidates; with `told` the last one is marked as the last."""

    def __init__(self, candidates: Sequence[str], *, told: bool = True) -> None:
        self.first = candidates[0] if candidates else None
        self._candidates = list(candidates[1:])
        self._told = told
        self.asked = 0
        self.exhausted = told and not self._candidates

    def next(self) -> str | None:
        self.asked += 1
        if not self._candidates:
            self.exhausted = True
            return None
        candidate = self._candidates.pop(0)
        self.exhausted = self._told and not self._candidates
        return candidate


def order(searches: Sequence[Scripted], *, breadth_first: bool) -> list[str]:
    found = interleave(cast(list[Search], searches), breadth_first=breadth_first)
    return cast(list[str], list(found))


@pytest.mark.parametrize("told", [True, False])
def test_breadth_first_takes_one_of_each_and_then_begins_again(told: bool) -> None:
    searches = [
        Scripted(names, told=told) for names in (["a1", "a2", "a3"], [], ["b1"], ["c1", "c2"])
    ]
    assert order(searches, breadth_first=True) == ["a1", "b1", "c1", "a2", "c2", "a3"]


@pytest.mark.parametrize("told", [True, False])
def test_depth_first_finishes_one_search_before_the_next(told: bool) -> None:
    searches = [Scripted(names, told=told) for names in (["a1", "a2"], [], ["b1", "b2"])]
    assert order(searches, breadth_first=False) == ["a1", "a2", "b1", "b2"]


def test_a_search_that_said_it_has_no_more_is_not_asked_again() -> None:
    one, many = Scripted(["a1"]), Scripted(["b1", "b2"])
    order([one, many], breadth_first=True)
    assert (one.asked, many.asked) == (0, 1)


def test_no_search_is_begun_before_its_turn() -> None:
    begun: list[str] = []

    def searches() -> Iterator[Search]:
        for name in "abc":
            begun.append(name)
            yield cast(Search, Scripted([f"{name}1", f"{name}2"]))

    first = islice(interleave(searches(), breadth_first=True), 2)
    assert [*map(str, first)] == ["a1", "b1"]
    assert begun == ["a", "b"]


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6), st.booleans(), st.booleans())
def test_every_candidate_of_every_search_comes_once(
    numbers: list[list[int]], breadth_first: bool, told: bool
) -> None:
    names = [[f"{place}-{number}" for number in each] for place, each in enumerate(numbers)]
    searches = [Scripted(each, told=told) for each in names]
    found = order(searches, breadth_first=breadth_first)
    assert sorted(found) == sorted(name for each in names for name in each)
    # Within a search, candidates keep their order.
    for place, each in enumerate(names):
        assert [name for name in found if name.startswith(f"{place}-")] == each


class Providers:
    """The part of a candidate that identifies it."""

    def __init__(self, *providers: str) -> None:
        self.providers = providers


def test_a_candidate_is_another_one_when_another_provider_serves_a_slot() -> None:
    ab, ba, again = Providers("a", "b"), Providers("b", "a"), Providers("a", "b")
    found: list[object] = [*unique(cast(list[Candidate], [ab, ba, again]))]
    assert found == [ab, ba]
