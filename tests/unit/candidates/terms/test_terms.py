"""The names, checks and database conditions of each term."""

import pytest

from placement.candidates.model import Member, Stocks, Tree
from placement.candidates.terms import (
    GROUP_TERMS,
    ROOT_TERMS,
    ForbiddenTrait,
    InSubtree,
    InTree,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
    Term,
    ordered,
)
from placement.candidates.terms.base import MemberTerm, PlaceTerm
from placement.candidates.trace import Refusal
from placement.db.conditions import SQL_OF
from placement.objects.known_names import KnownNames
from placement.vocabulary import ConditionKind, IdCondition

AGGREGATE = "c0ffee00-0000-4000-8000-000000000001"
OTHER = "c0ffee00-0000-4000-8000-000000000002"
TOP = "c0ffee00-0000-4000-8000-0000000000aa"
KNOWN = KnownNames(
    {"VCPU": 0}, {"A": 1, "B": 2}, {AGGREGATE: frozenset({5, 6})}, {TOP: 9}, {TOP.upper(): TOP}
)
EACH: tuple[Term, ...] = (
    RequiredTraits(frozenset({"A", "B"})),
    ForbiddenTrait("A"),
    MemberOf(frozenset({AGGREGATE.upper(), OTHER})),
    NotMemberOf(AGGREGATE.replace("-", "")),
    InTree(TOP.upper()),
    InSubtree(TOP.upper()),
)


def test_the_order_of_terms_is_that_of_their_codes() -> None:
    codes = [term.code for term in EACH]
    assert [type(term) for term in EACH] == list(GROUP_TERMS)
    assert codes == [code for code in Refusal if code in codes]
    assert ordered(reversed(EACH)) == EACH
    root_codes = [kind.root_code for kind in ROOT_TERMS]
    assert root_codes == sorted(root_codes, key=list(Refusal).index)


def test_terms_are_distinct_and_sorted_by_name() -> None:
    several = [ForbiddenTrait("B"), MemberOf(frozenset("y")), MemberOf(frozenset("x"))]
    assert ordered([*several, ForbiddenTrait("A"), *several]) == (
        ForbiddenTrait("A"),
        *several,
    )


@pytest.mark.parametrize("term", EACH)
def test_the_json_form_of_a_term_makes_the_term(term: Term) -> None:
    assert type(term).from_json(term.json) == term


@pytest.mark.parametrize(
    ("term", "conditions"),
    [
        (EACH[0], [IdCondition(ConditionKind.ANY_TRAIT, frozenset({1, 2}))]),
        (EACH[1], [IdCondition(ConditionKind.NO_TRAIT, frozenset({1}))]),
        (EACH[2], [IdCondition(ConditionKind.ANY_AGGREGATE, frozenset({5, 6}))]),
        (EACH[3], [IdCondition(ConditionKind.NO_AGGREGATE, frozenset({5, 6}))]),
        (NotMemberOf(OTHER), [IdCondition(ConditionKind.NO_AGGREGATE, frozenset())]),
        (EACH[4], [IdCondition(ConditionKind.TREE, frozenset({9}))]),
        (
            EACH[5],
            [
                IdCondition(ConditionKind.TREE, frozenset({9})),
                IdCondition(ConditionKind.SUBTREE, frozenset({TOP, TOP.upper()})),
            ],
        ),
    ],
)
def test_the_database_is_asked_by_ids(term: Term, conditions: list[IdCondition]) -> None:
    assert list(term.conditions(KNOWN)) == conditions


def test_there_is_sql_of_each_kind_but_of_subtrees_which_the_search_knows() -> None:
    kinds = {condition.kind for term in EACH for condition in term.conditions(KNOWN)}
    assert kinds - SQL_OF.keys() == {ConditionKind.SUBTREE}
    assert kinds == set(ConditionKind)


@pytest.mark.parametrize(
    ("term", "is_known"),
    [
        (MemberOf(frozenset({AGGREGATE.upper(), OTHER})), True),
        (MemberOf(frozenset({OTHER})), False),
        (NotMemberOf(OTHER), True),
        (InTree(TOP.upper()), True),
        (InSubtree(OTHER), False),
    ],
)
def test_a_term_that_needs_what_does_not_exist_is_met_by_nothing(
    term: Term, is_known: bool
) -> None:
    assert term.is_known(KNOWN) == is_known
    if not is_known:
        assert term.unknown_code in (Refusal.UNKNOWN_AGGREGATE, Refusal.UNKNOWN_TREE)


def test_spellings_of_an_aggregate_are_other_terms_that_mean_the_same() -> None:
    for kind in (NotMemberOf, lambda uuid: MemberOf(frozenset({uuid}))):
        one, other = kind(AGGREGATE), kind(AGGREGATE.upper())
        assert one != other
        for value in (frozenset({AGGREGATE}), frozenset({OTHER})):
            assert one.allows(value) == other.allows(value)


@pytest.mark.parametrize(
    ("term", "value", "allows"),
    [
        (EACH[0], {"B", "C"}, True),
        (EACH[0], {"C"}, False),
        (EACH[1], {"B"}, True),
        (EACH[1], {"A", "B"}, False),
        (EACH[2].resolved(KNOWN), {AGGREGATE}, True),
        (EACH[2].resolved(KNOWN), {OTHER}, False),  # nothing is in what does not exist
        (EACH[2], {OTHER}, True),
        (EACH[3], {OTHER}, True),
        (EACH[3], {AGGREGATE, OTHER}, False),
    ],
)
def test_a_term_is_judged_alone_as_it_is_with_others(
    term: MemberTerm, value: set[str], allows: bool
) -> None:
    assert term.allows(frozenset(value)) == allows
    failed = type(term).check([(4, term)])
    assert failed(frozenset(value)) == (0 if allows else 4)


@pytest.mark.parametrize(
    ("term", "positions"),
    [
        (InTree("child"), {0, 1, 2}),
        (InTree("CHILD").resolved(KNOWN), set()),
        (InSubtree("child"), {1, 2}),
        (InSubtree("leaf"), {2}),
        (InSubtree("elsewhere"), set()),
    ],
)
def test_a_term_of_places_allows_positions(term: PlaceTerm, positions: set[int]) -> None:
    members = [
        Member(name, parent, Stocks(), frozenset(), frozenset())
        for parent, name in enumerate(("root", "child", "leaf"), -1)
    ]
    tree = Tree(1, "root", 1, tuple(members), frozenset())
    assert set(term.positions(tree)) == positions
