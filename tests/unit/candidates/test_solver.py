"""The assignments of slots to providers: all that the constraints accept, each once."""

from collections.abc import Mapping, Sequence
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates.budget import Budget
from placement.candidates.constraints import Capacity, Constraint, Isolation
from placement.candidates.model import Assignment, OptionList
from placement.candidates.search.solver import assignments
from placement.candidates.trace import Refusal

OPTIONS = st.lists(
    st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
)


def solve(
    options: Sequence[Sequence[int]], *constraints: Constraint
) -> tuple[list[tuple[Assignment, bool]], Refusal | None, list[Refusal]]:
    """The assignments with what was said of the last, the code of the end, and all refusals."""
    refusals: list[Refusal] = []
    solutions = assignments(options, constraints, Budget(10**6), refusals.append)
    found = []
    while True:
        try:
            found.append(next(solutions))
        except StopIteration as end:
            return found, end.value, refusals


def by_slot(options: Sequence[Sequence[int]]) -> Mapping[int, OptionList]:
    return dict(enumerate(map(OptionList, options)))


@given(OPTIONS)
def test_without_constraints_every_combination_comes_once(options: list[list[int]]) -> None:
    found, code, refusals = solve(options)
    assert sorted(assignment for assignment, _last in found) == sorted(product(*options))
    assert [last for _assignment, last in found] == [False] * (len(found) - 1) + [True]
    assert (code, refusals) == (None, [])


@given(OPTIONS, st.integers(1, 3))
def test_under_constraints_exactly_what_they_accept_comes(
    options: list[list[int]], room: int
) -> None:
    slots = by_slot(options)
    capacity = Capacity(slots, dict.fromkeys(slots, 1), dict.fromkeys(range(5), room))
    found, _code, refusals = solve(options, Isolation(slots, {}), capacity)
    accepted = [each for each in product(*options) if len(set(each)) == len(each)]
    assert sorted(assignment for assignment, _last in found) == sorted(accepted)
    # Where "last" is said, nothing follows.
    assert not any(last for _assignment, last in found[:-1])
    if not accepted:
        assert refusals


def test_what_cannot_be_met_at_all_is_refused_before_the_first_step() -> None:
    options = [[0, 1], [0, 1], [0, 1]]
    budget = Budget(10**6)
    solutions = assignments(options, [Isolation(by_slot(options), {})], budget, lambda code: None)
    assert list(solutions) == []
    assert budget.steps == 0
    assert solve(options, Isolation(by_slot(options), {}))[1] == Isolation.code
