"""The outcomes of trees, added up as values."""

from placement.candidates.stats import SERVED, UNSERVED, WRONG_ROOT, Outcome, RootStats, Trace
from placement.candidates.trace import Refusal

GOLD, SILVER = frozenset(["GOLD"]), frozenset(["SILVER"])


def test_outcomes_are_added_up_and_the_sum_before_stays_as_it_was() -> None:
    before = RootStats().plus([SERVED, UNSERVED, Outcome(unmet_slot=1, with_capacity=True)])
    after = before.plus([WRONG_ROOT, Outcome(unmet_slot=1), Outcome(unmet_traits=(GOLD, SILVER))])
    assert (before.trees, before.served, before.wrong_root) == (3, 1, 0)
    assert before.unmet_slots == {1: 1}
    assert (after.trees, after.served, after.wrong_root) == (6, 1, 1)
    assert after.unmet_slots == {1: 2}
    assert after.unmet_with_capacity == {1: 1}
    assert after.unmet_traits == {GOLD: 1, SILVER: 1}


def test_the_code_of_a_trace_is_that_of_most_trees_or_of_the_database() -> None:
    assert Trace().code is Refusal.FILTERED
    trace = Trace()
    trace.refuse_tree(Refusal.TRAIT_MISSING, "_1")
    for _ in range(2):
        trace.refuse_tree(Refusal.CAPACITY, "_1")
    assert trace.code is Refusal.CAPACITY
