"""A matching seats every open slot, or says that it cannot."""

from collections import Counter
from collections.abc import Callable
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.constraints.matching import Matching, all_providers
from placement.candidates.model import OptionList

PROVIDERS = range(5)
OPTIONS = st.lists(
    st.lists(st.sampled_from(PROVIDERS), min_size=1, max_size=4, unique=True),
    min_size=1,
    max_size=5,
).map(lambda found: dict(enumerate(found)))
SEATS = st.fixed_dictionaries({provider: st.integers(0, 3) for provider in PROVIDERS})


def can_be_seated(options: dict[int, list[int]], seats: dict[int, int]) -> bool:
    """Whether some way to choose a provider for each slot leaves none with too many."""
    return any(
        all(number <= seats[provider] for provider, number in Counter(choice).items())
        for choice in product(*options.values())
    )


@given(OPTIONS, SEATS)
def test_it_is_complete_where_all_slots_can_be_seated(
    options: dict[int, list[int]], seats: dict[int, int]
) -> None:
    assert Matching(options, seats).complete() == can_be_seated(options, seats)


@given(
    OPTIONS,
    SEATS,
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.booleans()), max_size=12),
)
def test_a_slot_is_placed_just_where_the_others_can_still_be_seated(
    options: dict[int, list[int]], seats: dict[int, int], steps: list[tuple[int, int, bool]]
) -> None:
    matching = Matching(options, seats)
    if not matching.complete():
        return
    undo: list[tuple[Callable[[], object], int, int]] = []
    open_slots, left = dict(options), dict(seats)
    for which, choice, forward in steps:
        if forward and open_slots:
            slot = sorted(open_slots)[which % len(open_slots)]
            provider = options[slot][choice % len(options[slot])]
            others = {each: open_slots[each] for each in open_slots if each != slot}
            after = {**left, provider: max(left[provider] - 1, 0)}
            possible = left[provider] > 0 and can_be_seated(others, after)
            if left[provider] == 0:
                continue  # the caller checks the room first
            taken_back = matching.place(slot, provider, after[provider])
            assert (taken_back is not None) == possible
            if taken_back is not None:
                undo.append((taken_back, slot, provider))
                open_slots, left = others, after
        elif undo:
            taken_back, slot, provider = undo.pop()
            taken_back()
            open_slots = {**open_slots, slot: options[slot]}
            left = {**left, provider: left[provider] + 1}
        assert all(matching.seats(provider) == left[provider] for provider in PROVIDERS)


def test_work_is_reported_before_a_refusal_too() -> None:
    spent: list[int] = []
    assert not Matching({0: [0], 1: [0]}, {0: 1}, spent.append).complete()
    assert sum(spent) >= 4


def test_all_providers_are_the_union_of_the_slots() -> None:
    shared = OptionList([1, 2])
    assert all_providers([shared, shared, OptionList([2, 3])]) == {1, 2, 3}
