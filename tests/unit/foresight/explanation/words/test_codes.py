"""Each code of explanations has a sentence: the detail and the predicate of its hosts."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from placement.candidates.plan import SearchPlan
from placement.candidates.request import CandidateRequest, RequestGroup, SubtreeRule
from placement.candidates.stated_terms import StatedTerm
from placement.candidates.terms import RequiredTraits
from placement.candidates.terms.amounts import Amount
from placement.candidates.trace import Refusal
from placement.foresight.explanation import CODES
from placement.foresight.explanation.causes import (
    Extreme,
    Near,
    Parts,
    RejectionCause,
    SharingFault,
    SpecialCase,
)
from placement.foresight.explanation.words.codes import SENTENCES
from placement.foresight.explanation.words.facts import Facts

ROOT = Path(__file__).parents[5]

CPU, DISK = Amount("VCPU", 8), Amount("DISK_GB", 9)
NO_CPU, BOTH = Amount("VCPU", 0), Amount("VCPU", 16)
AMOUNTS, TRAITS = (CPU,), tuple(RequiredTraits(frozenset({name})) for name in "TU")
ALONE = CandidateRequest((RequestGroup("", AMOUNTS, TRAITS),))
IN_PARTS = CandidateRequest((RequestGroup("", AMOUNTS, TRAITS, frozenset({"VCPU"})),))
SEVERAL = CandidateRequest(
    (RequestGroup("", (CPU, DISK), TRAITS), RequestGroup("_A", AMOUNTS), RequestGroup("_B")),
    isolate=frozenset({"_A", "_B"}),
    subtree_rules=(SubtreeRule(frozenset({"_A", "_B"})),),
)
NEGATED = replace(SEVERAL, subtree_rules=(SubtreeRule(frozenset({"_A"}), frozenset({"_B"})),))
GROUPS = ("_A", "_B")

# Values of hosts, and faults of a sharing provider.
EXTREMES = {"VCPU": Extreme(6, 12, Parts(3, 2), free=6), "DISK_GB": Extreme(7, free=3)}
ENOUGH = {"VCPU": Extreme(20)}
POOL = {"pool": None}
FULL = {"pool": SharingFault(StatedTerm(Refusal.CAPACITY, "resources", "", DISK), 3)}
SMALL = {"pool": SharingFault(StatedTerm(Refusal.MIN_UNIT, "resources", "", DISK), 10, 20)}
SLOW = {
    "pool": SharingFault(StatedTerm(Refusal.TRAIT_MISSING, "required", "", frozenset({"W"})), None)
}
UNFIT = (StatedTerm(Refusal.TRAIT_FORBIDDEN, "forbidden", "", "V"),)
UNFIT_FULL = {"pool": FULL["pool"]._replace(other=UNFIT[0])}
NEAR = {
    "VCPU": Extreme(6, near=Near(20, Refusal.STEP_SIZE, 5, 10, None)),
    "DISK_GB": Extreme(7, near=Near(30, Refusal.MAX_UNIT, 4, None, UNFIT[0])),
}

APART, ELSEWHERE, SHARED = SpecialCase.APART, SpecialCase.ELSEWHERE, SpecialCase.SHARED
POOLS, WITH_POOLS = SpecialCase.POOLS, SpecialCase.WITH_POOLS
OWN = StatedTerm(Refusal.IN_TREE, "in_tree", "", "u1")


class Case(NamedTuple):
    """Hosts that are rejected at a code, and the predicate of a sentence about them."""

    code: Refusal
    facts: Facts
    predicate: str


def case(
    predicate: str,
    code: Refusal,
    case: SpecialCase | None = None,
    keyword: str = "resources",
    *values: Any,
    request: CandidateRequest = ALONE,
    **fields: Any,
) -> Case:
    """Return a case of 20 hosts. The values are those of the terms."""
    suffix = None if keyword == "taints" or keyword.startswith("root.") else ""
    terms = tuple(
        StatedTerm(code, keyword, suffix, frozenset(value) if isinstance(value, set) else value)
        for value in values
    )
    known = {name: fields.pop(name) for name in Facts._fields if name in fields}
    cause = RejectionCause(terms, case=case, **fields)
    facts = Facts(SearchPlan(request), {"u1": "host"}, cause, EXTREMES, hosts=20)
    return Case(code, facts._replace(**known), predicate)


C = Refusal
# fmt: off
CASES = [
    case("are kept out only by the taint T", C.TAINTED, None, "taints", "T"),
    case("have the taint T and the taint U", C.TAINTED, None, "taints", "T", "U"),
    case("have a root without trait T", C.ROOT_TRAIT_MISSING, None, "root.required", {"T"}),
    case("have a root with the forbidden trait T and the forbidden trait U",
         C.ROOT_TRAIT_FORBIDDEN, None, "root.forbidden", "T", "U"),
    case("have a root that is not in aggregate a", C.ROOT_AGGREGATE, None, "root.member_of", {"a"}),
    case("have a root that is in the forbidden aggregate a",
         C.ROOT_AGGREGATE, None, "root.not_member_of", "a"),
    case("have no inventory of VCPU or DISK_GB", C.NO_INVENTORY, None, "resources", CPU, DISK),
    case("have VCPU and DISK_GB only on different providers (one group for each class would ask "
         "for different providers)", C.NO_INVENTORY, APART, "resources", CPU, DISK),
    case("have no provider whose min_unit allows 8 VCPU (the smallest is 6, so 12 would fit)",
         C.MIN_UNIT, None, "resources", CPU),
    case("have no provider whose min_unit allows 8 VCPU (the smallest is 6, so 12 would fit) "
         "and 9 DISK_GB (the smallest is 7) together", C.MIN_UNIT, APART, "resources", CPU, DISK),
    case("have no provider whose max_unit allows 9 DISK_GB (the largest max_unit is 7, the most "
         "free is 3)", C.MAX_UNIT, None, "resources", DISK),
    case("have no provider whose max_unit allows 9 DISK_GB (the largest is 0)",
         C.MAX_UNIT, None, "resources", DISK, extremes=ENOUGH),
    case("have no provider whose step_size allows 8 VCPU (the smallest is 6, so 12 would fit)",
         C.STEP_SIZE, None, "resources", CPU),
    case("have no provider with 8 VCPU free (the most is 6)", C.CAPACITY, None, "resources", CPU),
    case("has no provider with 8 VCPU free (the most is 6) and none with 9 DISK_GB free (the "
         "most is 7)", C.CAPACITY, None, "resources", CPU, DISK, hosts=1),
    case("have no provider with 8 VCPU free (the most is 6) for the unsuffixed group",
         C.CAPACITY, None, "resources", CPU, request=SEVERAL),
    case("have 8 VCPU free (the most is 6) and 9 DISK_GB free (the most is 7) only on different "
         "providers", C.CAPACITY, APART, "resources", CPU, DISK),
    case("have no provider with room for 8 VCPU (the most is 6)",
         C.CAPACITY, SpecialCase.ROOM, amounts=(CPU,)),
    case("have no provider with room for 8 VCPU and 9 DISK_GB",
         C.CAPACITY, SpecialCase.ROOM, amounts=(CPU, DISK)),
    case("have no provider with room for 8 VCPU (the most is 6, but 20 free with step_size 5, so "
         "10 would fit)", C.CAPACITY, SpecialCase.ROOM, amounts=(CPU,), extremes=NEAR),
    case("have no provider with room for 8 VCPU and 9 DISK_GB (20 VCPU free with step_size 5, so "
         "10 would fit, and 30 DISK_GB free with max_unit 4 on a provider with the forbidden "
         "trait V)", C.CAPACITY, SpecialCase.ROOM, amounts=(CPU, DISK), extremes=NEAR),
    case("have only the sharing provider pool (3 DISK_GB free) for 9 DISK_GB",
         C.CAPACITY, POOLS, amounts=(DISK,), sharing=FULL),
    case("have only the sharing provider pool (3 DISK_GB free, with the forbidden trait V) for 9 "
         "DISK_GB", C.CAPACITY, POOLS, amounts=(DISK,), sharing=UNFIT_FULL),
    case("have no room for 9 DISK_GB: at most 7 of their own, and the sharing provider pool "
         "(min_unit 10 DISK_GB, so 20 would fit)",
         C.CAPACITY, WITH_POOLS, amounts=(DISK,), sharing=SMALL),
    case("has no room for 8 VCPU and 9 DISK_GB: neither on its own providers, and the sharing "
         "provider pool (without trait W)",
         C.STEP_SIZE, WITH_POOLS, amounts=(CPU, DISK), sharing=SLOW, hosts=1),
    case("have no provider with trait T or trait U",
         C.TRAIT_MISSING, None, "required", {"T"}, {"U"}),
    case("have trait T and trait U only on different providers (one group for each trait would "
         "ask for different providers)", C.TRAIT_MISSING, APART, "required", {"T"}, {"U"}),
    case("have trait T only on providers without room for 8 VCPU or with the forbidden trait V",
         C.TRAIT_MISSING, ELSEWHERE, "required", {"T"}, amounts=(CPU,), others=UNFIT),
    case("have trait T only on providers without room for any part of 8 VCPU",
         C.TRAIT_MISSING, ELSEWHERE, "required", {"T"}, amounts=(CPU,), request=IN_PARTS),
    case("have trait T only on providers without VCPU",
         C.TRAIT_MISSING, ELSEWHERE, "required", {"T"}, amounts=(NO_CPU,)),
    case("have trait T only on the root, which has no VCPU",
         C.TRAIT_MISSING, SpecialCase.ON_ROOT, "required", {"T"}, amounts=(NO_CPU,)),
    case("have trait T only on the sharing provider pool (3 DISK_GB free)",
         C.TRAIT_MISSING, POOLS, "required", {"T"}, sharing=FULL),
    case("have room for 9 DISK_GB only on the sharing provider pool, which has no trait T",
         C.TRAIT_MISSING, SHARED, "required", {"T"}, amounts=(DISK,), sharing=POOL),
    case("have room for 8 VCPU only on providers with the forbidden trait T",
         C.TRAIT_FORBIDDEN, None, "forbidden", "T", amounts=(CPU,)),
    case("have otherwise suitable providers only with the forbidden trait T",
         C.TRAIT_FORBIDDEN, ELSEWHERE, "forbidden", "T"),
    case("have room for 9 DISK_GB only on the sharing provider pool, which has the forbidden "
         "trait T", C.TRAIT_FORBIDDEN, SHARED, "forbidden", "T", amounts=(DISK,), sharing=POOL),
    case("are not in aggregate a", C.NOT_IN_AGGREGATE, None, "member_of", {"a"}),
    case("are not in aggregate a, which the unsuffixed group requires",
         C.NOT_IN_AGGREGATE, None, "member_of", {"a"}, request=SEVERAL),
    case("have no suitable provider that is in aggregate a and aggregate b",
         C.NOT_IN_AGGREGATE, APART, "member_of", {"a"}, {"b"}),
    case("have in aggregate a only providers with the forbidden trait V",
         C.NOT_IN_AGGREGATE, ELSEWHERE, "member_of", {"a"}, others=UNFIT),
    case("have in aggregate a only the sharing provider pool (3 DISK_GB free)",
         C.NOT_IN_AGGREGATE, POOLS, "member_of", {"a"}, sharing=FULL),
    case("have room for 9 DISK_GB only on the sharing provider pool, which is not in aggregate a",
         C.NOT_IN_AGGREGATE, SHARED, "member_of", {"a"}, amounts=(DISK,), sharing=POOL),
    case("have only providers in the forbidden aggregate a",
         C.IN_FORBIDDEN_AGGREGATE, None, "not_member_of", "a"),
    case("have otherwise suitable providers only in the forbidden aggregate a",
         C.IN_FORBIDDEN_AGGREGATE, ELSEWHERE, "not_member_of", "a"),
    case("have room for 9 DISK_GB only on the sharing provider pool, which is in the forbidden "
         "aggregate a",
         C.IN_FORBIDDEN_AGGREGATE, SHARED, "not_member_of", "a", amounts=(DISK,), sharing=POOL),
    case("is not in the tree of host (u1)", C.IN_TREE, None, "in_tree", "u1", hosts=1),
    case("have room for 9 DISK_GB only on the sharing provider pool, which is not in its tree",
         C.IN_TREE, SHARED, "in_tree", "u1", amounts=(DISK,), sharing=POOL, own=[OWN]),
    case("have in the tree of u2 only providers with the forbidden trait V",
         C.IN_TREE, ELSEWHERE, "in_tree", "u2", others=UNFIT),
    case("are not in the subtree of host (u1)", C.SUBTREE, None, "subtree", "u1"),
    case("have in the subtree of host (u1) only the sharing provider pool (3 DISK_GB free)",
         C.SUBTREE, POOLS, "subtree", "u1", sharing=FULL),
    case("have trait T and trait U only on different providers (one group for each trait would "
         "ask for different providers)", C.COLLECTIVE_TRAITS),
    case("have no combination of providers that fit and have trait T and trait U between them",
         C.COLLECTIVE_TRAITS, request=SEVERAL),
    case("have room for each group, but not for both groups together (16 VCPU asked, at most 6 "
         "free on suitable providers)", C.CAPACITY_SUM, amounts=(BOTH,), request=SEVERAL),
    case("has room for each group, but not for both groups together (16 VCPU asked, 20 free on "
         "several providers)",
         C.CAPACITY_SUM, amounts=(BOTH,), request=SEVERAL, extremes=ENOUGH, hosts=1),
    case("have no provider whose max_unit allows both groups together (16 VCPU asked, the "
         "largest is 6)", C.CAPACITY_SUM, SpecialCase.MAX_UNIT, amounts=(BOTH,), request=SEVERAL),
    case("have only 1 provider with room for the 2 isolated groups _A, _B",
         C.CAPACITY_SUM, SpecialCase.ISOLATION, groups=GROUPS, providers=1, request=SEVERAL),
    case("have too little room for 8 VCPU in parts (at most 6, from 3 providers with max_unit 2)",
         C.CAPACITY_SUM, SpecialCase.PARTS, amounts=(CPU,), request=IN_PARTS),
    case("have too little room for 8 VCPU in parts",
         C.CAPACITY_SUM, SpecialCase.PARTS, amounts=(CPU,), request=IN_PARTS, extremes=ENOUGH),
    case("would need several providers of one tree", C.ONE_PER_TREE),
    case("have no provider for the 2 isolated groups _B, _B (each asks for a provider)",
         C.ISOLATE, groups=("_B", "_B"), request=SEVERAL),
    case("have too few providers for the isolated groups _A, _B", C.ISOLATE, request=SEVERAL),
    case("have no subtree that serves _A,_B together", C.SAME_SUBTREE, request=SEVERAL),
    case("have providers for _A and _B, but neither is below the other, which same_subtree "
         "requires", C.SAME_SUBTREE, APART, request=SEVERAL),
    case("have providers for _A and _B, but neither is below the other, which same_subtree "
         "requires (a group for their common parent, such as required_P=HW_NUMA_ROOT, is "
         "missing in same_subtree)",
         C.SAME_SUBTREE, SpecialCase.SIBLINGS, request=SEVERAL,
         parent_traits=("A", "HW_NUMA_ROOT")),
    case("have at most 6 VCPU free for _A and _B in one subtree, but 16 asked",
         C.SAME_SUBTREE, SpecialCase.SUBTREE_SUM, amounts=(BOTH,), groups=GROUPS),
    case("have no subtree with 16 VCPU that fit _A and _B",
         C.SAME_SUBTREE, SpecialCase.SUBTREE_SUM, amounts=(BOTH,), groups=GROUPS, extremes=ENOUGH),
    case("have providers for _A in one subtree, but none for _B outside of it, which same_subtree "
         "requires", C.SAME_SUBTREE, SpecialCase.OUTSIDE, request=NEGATED),
    case("have as many members of the spread group as one host may have", C.SPREAD),
    case("have only devices that already serve PGPU, VGPU, and serve in one way at a time",
         C.EXCLUSIVE, classes=("PGPU", "VGPU")),
    case("have too few devices, each of which serves in one way at a time",
         C.EXCLUSIVE, SpecialCase.CARDS),
    case("have too few devices besides those that already serve PGPU, each of which serves in one "
         "way at a time", C.EXCLUSIVE, SpecialCase.CARDS, classes=("PGPU",)),
    case("have too few devices for PGPU and VGPU, each of which serves in one way at a time",
         C.EXCLUSIVE, SpecialCase.WAYS, classes=("PGPU", "VGPU")),
    case("took too long to decide", C.BUDGET),
]
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_each_code_and_special_case_has_words(case: Case) -> None:
    phrase = SENTENCES[case.code](case.facts)
    assert phrase.predicate == case.predicate
    assert ";" not in phrase.detail + phrase.predicate, "a semicolon ends a cause"


@pytest.mark.parametrize(
    ("case", "detail"),
    [
        (case("", C.TAINTED, None, "taints", "T", "U"), "T, U"),
        (case("", C.ROOT_AGGREGATE, None, "root.member_of", {"a"}), "a root not in aggregate a"),
        (case("", C.NO_INVENTORY, None, "resources", CPU), "no inventory of VCPU"),
        (
            case("", C.MIN_UNIT, None, "resources", CPU),
            "8 VCPU asked, the smallest min_unit is 6, so 12 would fit",
        ),
        (
            case("", C.MAX_UNIT, None, "resources", DISK),
            "9 DISK_GB asked, the largest max_unit is 7",
        ),
        (
            case("", C.CAPACITY, None, "resources", CPU, DISK),
            "8 VCPU asked, the most free is 6, and 9 DISK_GB asked, the most free is 7",
        ),
        (
            case("", C.NO_INVENTORY, APART, "resources", CPU, DISK),
            "VCPU and DISK_GB only on different providers",
        ),
        (case("", C.IN_TREE, None, "in_tree", "u1"), "not in the tree of host (u1)"),
        (case("", C.ONE_PER_TREE), "one provider of each tree"),
        (case("", C.BUDGET), "not decided within the limit on work"),
    ],
)
def test_details_have_no_hosts_as_subject(case: Case, detail: str) -> None:
    assert SENTENCES[case.code](case.facts).detail == detail


@pytest.mark.parametrize(
    ("code", "request_", "requirement"),
    [
        (Refusal.COLLECTIVE_TRAITS, ALONE, "T, U on one provider"),
        (Refusal.COLLECTIVE_TRAITS, IN_PARTS, "T, U between its providers"),
        (Refusal.CAPACITY_SUM, SEVERAL, "16 VCPU for all groups together"),
        (Refusal.CAPACITY_SUM, IN_PARTS, "8 VCPU in parts"),
        (Refusal.ONE_PER_TREE, SEVERAL, "one provider of each tree"),
        (Refusal.ISOLATE, SEVERAL, "_A, _B: providers that serve no other of the suffixed groups"),
        (Refusal.SAME_SUBTREE, SEVERAL, "_A,_B"),
        (Refusal.SPREAD, SEVERAL, "hosts with fewer members of the spread group"),
        (Refusal.EXCLUSIVE, SEVERAL, "devices that do not serve in another way"),
        (Refusal.BUDGET, SEVERAL, "not decided within the limit on work"),
    ],
)
def test_codes_that_join_groups_state_a_requirement(
    code: Refusal, request_: CandidateRequest, requirement: str
) -> None:
    assert SENTENCES[code](Facts(SearchPlan(request_), {})).requirement == requirement


def test_a_name_that_does_not_exist_is_no_place() -> None:
    cause = RejectionCause((StatedTerm(Refusal.SUBTREE, "subtree", "_A", "u9", unknown=True),))
    phrase = SENTENCES[Refusal.SUBTREE](Facts(SearchPlan(ALONE), {}, cause, hosts=1))
    assert phrase.predicate == "is not in the subtree of u9, which does not exist"


def test_each_code_of_explanations_has_a_sentence_and_a_meaning() -> None:
    assert {case.code for case in CASES} == SENTENCES.keys()
    assert SENTENCES.keys() >= {*CODES}
    for code in CODES:
        assert re.fullmatch(r"[a-z][^.]+[^.]", code.meaning)


def test_meanings_are_defined_in_one_place() -> None:
    """The command, the page and the documents show what the server says."""
    searched = product((ROOT / "placement", ROOT / "docs"), ("*.py", "*.js", "*.rst"))
    texts = {
        path: path.read_text() for folder, pattern in searched for path in folder.rglob(pattern)
    }
    for code in CODES:
        defined_in = {path.name for path, text in texts.items() if f'"{code.meaning}"' in text}
        assert defined_in <= {"trace.py"}, code
    assert len(texts) > 300
