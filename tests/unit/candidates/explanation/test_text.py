"""The text of an explanation: its numbers add up, and the main reasons come first."""

from placement.candidates.explanation.terms import StatedTerm
from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Blocked, Clause, Hosts, Mentions, Relaxed
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

NONE_SERVED = Hosts(60, 60, 0, True)
TRAIT = StatedTerm(Refusal.TRAIT_MISSING, "required", "", frozenset({"CUSTOM_A"}))
TREE = StatedTerm(Refusal.IN_TREE, "in_tree", "", "u1")
VCPU = StatedTerm(Refusal.CAPACITY, "resources", "", Amount("VCPU", 8))


def blocked(code: Refusal, *clauses: Clause, more: int = 0, aside: int = 0) -> Blocked:
    hosts = sum(clause.hosts for clause in clauses) + more + aside
    return Blocked(code, "", "", hosts, (), clauses, aside)


def test_reasons_are_sorted_by_number_of_hosts() -> None:
    steps = [
        blocked(Refusal.CAPACITY, Clause(30, "are full"), Clause(1, "is odd")),
        blocked(Refusal.MAX_UNIT, Clause(29, "are small")),
    ]
    assert text(NONE_SERVED, steps, (), several=False) == (
        "None of 60 hosts can serve the request. 30 are full; 29 are small; 1 is odd."
    )


def test_hosts_beyond_the_first_reasons_are_counted_with_the_meanings_of_their_codes() -> None:
    clauses = [Clause(10 - number, f"are {number}") for number in range(5)]
    steps = [
        blocked(Refusal.CAPACITY, *clauses[:4], more=3),
        blocked(Refusal.MAX_UNIT, clauses[4]),
        blocked(Refusal.IN_TREE, Clause(2, "are elsewhere")),
    ]
    said = text(NONE_SERVED, steps, (), several=False)
    assert said.endswith(
        "6 are 4; 5 more because no provider has that much left or "
        "no provider with room is in the tree."
    )
    assert "other reasons" not in said


def test_hosts_mentioned_separately_are_not_counted_again() -> None:
    mentions = Mentions(3, ["host a1 (u1) is full"], Clause(50, "are not in its tree"))
    steps = [blocked(Refusal.CAPACITY, aside=1), blocked(Refusal.IN_TREE, aside=53)]
    assert text(Hosts(54, 54, 0, True), steps, (), several=False, mentions=mentions) == (
        "None of 51 hosts can serve the request (3 sharing providers are not counted). "
        "Host a1 (u1) is full; the other 50 are not in its tree."
    )


def test_a_name_that_does_not_exist_is_the_only_reason() -> None:
    mentions = Mentions(nonexistent=["There is no provider u1."])
    steps = [blocked(Refusal.CAPACITY, Clause(60, "are full"))]
    said = text(NONE_SERVED, steps, [Relaxed(TREE, 9)], several=False, mentions=mentions)
    assert said == (
        "None of 60 hosts can serve the request. There is no provider u1. "
        "Without in_tree u1, 9 hosts would serve."
    )


def test_the_best_relaxations_of_two_kinds_are_suggested() -> None:
    relaxations = [Relaxed(TREE, 9), Relaxed(TRAIT, 3), Relaxed(VCPU, 1, 4)]
    assert text(NONE_SERVED, (), relaxations, several=False).endswith(
        "request. Without in_tree u1, 9 hosts would serve. "
        "Without requiring trait CUSTOM_A, 3 hosts would serve."
    )
    assert text(NONE_SERVED, (), [Relaxed(VCPU, 1, 4)], several=True).endswith(
        "With 4 VCPU for the unsuffixed group, 1 host would serve."
    )
