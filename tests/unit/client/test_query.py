"""Requests as query strings and as JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falcon_placement_client.errors import RequestError
from falcon_placement_client.json_request import JsonRequest
from falcon_placement_client.query import parse_query, query_of
from placement.api.candidate_requests.json_form import read_candidates
from placement.api.candidate_requests.query_form import parse_candidates
from placement.api.history import v
from placement.api.parameters import pairs
from tests.unit.client.any_request import UUIDS, json_requests

A, B = UUIDS[:2]


@given(json_requests(), st.integers(0, 9))
def test_a_request_comes_back_from_its_query(request: Any, limit: int) -> None:
    if limit:
        request |= {"limit": limit, "explain": "summary"}
    assert parse_query(query_of(request)) == request


@given(json_requests())
def test_the_server_reads_the_same_from_the_query_as_from_the_json(request: Any) -> None:
    assert parse_candidates(pairs(query_of(request)), v("2.0")) == read_candidates(request)


def test_a_query_is_said_as_people_write_it() -> None:
    query = (
        "resources=VCPU:4,MEMORY_MB:2048&required=HW_CPU_X86_AVX2,!CUSTOM_X&required=in:CUSTOM_A,"
        f"CUSTOM_B&member_of=in:{A},{B}&member_of=!{A}&can_split=VCPU&resources_NIC=SRIOV_NET_VF:1"
        "&required_NUMA=HW_NUMA_ROOT&root_required=!CUSTOM_X&same_subtree=_NUMA,!_NIC&isolate=_NIC"
    )
    request = parse_query(query)
    assert request == {
        "groups": {
            "": {
                "resources": {"VCPU": 4, "MEMORY_MB": 2048},
                "required": ["HW_CPU_X86_AVX2", ["CUSTOM_A", "CUSTOM_B"]],
                "forbidden": ["CUSTOM_X"],
                "member_of": [[A, B]],
                "not_member_of": [A],
                "can_split": ["VCPU"],
            },
            "_NIC": {"resources": {"SRIOV_NET_VF": 1}},
            "_NUMA": {"required": ["HW_NUMA_ROOT"]},
        },
        "root": {"forbidden": ["CUSTOM_X"]},
        "same_subtree": [{"of": ["_NUMA"], "not": ["_NIC"]}],
        "isolate": ["_NIC"],
    }
    assert query_of(request) == query


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("resources=VCPU", "resources=VCPU: expected CLASS:AMOUNT pairs, separated by commas"),
        ("limit=1;resources=VCPU", "resources=VCPU: expected CLASS:AMOUNT"),
        ("resources=VCPU:0", "resources=VCPU:0: expected CLASS:AMOUNT"),
        ("resources_A=vcpu:1", "resources_A=vcpu:1: expected CLASS:AMOUNT"),
        ("required=", "required=: expected T1,!T2 or in:T1,T2"),
        ("required_A=in:T1,!T2", "required_A=in:T1,!T2: expected in: and names of traits"),
        ("member_of=rack", "member_of=rack: expected the UUID of an aggregate"),
        ("in_tree1=host", "in_tree1=host: expected the UUID of a resource provider"),
        ("same_subtree=!_A", "same_subtree=!_A: expected a group without !, too"),
        ("isolate=_A,,_B", "isolate=_A,,_B: expected suffixes of request groups"),
        ("group_policy=all", "group_policy=all: expected none or isolate"),
        ("limit=0", "limit=0: expected a whole number of at least 1"),
        ("limit=1&limit=1", "limit: this parameter may be given only once"),
        ("resources_A=VCPU:1&resources_A=VCPU:1", "resources_A: this parameter may be given only"),
        ("can_split_A=VCPU", "can_split_A: only the group without suffix can be split"),
        ("resource=VCPU:1", "resource: no such parameter; did you mean resources?"),
        ("foo=VCPU:1", "foo: no such parameter; there are can_split, explain,"),
    ],
)
def test_an_error_names_the_parameter_and_what_was_expected(query: str, complaint: str) -> None:
    with pytest.raises(RequestError) as error:
        parse_query(query)
    assert str(error.value).startswith(complaint)


def test_a_group_without_conditions_cannot_be_said_in_a_query() -> None:
    request: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1}}, "_A": {}}}
    with pytest.raises(RequestError, match=r"^groups\._A: a query cannot state a group without"):
        query_of(request)


GROUPS: Any = {"_A": {"resources": {"VCPU": 1}}, "_B": {"resources": {"VCPU": 2}}}


@pytest.mark.parametrize(
    ("members", "policy"),
    [
        ({}, "none"),
        ({"isolate": ["_B", "_A"]}, "isolate"),
        ({"group_policy": "isolate"}, "isolate"),
    ],
)
def test_requests_of_1_x_contain_the_policy_of_groups(members: Any, policy: str) -> None:
    request: Any = {"groups": GROUPS, **members}
    query = query_of(request, (1, 36))
    assert query == f"resources_A=VCPU:1&resources_B=VCPU:2&group_policy={policy}"


@given(json_requests())
def test_requests_that_1_x_can_express_mean_the_same_there(request: Any) -> None:
    try:
        query = query_of(request, (1, 39))
    except RequestError:
        return
    assert parse_candidates(pairs(query), v("1.39")) == parse_candidates(
        pairs(query_of(request)), v("2.0")
    )


@pytest.mark.parametrize(
    ("request_", "version", "path"),
    [
        ({"groups": GROUPS, "isolate": ["_A"]}, (1, 39), "isolate"),
        ({"groups": GROUPS, "root": {"member_of": [A]}}, (1, 39), "root.member_of"),
        ({"groups": GROUPS, "root": {"required": [["T", "U"]]}}, (1, 39), "root.required"),
        ({"groups": GROUPS, "explain": "summary"}, (1, 39), "explain"),
        ({"groups": GROUPS, "tolerate": ["T"]}, (1, 39), "tolerate"),
        ({"groups": GROUPS, "order": [{"by": "free"}]}, (1, 39), "order"),
        ({"groups": GROUPS, "order": [{"by": "free"}]}, (2, 0), "order"),
        ({"first_available": [{"groups": GROUPS}]}, (2, 0), "first_available"),
        (
            {"groups": GROUPS, "same_subtree": [{"of": ["_A"], "not": ["_B"]}]},
            (1, 39),
            "same_subtree",
        ),
        ({"groups": {"_A": {**GROUPS["_A"], "subtree": A}}}, (1, 39), "groups._A.subtree"),
        ({"groups": {"": {"can_split": ["VCPU"]}}}, (1, 39), 'groups[""].can_split'),
        ({"groups": {"": {"required": [["T", "U"]]}}}, (1, 38), 'groups[""].required'),
    ],
)
def test_what_a_version_cannot_say_is_named_by_its_path(
    request_: Any, version: tuple[int, int], path: str
) -> None:
    with pytest.raises(RequestError) as error:
        query_of(request_, version)
    assert error.value.key == path
