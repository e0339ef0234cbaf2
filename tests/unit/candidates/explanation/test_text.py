"""The text of an explanation: its numbers add up, and the main reasons come first."""

from placement.candidates.explanation.text import text
from placement.candidates.explanation.value import Clause, Hosts, Mentions, Reasons, Relaxed
from placement.candidates.request import SubtreeRule
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal

NONE_SERVED = Hosts(60, 60, 0, True)
TRAIT = StatedTerm(Refusal.TRAIT_MISSING, "required", "", frozenset({"CUSTOM_A"}))
TREE = StatedTerm(Refusal.IN_TREE, "in_tree", "", "u1")
AGGREGATE = StatedTerm(Refusal.NOT_IN_AGGREGATE, "member_of", "", frozenset({"a1"}))
RULE = StatedTerm(
    Refusal.SAME_SUBTREE, "same_subtree", None, SubtreeRule(frozenset({"_A", "_B"}), frozenset())
)
VCPU = StatedTerm(Refusal.CAPACITY, "resources", "", Amount("VCPU", 8))


def reasons(code: Refusal, *clauses: Clause, more: int = 0) -> Reasons:
    return Reasons(code, sum(clause.hosts for clause in clauses) + more, clauses)


def test_reasons_are_sorted_by_number_of_hosts() -> None:
    steps = [
        reasons(Refusal.CAPACITY, Clause(30, "are full"), Clause(1, "is odd")),
        reasons(Refusal.MAX_UNIT, Clause(29, "are small")),
    ]
    assert text(NONE_SERVED, steps, (), several=False) == (
        "None of 60 hosts can serve the request. 30 are full; 29 are small; 1 is odd."
    )


def test_hosts_beyond_the_first_reasons_are_counted_with_the_meanings_of_their_codes() -> None:
    clauses = [Clause(10 - number, f"are {number}") for number in range(5)]
    steps = [
        reasons(Refusal.CAPACITY, *clauses[:4], more=3),
        reasons(Refusal.MAX_UNIT, clauses[4]),
        reasons(Refusal.IN_TREE, Clause(2, "are elsewhere")),
    ]
    said = text(NONE_SERVED, steps, (), several=False)
    assert said.endswith(
        "6 are 4; 5 more because no provider has that much left or "
        "no provider with room is in the tree."
    )
    assert "other reasons" not in said


def test_hosts_mentioned_separately_are_not_counted_again() -> None:
    mentions = Mentions(["host a1 (u1) is full"], [Clause(50, "are not in its tree")])
    assert text(Hosts(51, 51, 0, True, 3), [], (), several=False, mentions=mentions) == (
        "None of 51 hosts can serve the request (3 sharing providers are not counted). "
        "Host a1 (u1) is full; the other 50 are not in its tree."
    )


def test_hosts_outside_of_the_requested_aggregates_come_first() -> None:
    mentions = Mentions(outside=[Clause(20, "are not in aggregate a")])
    steps = [reasons(Refusal.CAPACITY, Clause(40, "are full"))]
    assert text(NONE_SERVED, steps, (), several=False, mentions=mentions).endswith(
        "request. 20 are not in aggregate a; 40 are full."
    )


def test_other_hosts_are_not_all_others_if_more_reasons_follow() -> None:
    mentions = Mentions(["host a1 (u1) is full"], [Clause(50, "are not in its tree")])
    steps = [reasons(Refusal.IN_TREE, Clause(9, "reach it"))]
    assert text(NONE_SERVED, steps, (), several=False, mentions=mentions).endswith(
        "Host a1 (u1) is full; 50 others are not in its tree; 9 reach it."
    )


def test_a_taint_of_all_hosts_of_a_clause_is_added() -> None:
    steps = [
        reasons(Refusal.CAPACITY, Clause(40, "are full", 40), Clause(10, "are small", 3)),
        reasons(Refusal.MAX_UNIT, Clause(1, "is odd", 1)),
    ]
    assert text(NONE_SERVED, steps, (), several=False).endswith(
        "request. 40 are full, and are tainted; 10 are small; 1 is odd, and is tainted."
    )


def test_properties_that_no_host_has_together_are_the_only_reason() -> None:
    mentions = Mentions(conflict="No host has both A (1 host) and B (2 hosts).")
    steps = [reasons(Refusal.NO_INVENTORY, Clause(60, "have no inventory of A"))]
    said = text(
        NONE_SERVED, steps, (), several=False, mentions=mentions, suggestions=["With C, 1 would."]
    )
    assert said.endswith("request. No host has both A (1 host) and B (2 hosts). With C, 1 would.")


def test_each_of_two_properties_that_no_host_has_together_may_be_omitted() -> None:
    mentions = Mentions(conflict="No host has both A (1 host) and B (2 hosts).")
    other = TRAIT._replace(value=frozenset({"CUSTOM_B"}))
    relaxations = [Relaxed(TRAIT, 3), Relaxed(other, 2)]
    assert text(NONE_SERVED, (), relaxations, several=False, mentions=mentions).endswith(
        "(2 hosts). Without requiring trait CUSTOM_A, 3 hosts would serve. "
        "Without requiring trait CUSTOM_B, 2 hosts would serve."
    )


def test_sharing_providers_that_serve_alone_are_mentioned_if_no_host_serves() -> None:
    pools = Hosts(60, 60, 0, True, 3, 2)
    assert text(pools, (), (), several=False) == (
        "None of 60 hosts can serve the request (3 sharing providers are not counted; 2 of them "
        "can serve it)."
    )
    assert "can serve it" not in text(pools._replace(served=1), (), (), several=False)


def test_a_name_that_does_not_exist_is_the_only_reason() -> None:
    mentions = Mentions(nonexistent=["There is no provider u1."])
    steps = [reasons(Refusal.CAPACITY, Clause(60, "are full"))]
    said = text(NONE_SERVED, steps, [Relaxed(TREE, 9)], several=False, mentions=mentions)
    assert said == (
        "None of 60 hosts can serve the request. There is no provider u1. "
        "Without in_tree u1, 9 hosts would serve."
    )


def test_the_best_relaxation_of_each_kind_is_suggested() -> None:
    other = TRAIT._replace(value=frozenset({"CUSTOM_B"}))
    relaxations = [Relaxed(TREE, 9), Relaxed(TRAIT, 3), Relaxed(other, 2), Relaxed(VCPU, 1, 4)]
    assert text(NONE_SERVED, (), relaxations, several=False).endswith(
        "request. Without in_tree u1, 9 hosts would serve. "
        "Without requiring trait CUSTOM_A, 3 hosts would serve. With 4 VCPU, 1 host would serve."
    )
    relaxations = [Relaxed(TRAIT, 3), Relaxed(AGGREGATE, 3), Relaxed(RULE, 2)]
    assert text(NONE_SERVED, (), relaxations, several=False).endswith(
        "request. Without requiring trait CUSTOM_A, 3 hosts would serve. Without requiring "
        "aggregate a1, 3 hosts would serve. Without same_subtree=_A,_B, 2 hosts would serve."
    )
    assert text(NONE_SERVED, (), [Relaxed(VCPU, 1, 4)], several=True).endswith(
        "With 4 VCPU for the unsuffixed group, 1 host would serve."
    )
