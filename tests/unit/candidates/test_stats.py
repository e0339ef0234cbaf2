"""The outcomes of trees, added up as values."""

from placement.candidates.stats import SERVED, UNSERVED, WRONG_ROOT, Outcome, RootStats

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
