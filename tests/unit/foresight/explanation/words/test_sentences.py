"""The sentences about the outcome, about all hosts, and about changes of the request."""

import pytest

from placement.candidates.request import SubtreeRule
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation.value import Hosts, Relaxed
from placement.foresight.explanation.words import sentences

TRAIT = StatedTerm(Refusal.TRAIT_MISSING, "required", "", frozenset({"CUSTOM_A"}))
OTHER_TRAIT = TRAIT._replace(value=frozenset({"CUSTOM_B"}))
FORBIDDEN = StatedTerm(Refusal.TRAIT_FORBIDDEN, "forbidden", "", "CUSTOM_A")
ROOT_TRAIT = StatedTerm(Refusal.ROOT_TRAIT_MISSING, "root.required", None, frozenset({"CUSTOM_A"}))
TREE = StatedTerm(Refusal.IN_TREE, "in_tree", "", "u1")
AGGREGATE = StatedTerm(Refusal.NOT_IN_AGGREGATE, "member_of", "", frozenset({"a1"}))
RULE = StatedTerm(
    Refusal.SAME_SUBTREE, "same_subtree", None, SubtreeRule(frozenset({"_A", "_B"}), frozenset())
)
VCPU = StatedTerm(Refusal.CAPACITY, "resources", "", Amount("VCPU", 8))
TAINT = StatedTerm(Refusal.TAINTED, "taints", None, "CUSTOM_T")


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        (Hosts(60, 60, 0, True), "None of 60 hosts can serve the request."),
        (Hosts(60, 60, 7, True), "7 of 60 hosts can serve the request."),
        (Hosts(60, 50, 0, False), "None of the 50 hosts looked at of 60 can serve the request."),
        (Hosts(None, 50, 0, False), "None of the 50 hosts looked at can serve the request."),
        (Hosts(None, 0, 0, False), "No host can serve the request."),
        (Hosts(0, 0, 0, True), "There is no host."),
        (Hosts(9, 0, 0, False), "No host of 9 could be looked at within the limit on work."),
        (Hosts(1, 1, 0, True), "The only host cannot serve the request."),
        (Hosts(9, 1, 0, False), "The only host looked at cannot serve the request."),
        (
            Hosts(60, 60, 0, True, 1),
            "None of 60 hosts can serve the request (1 sharing provider is not counted).",
        ),
        (
            Hosts(60, 60, 0, True, 3, 2),
            "None of 60 hosts can serve the request (3 sharing providers are not counted; 2 of "
            "them can serve it).",
        ),
        (
            Hosts(60, 60, 1, True, 3, 2),
            "1 of 60 hosts can serve the request (3 sharing providers are not counted).",
        ),
    ],
)
def test_the_outcome_counts_hosts(hosts: Hosts, sentence: str) -> None:
    assert sentences.outcome(hosts) == sentence


def test_a_name_that_does_not_exist_has_one_sentence() -> None:
    missing = TREE._replace(unknown=True)
    several = AGGREGATE._replace(value=frozenset({"a1", "a2"}), unknown=True)
    assert sentences.nonexistent([missing, TREE, missing, several]) == [
        "There is no provider u1.",
        "There is no aggregate a1 or a2.",
    ]


@pytest.mark.parametrize(
    ("relaxed", "sentence"),
    [
        (Relaxed(TRAIT, 3), "Without requiring trait CUSTOM_A, 3 hosts would serve."),
        (Relaxed(FORBIDDEN, 1), "Without forbidding trait CUSTOM_A, 1 host would serve."),
        (Relaxed(TREE, 9), "Without in_tree u1, 9 hosts would serve."),
        (Relaxed(RULE, 2), "Without same_subtree=_A,_B, 2 hosts would serve."),
        (Relaxed(TAINT, 2), "Without the taint CUSTOM_T, 2 hosts would serve."),
        (
            Relaxed(ROOT_TRAIT, 2),
            "Without requiring trait CUSTOM_A for the root, 2 hosts would serve.",
        ),
        (
            Relaxed(StatedTerm(Refusal.ISOLATE, "isolate", None, "_A"), 2),
            "Without isolating _A, 2 hosts would serve.",
        ),
        (
            Relaxed(StatedTerm(Refusal.ISOLATE, "group_policy", None, "isolate"), 2),
            "Without group_policy=isolate, 2 hosts would serve.",
        ),
        (Relaxed(VCPU, 1, 4), "With 4 VCPU, 1 host would serve."),
    ],
)
def test_each_relaxation_has_a_sentence(relaxed: Relaxed, sentence: str) -> None:
    assert sentences.relaxations([relaxed], several=False) == [sentence]


def test_one_of_several_groups_is_named() -> None:
    assert sentences.relaxations([Relaxed(VCPU, 1, 4)], several=True) == [
        "With 4 VCPU for the unsuffixed group, 1 host would serve."
    ]


def test_the_best_relaxation_of_each_kind_is_suggested() -> None:
    relaxed = [Relaxed(OTHER_TRAIT, 2), Relaxed(TRAIT, 3), Relaxed(TREE, 9), Relaxed(VCPU, 1, 4)]
    assert sentences.relaxations(relaxed, several=False) == [
        "Without in_tree u1, 9 hosts would serve.",
        "Without requiring trait CUSTOM_A, 3 hosts would serve.",
        "With 4 VCPU, 1 host would serve.",
    ]


def test_a_larger_amount_that_helps_as_many_hosts_is_suggested_first() -> None:
    relaxed = [Relaxed(VCPU, 1, 10), Relaxed(VCPU, 1, 4)]
    assert sentences.relaxations(relaxed, several=False) == ["With 10 VCPU, 1 host would serve."]


def test_parts_are_suggested() -> None:
    assert sentences.split(("DISK_GB", "VCPU"), 1200) == (
        "With can_split=DISK_GB,VCPU (placement 2.0), 1,200 hosts would serve."
    )
