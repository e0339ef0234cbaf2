"""The oracle compared with the conformance vectors of the contract (candidates, section 12)."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from tests.properties.oracle import (
    SHARING,
    Candidate,
    Group,
    Inventory,
    Provider,
    Query,
    World,
    candidates,
    parse_answer,
    summaries,
)

Environment = Callable[[], World]


def provider(
    name: str,
    parent: str | None = None,
    traits: str = "",
    aggregates: str = "",
    **inventories: int | Inventory,
) -> Provider:
    """A provider whose UUID is its name; a plain number is the total of an inventory."""
    return Provider(
        uuid=name,
        name=name,
        parent=parent,
        inventories={
            resource_class: stock if isinstance(stock, Inventory) else Inventory(total=stock)
            for resource_class, stock in inventories.items()
        },
        traits=frozenset(traits.split()),
        aggregates=frozenset(aggregates.split()),
    )


def forest(*providers: Provider) -> World:
    return {each.uuid: each for each in providers}


def e1() -> World:
    """Flat hosts, one of them with a sharing provider."""
    return forest(
        provider("SS1", traits=SHARING, aggregates="A", DISK_GB=1000),
        provider("SS2", traits=SHARING, DISK_GB=1000),
        provider("CN1", aggregates="A", VCPU=8, MEMORY_MB=1024, DISK_GB=1000),
        provider("CN2", VCPU=8, MEMORY_MB=1024, DISK_GB=1000),
    )


def e2() -> World:
    """Nested hosts with a sharing provider."""
    return forest(
        provider("SS1", traits=SHARING, aggregates="A", DISK_GB=1000),
        provider("CN1", aggregates="A B", MEMORY_MB=1024, DISK_GB=1000),
        provider("N11", "CN1", VCPU=8),
        provider("N12", "CN1", VCPU=8),
        provider("CN2", aggregates="A", MEMORY_MB=1024, DISK_GB=1000),
        provider("N21", "CN2", aggregates="B", VCPU=8),
        provider("N22", "CN2", VCPU=8),
    )


def e2_moved() -> World:
    """E2 with aggregate A on N11 instead of CN1."""
    world = e2()
    return {
        **world,
        "CN1": replace(world["CN1"], aggregates=frozenset("B")),
        "N11": replace(world["N11"], aggregates=frozenset("A")),
    }


def e3() -> World:
    """One host with two network cards with different traits."""
    return forest(
        provider("CN1", traits="R", VCPU=8, MEMORY_MB=1024, DISK_GB=1000),
        provider("NIC1", "CN1", traits="SSL X", SRIOV_NET_VF=8),
        provider("NIC2", "CN1", traits="Y", SRIOV_NET_VF=8),
        provider("BARE", "CN1", traits="Z"),
    )


def e4() -> World:
    """One host with two NUMA nodes and their accelerators."""
    return forest(
        provider("CN", aggregates="A", DISK_GB=100),
        provider("NUMA0", "CN", traits="HW_NUMA_ROOT", VCPU=4, MEMORY_MB=2048),
        provider("NUMA1", "CN", traits="HW_NUMA_ROOT", VCPU=4, MEMORY_MB=2048),
        provider("FPGA0_0", "NUMA0", traits="T1", FPGA=1),
        provider("FPGA1_0", "NUMA1", traits="T1", FPGA=1),
        provider("FPGA1_1", "NUMA1", traits="T2", FPGA=1),
    )


def e4_shared() -> World:
    """E4 with a sharing provider."""
    storage = provider("SS", traits=f"S {SHARING}", aggregates="A", DISK_GB=1000)
    return {**e4(), "SS": storage}


def e4_marked() -> World:
    """E4 with a sharing provider, and with a trait on the host's root."""
    world = e4_shared()
    return {**world, "CN": replace(world["CN"], traits=frozenset("M"))}


LIMITED = Inventory(total=10, reserved=1, allocation_ratio=1.5, max_unit=4, used=4)
NEARLY_FULL = Inventory(total=4, used=3)


def e5() -> World:
    """Partly used inventories."""
    return forest(provider("R", VCPU=LIMITED), provider("C", "R", VGPU=NEARLY_FULL))


def e5_twins() -> World:
    """E5 with a second, equal child."""
    return {**e5(), "C2": provider("C2", "R", VGPU=NEARLY_FULL)}


KEY = re.compile("(resources|required|member_of|in_tree)(.*)")


def parse(query_string: str) -> Query:
    """The query of a well-formed query string (section 2)."""
    groups: dict[str, Group] = {}
    policy: str | None = None
    subtrees: list[tuple[str, ...]] = []
    root_traits: list[str] = []
    for key, _, value in (pair.partition("=") for pair in query_string.split("&")):
        if key == "group_policy":
            policy = value
        elif key == "same_subtree":
            subtrees.append(tuple(value.split(",")))
        elif key == "root_required":
            root_traits = value.split(",")
        else:
            matched = KEY.fullmatch(key)
            assert matched is not None, key
            keyword, suffix = matched.groups()
            groups[suffix] = extend(groups.get(suffix, Group(suffix)), keyword, value)
    return Query(
        groups=tuple(groups.values()),
        group_policy=policy,
        same_subtree=tuple(subtrees),
        root_required=tuple(frozenset({t}) for t in root_traits if not t.startswith("!")),
        root_forbidden=frozenset(t[1:] for t in root_traits if t.startswith("!")),
    )


def extend(group: Group, keyword: str, value: str) -> Group:
    """The group with one more parameter."""
    alternatives = frozenset(value.removeprefix("!").removeprefix("in:").split(","))
    match keyword:
        case "resources":
            items = (item.split(":") for item in value.split(","))
            return replace(group, resources={name: int(amount) for name, amount in items})
        case "in_tree":
            return replace(group, in_tree=value)
        case "member_of" if value.startswith("!"):
            return replace(group, not_member_of=group.not_member_of | alternatives)
        case "member_of":
            return replace(group, member_of=(*group.member_of, alternatives))
        case _ if value.startswith("in:"):
            return replace(group, required=(*group.required, alternatives))
    for item in value.split(","):
        if item.startswith("!"):
            group = replace(group, forbidden=group.forbidden | {item[1:]})
        else:
            group = replace(group, required=(*group.required, frozenset({item})))
    return group


def drawn(candidate: Candidate) -> str:
    """The candidate as `NAME{CLASS:amount,…} + …`, sorted."""
    return " + ".join(
        f"{uuid}{{{','.join(f'{name}:{amount}' for name, amount in sorted(resources))}}}"
        for uuid, resources in sorted(candidate.allocations)
    )


def providers_of(candidate: Candidate) -> str:
    """The names of the providers with an allocation, sorted."""
    return " + ".join(sorted(uuid for uuid, _ in candidate.allocations))


Q = "resources=VCPU:1,MEMORY_MB:512,DISK_GB:500"
Q3 = "resources=VCPU:1,SRIOV_NET_VF:2"
NICS = "resources1=SRIOV_NET_VF:{0}&resources2=SRIOV_NET_VF:{0}&group_policy={1}"
WITH_SSL = (
    "resources=VCPU:1&resources1=SRIOV_NET_VF:1&required1=SSL&resources2=SRIOV_NET_VF:1"
    "&group_policy={0}"
)
MIXED = "resources=SRIOV_NET_VF:1&resources1=SRIOV_NET_VF:1"
CN1_ALL = "CN1{DISK_GB:500,MEMORY_MB:512,VCPU:1}"
CN2_ALL = "CN2{DISK_GB:500,MEMORY_MB:512,VCPU:1}"
CN1_SS1 = "CN1{MEMORY_MB:512,VCPU:1} + SS1{DISK_GB:500}"
SPREAD = "NIC1{SRIOV_NET_VF:1} + NIC2{SRIOV_NET_VF:1}"
BOTH_NICS = ["NIC1{SRIOV_NET_VF:2}", "NIC2{SRIOV_NET_VF:2}", SPREAD, SPREAD]
HOSTS_AND_NODES = list(product((1, 2), (1, 2)))
N12_SHARED_DISK = "resources=VCPU:1,DISK_GB:500"
TWO_TREES = "resources1=VCPU:1&in_tree1=CN1&resources2=DISK_GB:10&in_tree2=SS1"
NUMA_AND_ACCELERATORS = (
    "required_NUMA=HW_NUMA_ROOT&resources_ACCEL1=FPGA:1&required_ACCEL1=T1"
    "&resources_ACCEL2=FPGA:1&required_ACCEL2=T2&group_policy=none"
    "&same_subtree=_NUMA,_ACCEL1,_ACCEL2"
)
COMPUTE_AND_ACCELERATOR = (
    "resources_COMPUTE=VCPU:1,MEMORY_MB:256&resources_ACCEL=FPGA:1&group_policy=none"
)
DISK_AND_FPGA = "resources_A=DISK_GB:1&resources_B=FPGA:1&group_policy=none"
CHAINED = (
    "resources_C=VCPU:1&resources_A=FPGA:1&resources_D=DISK_GB:1&group_policy=none"
    "&same_subtree=_C,_A&same_subtree=_D,_C"
)
NUMA_OF = "resources_A=VCPU:1&required_B=HW_NUMA_ROOT&group_policy={0}&same_subtree=_A,_B"
IN_AGGREGATE = "resources_A=VCPU:1&member_of_B=A&group_policy={0}&same_subtree=_A,_B"
ON_STORAGE = (
    "resources_A=VCPU:1&required_B=S&resources_C=DISK_GB:1&group_policy=none&same_subtree=_B,_C"
)

# The expected result is a number of candidates, the providers of each, or each in full.
VECTORS: list[tuple[Environment, str, int | list[str]]] = [
    (e1, Q, [CN1_ALL, CN2_ALL, CN1_SS1]),
    (e1, "resources=DISK_GB:10", ["CN1", "CN2", "SS1", "SS2"]),
    (e1, "resources1=DISK_GB:10", ["CN1", "CN2", "SS1", "SS2"]),
    (e1, f"{Q}&member_of=A", [CN1_ALL, CN1_SS1]),
    (e1, f"{Q}&member_of=!A", [CN2_ALL]),
    (e1, "resources=VCPU:1&resources1=DISK_GB:10", ["CN1", "CN2", "CN1 + SS1"]),
    (
        e1,
        "resources1=VCPU:1&resources2=DISK_GB:10&group_policy=isolate",
        ["CN1{VCPU:1} + SS1{DISK_GB:10}"],
    ),
    (
        e1,
        "resources1=VCPU:1&resources2=DISK_GB:10&group_policy=none",
        ["CN1", "CN2", "CN1 + SS1"],
    ),
    (e1, "resources=VCPU:1&resources1=DISK_GB:10&member_of1=!A", ["CN2"]),
    (
        e2,
        Q,
        [
            f"CN{host}{{{own}}} + N{host}{node}{{VCPU:1}}{shared}"
            for host, node in HOSTS_AND_NODES
            for own, shared in (
                ("DISK_GB:500,MEMORY_MB:512", ""),
                ("MEMORY_MB:512", " + SS1{DISK_GB:500}"),
            )
        ],
    ),
    (e2, "resources=VCPU:1", ["N11", "N12", "N21", "N22"]),
    (e2, f"{Q}&member_of=A", 8),
    (e2, f"{Q}&member_of=B", ["CN1 + N11", "CN1 + N12"]),
    (e2, f"{Q}&member_of=A&member_of=B", ["CN1 + N11", "CN1 + N12"]),
    (e2, f"{Q}&member_of=!B", ["CN2 + N22", "CN2 + N22 + SS1"]),
    (e2, f"{Q}&member_of=!A", 0),
    (e2, "resources1=VCPU:1&member_of1=B", ["N21"]),
    (e2, "resources1=VCPU:1&member_of1=A", 0),
    (e2, "resources1=VCPU:1&member_of1=!B", ["N11", "N12", "N22"]),
    (e2, "resources=VCPU:1,DISK_GB:50&in_tree=CN1", ["CN1 + N11", "CN1 + N12"]),
    (e2, "resources=VCPU:1,DISK_GB:50&in_tree=N11", ["CN1 + N11", "CN1 + N12"]),
    (
        e2,
        "resources=VCPU:1&in_tree=CN1&resources1=DISK_GB:10",
        ["CN1 + N11", "CN1 + N12", "N11 + SS1", "N12 + SS1"],
    ),
    (
        e2,
        "resources=VCPU:1&resources1=DISK_GB:10&in_tree1=SS1",
        ["N11 + SS1", "N12 + SS1", "N21 + SS1", "N22 + SS1"],
    ),
    (e2, f"{TWO_TREES}&group_policy=isolate", ["N11 + SS1", "N12 + SS1"]),
    (
        e2_moved,
        N12_SHARED_DISK,
        [
            f"{disk} + N{host}{node}" if disk < "N" else f"N{host}{node} + {disk}"
            for host, node in HOSTS_AND_NODES
            for disk in (f"CN{host}", "SS1")
        ],
    ),
    (
        e2_moved,
        f"{N12_SHARED_DISK}&member_of=A",
        ["CN2 + N21", "CN2 + N22", "N21 + SS1", "N22 + SS1", "N11 + SS1"],
    ),
    (e3, Q3, ["CN1 + NIC1", "CN1 + NIC2"]),
    (e3, f"{Q3}&required=SSL", ["CN1 + NIC1"]),
    (e3, f"{Q3}&required=!SSL", ["CN1 + NIC2"]),
    (e3, f"{Q3}&required=R,SSL", ["CN1 + NIC1"]),
    (e3, f"{Q3}&required=R,!X", ["CN1 + NIC2"]),
    (e3, f"{Q3}&required=!R", 0),
    (e3, f"{Q3}&required=Z", 0),
    (e3, f"{Q3}&required=X,Y", 0),
    (e3, f"{Q3}&required=!Z", 2),
    (e3, f"{Q3}&required=in:X,Y", 2),
    (e3, f"{Q3}&required=in:X,Y&required=!X", ["CN1 + NIC2"]),
    (e3, "resources=SRIOV_NET_VF:2&required=R", 0),
    (e3, "resources=SRIOV_NET_VF:2&required=!R", 2),
    (e3, "resources1=SRIOV_NET_VF:2&required1=R", 0),
    (e3, "resources=SRIOV_NET_VF:1&root_required=R", 2),
    (e3, "resources=SRIOV_NET_VF:1&root_required=!R", 0),
    (e3, "resources=SRIOV_NET_VF:1&root_required=X", 0),
    (e3, WITH_SSL.format("isolate"), [f"CN1{{VCPU:1}} + {SPREAD}"]),
    (
        e3,
        WITH_SSL.format("none"),
        [f"CN1{{VCPU:1}} + {SPREAD}", "CN1{VCPU:1} + NIC1{SRIOV_NET_VF:2}"],
    ),
    (e3, NICS.format(1, "none"), BOTH_NICS),
    (e3, NICS.format(1, "isolate"), [SPREAD, SPREAD]),
    (e3, NICS.format(5, "none"), ["NIC1 + NIC2", "NIC1 + NIC2"]),
    (e3, NICS.format(4, "none"), 4),
    (e3, MIXED, BOTH_NICS),
    (e3, f"{MIXED}&group_policy=none", BOTH_NICS),
    (e3, f"{MIXED}&group_policy=isolate", BOTH_NICS),
    (e4, f"{COMPUTE_AND_ACCELERATOR}&same_subtree=_COMPUTE,_ACCEL", 3),
    (e4, COMPUTE_AND_ACCELERATOR, 6),
    (e4, NUMA_AND_ACCELERATORS, ["FPGA1_0 + FPGA1_1"]),
    (
        e4,
        "resources_A=FPGA:1&resources_B=FPGA:1&group_policy=isolate&same_subtree=_A,_B",
        0,
    ),
    (
        e4,
        "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=none&same_subtree=_A,_B",
        ["NUMA0{VCPU:2}", "NUMA1{VCPU:2}"],
    ),
    (
        e4,
        "resources_A=VCPU:1&resources_B=VCPU:1&group_policy=isolate&same_subtree=_A,_B",
        0,
    ),
    (e4, f"{DISK_AND_FPGA}&same_subtree=_A,_B", 3),
    (e4, CHAINED, 3),
    (e4, NUMA_OF.format("none"), ["NUMA0", "NUMA1"]),
    (e4, NUMA_OF.format("isolate"), 0),
    (e4, IN_AGGREGATE.format("none"), ["NUMA0", "NUMA1"]),
    (
        e4,
        "resources_A=FPGA:1&required_B=HW_NUMA_ROOT,!T1&group_policy=none&same_subtree=_A,_B",
        3,
    ),
    (e4, "resources=MEMORY_MB:1&resources1=VCPU:1&group_policy=isolate", 4),
    (e4, "resources=VCPU:1&resources1=VCPU:1&resources2=FPGA:1&group_policy=isolate", 12),
    (e4_shared, f"{DISK_AND_FPGA}&same_subtree=_A,_B", 3),
    (e4_shared, DISK_AND_FPGA, 6),
    (e4_shared, ON_STORAGE, ["NUMA0{VCPU:1} + SS{DISK_GB:1}", "NUMA1{VCPU:1} + SS{DISK_GB:1}"]),
    (e4_shared, "resources=VCPU:1,DISK_GB:1&required=S", ["NUMA0 + SS", "NUMA1 + SS"]),
    (e4_shared, "resources=VCPU:1,DISK_GB:1&required=!S", ["CN + NUMA0", "CN + NUMA1"]),
    (e4_shared, "resources=VCPU:1,DISK_GB:1&required=S,HW_NUMA_ROOT", 2),
    (e4_marked, "resources=VCPU:1,DISK_GB:1&root_required=M", 4),
    (e4_marked, "resources=VCPU:1,DISK_GB:1&root_required=!M", 0),
    (e4_marked, "resources=VCPU:1,DISK_GB:1&root_required=!S", 4),
    (e4_marked, "resources=VCPU:1,DISK_GB:1&root_required=S", 0),
    (e4_marked, "resources=DISK_GB:1&root_required=M", ["CN", "SS"]),
    (e4_marked, "resources=DISK_GB:1&root_required=!M", ["SS"]),
    (e4_marked, "resources=DISK_GB:1&root_required=!S", ["CN", "SS"]),
    (e4_marked, "resources=DISK_GB:1&root_required=S", ["SS"]),
    (e5, "resources1=VCPU:2&resources2=VCPU:3&group_policy=none", 0),
    (e5, "resources1=VCPU:2&resources2=VCPU:2&group_policy=none", ["R{VCPU:4}"]),
    (e5, "resources1=VGPU:1&resources2=VGPU:1&group_policy=none", 0),
    (
        e5_twins,
        "resources1=VGPU:1&resources2=VGPU:1&group_policy=none",
        ["C{VGPU:1} + C2{VGPU:1}"] * 2,
    ),
]


@pytest.mark.parametrize(
    ("environment", "query_string", "expected"),
    VECTORS,
    ids=[f"{environment.__name__}-{query}" for environment, query, _ in VECTORS],
)
def test_candidates(environment: Environment, query_string: str, expected: int | list[str]) -> None:
    found = candidates(environment(), parse(query_string))
    if isinstance(expected, int):
        assert len(found) == expected
    elif any("{" in each for each in expected):
        assert sorted(map(drawn, found)) == sorted(expected)
    else:
        assert sorted(map(providers_of, found)) == sorted(expected)


MAPPINGS: list[tuple[Environment, str, str, list[str]]] = [
    (e4, NUMA_AND_ACCELERATORS, "_NUMA", ["NUMA1"]),
    (e4, NUMA_AND_ACCELERATORS, "_ACCEL2", ["FPGA1_1"]),
    (e4, NUMA_OF.format("none"), "_B", ["NUMA0", "NUMA1"]),
    (e4, IN_AGGREGATE.format("none"), "_B", ["CN", "CN"]),
    (e4_shared, ON_STORAGE, "_B", ["SS", "SS"]),
    (e3, NICS.format(1, "isolate"), "2", ["NIC1", "NIC2"]),
    (e1, f"{Q}&member_of=A", "", ["CN1", "CN1 + SS1"]),
]


@pytest.mark.parametrize(
    ("environment", "query_string", "suffix", "expected"),
    MAPPINGS,
    ids=[f"{environment.__name__}-{suffix}-{query}" for environment, query, suffix, _ in MAPPINGS],
)
def test_mappings(
    environment: Environment, query_string: str, suffix: str, expected: list[str]
) -> None:
    found = candidates(environment(), parse(query_string))
    mapped = (" + ".join(sorted(dict(each.mappings)[suffix])) for each in found)
    assert Counter(mapped) == Counter(expected)


SUMMARISED: list[tuple[Environment, str, str]] = [
    (e2, "resources=VCPU:1", "CN1 CN2 N11 N12 N21 N22"),
    (e2, f"{Q}&member_of=!B", "CN2 N21 N22 SS1"),
    (e2, f"{Q}&member_of=!A", ""),
    (e3, Q3, "BARE CN1 NIC1 NIC2"),
    (e4_shared, IN_AGGREGATE.format("none"), "CN FPGA0_0 FPGA1_0 FPGA1_1 NUMA0 NUMA1"),
]


@pytest.mark.parametrize(
    ("environment", "query_string", "expected"),
    SUMMARISED,
    ids=[f"{environment.__name__}-{query}" for environment, query, _ in SUMMARISED],
)
def test_summarised_providers(environment: Environment, query_string: str, expected: str) -> None:
    world = environment()
    found = candidates(world, parse(query_string))
    assert sorted(summaries(world, found)) == expected.split()


def test_summary_shape() -> None:
    world = e5()
    found = candidates(world, parse("resources=VCPU:1"))
    assert summaries(world, found) == {
        "R": {
            "resources": {"VCPU": {"capacity": 13, "used": 4}},
            "traits": [],
            "parent_provider_uuid": None,
            "root_provider_uuid": "R",
        },
        "C": {
            "resources": {"VGPU": {"capacity": 4, "used": 3}},
            "traits": [],
            "parent_provider_uuid": "R",
            "root_provider_uuid": "R",
        },
    }


def answer(allocations: Mapping[str, Any], mappings: Mapping[str, list[str]]) -> dict[str, Any]:
    return {"allocations": allocations, "mappings": mappings}


def test_parse_answer() -> None:
    world = e3()
    body = {
        "allocation_requests": [
            answer(
                {
                    one: {"resources": {"SRIOV_NET_VF": 1}},
                    other: {"resources": {"SRIOV_NET_VF": 1}},
                },
                {"1": [one], "2": [other]},
            )
            for one, other in (("NIC1", "NIC2"), ("NIC2", "NIC1"))
        ],
        "provider_summaries": {},
    }
    assert parse_answer(body) == candidates(world, parse(NICS.format(1, "isolate")))


@pytest.mark.parametrize("query_string", sorted({query for _, query, _ in VECTORS}))
def test_params_round_trip(query_string: str) -> None:
    query = parse(query_string)
    assert parse("&".join(f"{key}={value}" for key, value in query.to_params())) == query
