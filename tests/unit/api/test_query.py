"""Query strings become requests, or one error that names the parameter."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.api import parameters
from placement.api.candidate_requests.json_form import read_candidates
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import HISTORY, LATEST, Microversion, v
from placement.api.operations.providers import (
    NO_LIMIT,
    parse_page,
    parse_provider_filter,
)
from placement.api.operations.traits import parse_trait_filter
from placement.api.operations.usages import parse_usage_query
from placement.api.parameters import parse_include
from placement.candidates import CandidateRequest
from placement.candidates.terms import (
    ForbiddenTrait,
    MemberOf,
    NotMemberOf,
    RequiredTraits,
)
from placement.errors import BadQuery
from placement.objects.paging import ListPage
from placement.objects.provider_parts import Part
from placement.vocabulary import TOO_MUCH

AGG = "a0000000-0000-4000-8000-000000000001"
OTHER = "a0000000-0000-4000-8000-000000000002"
KEYS = (
    "resources", "resources_A", "required", "required1", "member_of", "in_tree", "limit",
    "group_policy", "root_required", "root_member_of", "subtree", "same_subtree", "can_split",
    "name", "uuid", "associated", "project_id", "marker", "include",
)  # fmt: skip
PIECES = (
    "VCPU:1",
    "VCPU",
    ":",
    ",",
    "!",
    "in:",
    "T1",
    "_A",
    AGG,
    "none",
    "isolate",
    "1",
    "\x00",
    "é",
)


def parse(*pairs: tuple[str, str], version: str = str(LATEST)) -> CandidateRequest:
    return parse_candidates(parameters.pairs(urlencode(pairs)), v(version))


def test_of_a_repeated_parameter_the_last_counts_and_of_limit_the_first() -> None:
    request = parse(
        ("resources", "VCPU:1"), ("resources", "VCPU:2"), ("limit", "3"), ("limit", "9")
    )
    assert request.groups[0].resources == (("VCPU", 2),)
    assert request.limit == 3


def test_amounts_beyond_all_units_fit_nowhere() -> None:
    (group,) = parse(("resources", f"VCPU:{10**30}")).groups
    assert group.resources == (("VCPU", TOO_MUCH),)


def test_membership_is_repeated_from_its_version_on() -> None:
    pairs = [("resources", "VCPU:1"), ("member_of", AGG), ("member_of", OTHER)]
    with pytest.raises(BadQuery, match=r"repeating it needs microversion 1\.24"):
        parse(*pairs, version="1.23")
    assert len(parse(*pairs, version="1.24").groups[0].terms) == 2


def test_before_any_traits_only_the_last_required_is_read() -> None:
    pairs = [("resources", "VCPU:1"), ("required", "!!,"), ("required", "T")]
    assert parse(*pairs, version="1.38").groups[0].terms == (RequiredTraits(frozenset(["T"])),)
    with pytest.raises(BadQuery):
        parse(*pairs)


def page(*pairs: tuple[str, str]) -> ListPage | None:
    decoded = parameters.pairs(urlencode(pairs))
    return parse_page(decoded, parse_include(decoded, Part))


def test_a_list_is_paged_where_that_is_asked_for() -> None:
    assert page(("name", "x")) is None
    assert page(("limit", "7")) == ListPage(7)
    assert page(("limit", "3"), ("limit", "7")) == ListPage(7)
    assert page(("limit", "7"), ("marker", AGG)) == ListPage(7, AGG)
    assert page(("marker", AGG)) == ListPage(NO_LIMIT, AGG)
    assert page(("limit", "9" * 4000)) == ListPage(NO_LIMIT)


@pytest.mark.parametrize(("limit", "size"), [("1", 1), ("1000", 1000), ("1001", 1000)])
def test_a_list_with_parts_has_1000_providers_at_the_most(limit: str, size: int) -> None:
    assert page(("include", "traits"), ("limit", limit)) == ListPage(size)
    assert page(("include", "traits")) == ListPage(1000)


def test_a_query_has_5000_items_at_the_most() -> None:
    longest = "required=" + ",".join(["T"] * 5000)
    assert parameters.pairs(longest) == [("required", longest.removeprefix("required="))]
    with pytest.raises(BadQuery, match="5001 items"):
        parameters.pairs(f"{longest}&a")


def test_a_body_has_5000_members_and_names_at_the_most() -> None:
    body: dict[str, Any] = {"groups": {"": {"resources": {"VCPU": 1}}}, "tolerate": ["T"] * 4995}
    assert read_candidates(body).tolerate == {"T"}
    body["tolerate"].append("T")
    with pytest.raises(BadQuery, match="body: it has 5001 members and names"):
        read_candidates(body)


def test_a_list_has_50_conditions_at_the_most() -> None:
    amounts = [f"CUSTOM_{number}:1" for number in range(51)]
    longest = [("resources", ",".join(amounts[:50]))]
    assert len(parse_provider_filter(longest, LATEST).resources) == 50
    with pytest.raises(BadQuery, match="51 conditions"):
        parse_provider_filter([("resources", ",".join(amounts))], LATEST)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("limit", ""),
        ("limit", "0"),
        ("limit", "-1"),
        ("limit", "+1"),
        ("limit", "1.0"),
        ("limit", "\uff11"),
        ("limit", " 1"),
        ("marker", ""),
        ("marker", "x"),
        ("marker", "00000000-0000-0000-0000"),
        ("include", ""),
        ("include", "traits,"),
        ("include", "traits,,usages"),
        ("include", "Traits"),
        ("include", " traits"),
        ("include", "links"),
    ],
)
def test_pages_and_parts_that_are_none_are_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(BadQuery) as refused:
        page((key, value))
    assert str(refused.value).startswith(f"{key}=")


PARSERS = (
    (parse_candidates, "1.10"),
    (parse_provider_filter, "1.0"),
    (parse_trait_filter, "1.6"),
    (parse_usage_query, "1.9"),
)
Reader = Callable[[Sequence[tuple[str, str]], Microversion], object]

READERS = st.sampled_from(
    [(parser, version) for parser, since in PARSERS for version in HISTORY if version >= v(since)]
)
VALUES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(max_size=12)
PAIRS = st.lists(st.tuples(st.sampled_from(KEYS) | st.text(max_size=8), VALUES), max_size=8)


@given(PAIRS, READERS)
def test_any_request_is_understood_or_refused(
    pairs: list[tuple[str, str]],
    reader: tuple[Reader, Microversion],
) -> None:
    parser, version = reader
    pairs = [(key, value.encode("utf-8", "ignore").decode()) for key, value in pairs]
    with contextlib.suppress(BadQuery):
        encoded = urlencode([(key.encode("utf-8", "ignore"), value) for key, value in pairs])
        parser(parameters.pairs(encoded), version)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_query_string_or_refused(raw: bytes) -> None:
    with contextlib.suppress(BadQuery):
        parameters.pairs(raw.decode("latin-1"))


def test_since_2_0_the_root_may_have_any_number_of_terms() -> None:
    pairs = [
        ("resources", "VCPU:1"),
        ("root_required", "T1,!T2"),
        ("root_required", "in:T3,T4"),
        ("root_member_of", AGG),
        ("root_member_of", f"!{OTHER}"),
    ]
    root = parse(*pairs, version="2.0").root
    assert root == (
        RequiredTraits(frozenset({"T1"})),
        RequiredTraits(frozenset({"T3", "T4"})),
        ForbiddenTrait("T2"),
        MemberOf(frozenset({AGG})),
        NotMemberOf(OTHER),
    )


def test_the_conditions_on_roots_are_bounded() -> None:
    pairs = [("root_member_of", AGG[:-2] + str(number)) for number in range(10, 61)]
    assert parse(("resources", "VCPU:1"), *pairs[:50], version="2.0").root
    with pytest.raises(BadQuery, match="51 conditions"):
        parse(("resources", "VCPU:1"), *pairs, version="2.0")


TWO = (("resources_A", "VCPU:1"), ("resources_B", "VCPU:1"))


def test_a_group_may_be_named_for_being_outside_a_subtree() -> None:
    (rule,) = parse(*TWO, ("same_subtree", "_A,!_B"), version="2.0").subtree_rules
    assert rule.inside == {"_A"}
    assert rule.outside == {"_B"}
    bare = (("resources_A", "VCPU:1"), ("required_B", "T"), ("same_subtree", "_A,!_B"))
    assert len(parse(*bare, version="2.0").groups) == 2


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([("isolate", "_A"), ("group_policy", "none")], "isolate='_A': group_policy"),
        ([("isolate", "_A,")], "isolate='_A,': expected"),
        ([("isolate", "_C")], "isolate='_C': no request group"),
        ([("isolate", "!_A")], "isolate='!_A': no request group"),
        ([("same_subtree", "!_A")], "same_subtree='!_A': name a group without !"),
        ([("same_subtree", "_A,!_A")], "same_subtree='_A': a group is either inside"),
        ([("same_subtree", "_A,!_C")], "same_subtree='_C': no request group"),
        ([("same_subtree", "_A,!")], "same_subtree='_A,!': expected"),
    ],
)
def test_groups_that_cannot_be_joined_so(pairs: Sequence[tuple[str, str]], text: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse(*TWO, *pairs, version="2.0")
    assert str(refused.value).startswith(text)
    assert refused.value.code == "placement.query.bad_value"


def test_classes_that_may_be_split_belong_to_the_unsuffixed_group() -> None:
    pairs = (
        ("can_split", "VCPU"),
        ("resources", "VCPU:4,DISK_GB:1"),
        ("can_split", "VCPU,DISK_GB"),
    )
    (group,) = parse(*pairs, version="2.0").groups
    assert group.split_classes == {"VCPU", "DISK_GB"}
    assert not parse(("resources", "VCPU:4"), version="2.0").groups[0].split_classes


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([("can_split", "VCPU")], "can_split='VCPU': the unsuffixed group"),
        ([("resources", "DISK_GB:1"), ("can_split", "VCPU")], "can_split='VCPU': the unsuffixed"),
        ([("resources", "VCPU:1"), ("can_split", "VCPU,X")], "can_split='X': the unsuffixed group"),
        ([("resources", "VCPU:1"), ("can_split", "")], "can_split='': expected names"),
        ([("resources", "VCPU:1"), ("can_split", "VCPU,")], "can_split='VCPU,': expected names"),
    ],
)
def test_classes_that_cannot_be_split(pairs: Sequence[tuple[str, str]], text: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse(("resources_A", "VCPU:1"), *pairs, version="2.0")
    assert str(refused.value).startswith(text)
    assert refused.value.code == "placement.query.bad_value"


def test_a_suffixed_group_is_not_split() -> None:
    with pytest.raises(BadQuery, match="can_split_A='VCPU': no such parameter"):
        parse(("resources_A", "VCPU:1"), ("can_split_A", "VCPU"), version="2.0")


def test_the_first_line_has_no_negated_suffixes() -> None:
    with pytest.raises(BadQuery, match="no request group"):
        parse(*TWO, ("group_policy", "none"), ("same_subtree", "_A,!_B"))
