"""Query strings become requests, or one error that names the parameter."""

import contextlib
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.api import query
from placement.errors import BadQuery

AGG = "a0000000-0000-4000-8000-000000000001"
OTHER = "a0000000-0000-4000-8000-000000000002"
KEYS = (
    "resources", "resources_A", "required", "required1", "member_of", "in_tree", "limit",
    "group_policy", "root_required", "same_subtree", "name", "uuid", "associated", "project_id",
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


def parse(*pairs: tuple[str, str]):
    return query.parse_candidates(query.pairs(urlencode(pairs)))


def test_groups_stand_in_the_order_of_the_query() -> None:
    request = parse(
        ("resources_B", "VCPU:2,DISK_GB:5"),
        ("required", "T1,!T2"),
        ("resources", "VGPU:1"),
        ("required", "in:T3,T4"),
        ("member_of_B", f"in:{AGG},{OTHER}"),
        ("member_of_B", f"!{AGG}"),
        ("in_tree_B", f" {AGG} "),
        ("limit", "7"),
    )
    one, unsuffixed = request.groups
    assert one.suffix == "_B"
    assert one.resources == (("VCPU", 2), ("DISK_GB", 5))
    assert one.member_of == (frozenset([AGG, OTHER]),)
    assert one.not_member_of == {AGG}
    assert one.in_tree == AGG
    assert unsuffixed.required == (frozenset(["T1"]), frozenset(["T3", "T4"]))
    assert unsuffixed.forbidden == {"T2"}
    assert (request.limit, request.isolate) == (7, False)


def test_of_a_repeated_parameter_the_last_counts_and_of_limit_the_first() -> None:
    request = parse(
        ("resources", "VCPU:1"), ("resources", "VCPU:2"), ("limit", "3"), ("limit", "9")
    )
    assert request.groups[0].resources == (("VCPU", 2),)
    assert request.limit == 3


def test_amounts_beyond_all_units_fit_nowhere() -> None:
    (group,) = parse(("resources", f"VCPU:{10**30}")).groups
    assert group.resources == (("VCPU", query.TOO_MUCH),)


@pytest.mark.parametrize(
    ("pairs", "words", "code"),
    [
        ([("resources", "")], "resources=''", "undefined_code"),
        ([("resources", "VCPU:0")], "at least 1", "undefined_code"),
        ([("resources", "VCPU:1:2")], "CLASS:AMOUNT", "undefined_code"),
        ([("resources", "VCPU:1"), ("foo", "1")], "foo='1': no such parameter", "undefined_code"),
        ([("resources", "VCPU:1"), ("limit", "x"), ("limit", "1")], "limit='x'", "undefined_code"),
        ([("resources", "VCPU:1"), ("required", "T,!T")], "at once", "undefined_code"),
        ([("resources", "VCPU:1"), ("required", "in:!T")], "inside in:", "undefined_code"),
        ([("resources", "VCPU:1"), ("member_of", f"{AGG},{OTHER}")], "member_of", "undefined_code"),
        ([("resources1", "VCPU:1"), ("resources2", "VCPU:1")], "group_policy", "undefined_code"),
        ([("required", "T")], "resources", "query.missing_value"),
        ([("resources", "VCPU:1"), ("required1", "T")], "resources1", "query.bad_value"),
        ([("resources1", "VCPU:1"), ("same_subtree", "1,")], "same_subtree", "query.bad_value"),
        ([("resources1", "VCPU:1"), ("same_subtree", "1,2")], "'2'", "query.bad_value"),
        ([("resources", "VCPU:1"), ("root_required", "T,!T")], "root_required", "query.bad_value"),
        (
            [("resources", "VCPU:1"), ("root_required", "T"), ("root_required", "U")],
            "only once",
            "query.duplicate_key",
        ),
        ([("resources", "VCPU:1"), ("in_tree", "x")], "in_tree='x'", "undefined_code"),
        ([("resources" + "x" * 65, "VCPU:1")], "no such parameter", "undefined_code"),
    ],
)
def test_a_malformed_parameter_is_named(
    pairs: list[tuple[str, str]], words: str, code: str
) -> None:
    with pytest.raises(BadQuery) as raised:
        parse(*pairs)
    assert words in str(raised.value)
    assert raised.value.code == f"placement.{code}"


PARSERS = (
    query.parse_candidates,
    query.parse_provider_filter,
    query.parse_trait_filter,
    query.parse_usage_query,
)
VALUES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text(max_size=12)
PAIRS = st.lists(st.tuples(st.sampled_from(KEYS) | st.text(max_size=8), VALUES), max_size=8)


@given(PAIRS, st.sampled_from(PARSERS))
def test_whatever_a_client_sends_is_understood_or_refused(pairs, parser) -> None:
    pairs = [(key, value.encode("utf-8", "ignore").decode()) for key, value in pairs]
    with contextlib.suppress(BadQuery):
        parser(query.pairs(urlencode([(k.encode("utf-8", "ignore"), v) for k, v in pairs])))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_query_string_or_refused(raw: bytes) -> None:
    with contextlib.suppress(BadQuery):
        query.pairs(raw.decode("latin-1"))
