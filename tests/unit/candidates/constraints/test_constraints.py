"""Constraints give back what they took, and refuse exactly what cannot be completed."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.constraints import (
    Capacity,
    CollectiveTraits,
    Constraint,
    Isolation,
    OnePerTree,
    OutsideSubtree,
    SameSubtree,
    Undo,
)
from placement.candidates.constraints.forest import Forest
from placement.candidates.model import OptionList

Options = Mapping[int, OptionList]
Steps = Sequence[tuple[int, bool]]
Judge = Callable[[bool, Mapping[int, int]], None]
Possible = Callable[[Mapping[int, int]], bool]

OPTIONS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True), min_size=1, max_size=5
).map(lambda found: dict(enumerate(map(OptionList, found))))


def completions(options: Options, placed: Mapping[int, int]) -> list[tuple[int, ...]]:
    choices = [[placed[slot]] if slot in placed else options[slot] for slot in sorted(options)]
    return list(itertools.product(*choices))


def walk(constraint: Constraint, options: Options, steps: Steps, judge: Judge) -> None:
    """Place and take back at random; `judge` gets each verdict with what would be placed."""
    placed: list[tuple[int, int]] = []
    undo: list[Undo] = []
    for pick, forward in steps if constraint.feasible() else []:
        open_slots = sorted(options.keys() - {slot for slot, _provider in placed})
        if forward and open_slots:
            slot = open_slots[pick % len(open_slots)]
            provider = options[slot][pick % len(options[slot])]
            taken_back = constraint.add(slot, provider)
            judge(taken_back is not None, {**dict(placed), slot: provider})
            if taken_back is not None:
                placed.append((slot, provider))
                undo.append(taken_back)
        elif placed:
            placed.pop()
            undo.pop()()


def walk_exactly(
    constraint: Constraint, options: Options, steps: Steps, possible: Possible
) -> None:
    """The constraint says yes just where a completion exists, from the start on."""

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        assert accepted == possible(placed)

    assert constraint.feasible() == possible({})
    walk(constraint, options, steps, judge)


STEPS = st.lists(st.tuples(st.integers(0, 1000), st.sampled_from([True, True, False])), max_size=25)


@given(OPTIONS, STEPS)
def test_isolation_refuses_exactly_what_has_no_completion(options: Options, steps: Steps) -> None:
    def possible(placed: Mapping[int, int]) -> bool:
        return any(len(set(each)) == len(each) for each in completions(options, placed))

    walk_exactly(Isolation(options, {}), options, steps, possible)


@given(OPTIONS, STEPS, st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_capacity_of_like_amounts_refuses_exactly_what_has_no_completion(
    options: Options, steps: Steps, room: list[int]
) -> None:
    def possible(placed: Mapping[int, int]) -> bool:
        return any(
            all(each.count(provider) <= room[provider] for provider in each)
            for each in completions(options, placed)
        )

    amounts = dict.fromkeys(options, 1)
    walk_exactly(Capacity(options, amounts, dict(enumerate(room))), options, steps, possible)


@given(OPTIONS, STEPS, st.data())
def test_capacity_never_refuses_what_can_be_completed(
    options: Options, steps: Steps, data: st.DataObject
) -> None:
    amounts = {slot: data.draw(st.integers(1, 3)) for slot in options}
    room = dict(enumerate(data.draw(st.lists(st.integers(3, 6), min_size=5, max_size=5))))
    constraint = Capacity(options, amounts, room)

    def possible(placed: Mapping[int, int]) -> bool:
        for each in completions(options, placed):
            load: dict[int, int] = {}
            for slot, provider in enumerate(each):
                load[provider] = load.get(provider, 0) + amounts[slot]
            if all(load[provider] <= room[provider] for provider in load):
                return True
        return False

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        assert accepted or not possible(placed)

    assert constraint.feasible() or not possible({})
    walk(constraint, options, steps, judge)


PARENTS = st.tuples(*(st.integers(-1, provider - 1) for provider in range(5)))


def above(parents: Sequence[int], provider: int) -> set[int]:
    """The provider and all above it."""
    found = set()
    while provider >= 0:
        found.add(provider)
        provider = parents[provider]
    return found


@given(OPTIONS, STEPS, PARENTS, st.booleans())
def test_a_subtree_is_refused_when_no_ancestor_is_left(
    options: Options, steps: Steps, parents: Sequence[int], isolated: bool
) -> None:
    """The refusal is at the latest when no single ancestor has capacity for all, and not sooner."""

    def joined(each: Sequence[int]) -> bool:
        common = set.intersection(*(above(parents, provider) for provider in each))
        return not common.isdisjoint(each)

    def apart(each: Sequence[int]) -> bool:
        return not isolated or len(set(each)) == len(each)

    def possible(placed: Mapping[int, int]) -> bool:
        """Some provider of a slot is above all placed, and above options for the others."""
        every = completions(options, placed)
        tops = {provider for each in every for provider in each}
        return any(
            all(top in above(parents, provider) for provider in placed.values())
            and (top in placed.values() or any(top in options[each] for each in open_slots(placed)))
            and any(
                apart(each) and all(top in above(parents, provider) for provider in each)
                for each in completions(options, {})
            )
            for top in tops
        )

    def open_slots(placed: Mapping[int, int]) -> set[int]:
        return set(options) - set(placed)

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        assert accepted == possible(placed)
        if not accepted:
            assert not any(joined(each) and apart(each) for each in completions(options, placed))
        elif len(placed) == len(options):
            assert joined(list(placed.values()))

    constraint = SameSubtree(options, Forest(parents), isolated=isolated)
    assert constraint.feasible() == possible({})
    walk(constraint, options, steps, judge)


@given(OPTIONS, STEPS, st.integers(1, 4))
def test_isolated_slots_with_one_kind_of_others_are_refused_when_nothing_is_left(
    options: Options, steps: Steps, isolated: int
) -> None:
    """Not sooner; and at once where the slots that may share a provider ask the same."""
    alone = {slot: providers for slot, providers in options.items() if slot < isolated}
    kind = OptionList(options.get(isolated, ()))
    shared = {slot: kind for slot in options if slot >= isolated}
    if not shared:
        return
    asked = {**alone, **shared}

    def apart(each: Sequence[int]) -> bool:
        return all(each.count(each[slot]) == 1 for slot in alone)

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        assert accepted == any(apart(each) for each in completions(asked, placed))

    constraint = Isolation(alone, shared)
    assert constraint.feasible() == any(apart(each) for each in completions(asked, {}))
    walk(constraint, asked, steps, judge)


@given(OPTIONS, STEPS, st.integers(1, 4))
def test_isolated_slots_with_others_of_several_kinds_are_never_refused_too_soon(
    options: Options, steps: Steps, isolated: int
) -> None:
    alone = {slot: providers for slot, providers in options.items() if slot < isolated}
    shared = {slot: providers for slot, providers in options.items() if slot >= isolated}
    if not shared:
        return

    def apart(each: Sequence[int]) -> bool:
        return all(each.count(each[slot]) == 1 for slot in alone)

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        possible = any(apart(each) for each in completions(options, placed))
        assert accepted or not possible
        if len(placed) == len(options):
            assert accepted == possible

    constraint = Isolation(alone, shared)
    assert constraint.feasible() or not any(apart(each) for each in completions(options, {}))
    walk(constraint, options, steps, judge)


@given(OPTIONS, STEPS, PARENTS, st.integers(1, 4))
def test_a_slot_outside_is_refused_when_no_top_leaves_it_a_place(
    options: Options, steps: Steps, parents: Sequence[int], inside: int
) -> None:
    within = {slot: providers for slot, providers in options.items() if slot < inside}
    outside = {slot: providers for slot, providers in options.items() if slot >= inside}
    if not outside:
        return

    def holds(each: Sequence[int]) -> bool:
        chosen = each[: len(within)]
        tops = {
            top for top in chosen if all(top in above(parents, provider) for provider in chosen)
        }
        return any(
            not any(top in above(parents, provider) for provider in each[len(within) :])
            for top in tops
        )

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        assert accepted == any(holds(each) for each in completions(options, placed))

    constraint = OutsideSubtree(within, outside, Forest(parents))
    assert constraint.feasible() == any(holds(each) for each in completions(options, {}))
    walk(constraint, options, steps, judge)


@given(OPTIONS, STEPS, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_one_per_tree_refuses_a_second_provider_of_a_tree(
    options: Options, steps: Steps, tree_of: list[int]
) -> None:
    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        of_trees: dict[int, set[int]] = {}
        for provider in placed.values():
            of_trees.setdefault(tree_of[provider], set()).add(provider)
        assert accepted == all(len(providers) == 1 for providers in of_trees.values())

    walk(OnePerTree(options, tree_of), options, steps, judge)


@given(
    st.lists(
        st.dictionaries(st.integers(0, 4), st.integers(0, 7), min_size=1), min_size=1, max_size=4
    ).map(lambda found: dict(enumerate(found))),
    st.integers(0, 7),
    STEPS,
)
def test_collective_traits_refuse_just_what_no_other_provider_can_mend(
    covers: dict[int, dict[int, int]], needed: int, steps: Steps
) -> None:
    def union(slots: Mapping[int, int]) -> int:
        total = 0
        for slot, provider in slots.items():
            total |= covers[slot][provider]
        return total

    options = {slot: OptionList(known) for slot, known in covers.items()}

    def judge(accepted: bool, placed: Mapping[int, int]) -> None:
        mended = union(placed)
        for slot in covers.keys() - placed.keys():
            for bits in covers[slot].values():
                mended |= bits
        assert accepted == (mended & needed == needed)

    walk(CollectiveTraits(covers, needed), options, steps, judge)
