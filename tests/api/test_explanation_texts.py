"""Texts of explanations of the demonstration cloud, with tainted hosts and a full storage pool."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from falcon_placement_client.loader import load_cloud
from tests.kit.listener import listening
from tests.kit.service import Service, claim

DEMO = Path(__file__).parents[2] / "etc" / "demo-cloud.yaml"
TAINT = "CUSTOM_TAINT_REPAIR"
RACK_A, RACK_B, RACK_C, RACK_D = (f"5ac00000-0000-4000-8000-00000000000{rack}" for rack in "abcd")
BULK_POOL, RACK_B_POOL = (f"5708a6e0-0000-4000-8000-00000000000{pool}" for pool in "23")
NONE_OF_50 = "None of 50 hosts can serve the request (3 sharing providers are not counted). "


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("texts")
    with Service(directory, placement={"taints": [TAINT]}) as service:
        with listening(service.application) as url:
            assert load_cloud(str(DEMO), url, "admin", out=io.StringIO()) == 0
        service.expect(201, "PUT", f"/traits/{TAINT}")
        for name in ("compute-a02", "gpu-a01", "gpu-a02"):
            path = f"/resource_providers/{uuid_of(service, name)}/traits"
            traits = service.get(path)
            traits["traits"].append(TAINT)
            service.expect(200, "PUT", path, traits)
        pool = uuid_of(service, "storage-rack-b")
        for number in range(9):  # consumers have 9,500 of 100,000
            consumer = f"fffffff0-0000-4000-8000-{number:012}"
            body = claim({pool: {"DISK_GB": 10_000}})
            service.expect(204, "PUT", f"/allocations/{consumer}", body)
        yield service


def uuid_of(service: Service, name: str) -> str:
    (provider,) = service.get(f"/resource_providers?name={name}")["resource_providers"]
    return str(provider["uuid"])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            f"resources=VCPU:4,DISK_GB:5000&required=STORAGE_DISK_SSD&root_member_of={RACK_C}",
            "; 8 have trait STORAGE_DISK_SSD only on the sharing provider storage-fast "
            "(max_unit 4000 DISK_GB). ",
        ),
        (
            f"resources=VCPU:4,DISK_GB:1800&root_member_of={RACK_B}",
            "; 10 have no room for 1800 DISK_GB: at most 1750 of their own, and the sharing "
            "provider storage-rack-b (500 DISK_GB free). ",
        ),
        (
            f"resources_C=VCPU:4&resources_S=DISK_GB:800&required_S=MISC_SHARES_VIA_AGGREGATE"
            f"&root_member_of={RACK_B}",
            "; 10 have trait MISC_SHARES_VIA_AGGREGATE for group _S only on the sharing provider "
            "storage-rack-b (500 DISK_GB free). ",
        ),
        (
            "resources=VCPU:200&can_split=VCPU&in_tree={numa-d05}",
            " has too little room for 200 VCPU in parts (at most 48, from 2 providers with "
            "max_unit 24); the other 49 are not in its tree. ",
        ),
        (
            "resources=VCPU:40&in_tree={numa-d05}",
            "With 24 VCPU, 1 host would serve. With can_split=VCPU (placement 2.0), 1 host would "
            "serve.",
        ),
        ("resources=VGPU:8", " With can_split=VGPU (placement 2.0), 2 hosts would serve."),
        (
            "resources_A=PGPU:1&resources_B=FPGA:1",
            f"{NONE_OF_50}No host has both inventory of PGPU (2 hosts, all tainted) and inventory "
            "of FPGA (4 hosts).",
        ),
        (
            "resources_A=SRIOV_NET_VF:1&resources_B=FPGA:1&required_C=HW_NUMA_ROOT"
            "&same_subtree=_A,_B,_C",
            f"{NONE_OF_50}No host has both inventory of SRIOV_NET_VF (10 hosts) and inventory of "
            "FPGA (4 hosts).",
        ),
        (
            f"resources=VCPU:4&member_of={RACK_A}&member_of={RACK_B}",
            f"{NONE_OF_50}No host is in both aggregate {RACK_A} (18 hosts, 3 tainted) and "
            f"aggregate {RACK_B} (10 hosts); member_of=in:{RACK_A},{RACK_B} asks for either. ",
        ),
        (
            f"resources=MEMORY_MB:510000&member_of={RACK_A}",
            f"{NONE_OF_50}32 are not in aggregate {RACK_A}; 18 have no provider with 510000 "
            "MEMORY_MB free (the most is 507904). ",
        ),
        (
            "resources_A=FPGA:1&required_A=CUSTOM_FPGA_TYPE1"
            "&resources_B=FPGA:1&required_B=CUSTOM_FPGA_TYPE2&same_subtree=_A,_B",
            "; 4 have providers for _A and _B, but neither is below the other, which same_subtree "
            "requires (a group for their common parent, such as required_P=HW_NUMA_ROOT, is "
            "missing in same_subtree). ",
        ),
        (
            "resources_A=PCPU:10&resources_B=PCPU:10&required_N=HW_NUMA_ROOT&same_subtree=_A,_B,_N",
            "; 12 have at most 16 PCPU free for _A and _B in one subtree, but 20 asked; ",
        ),
        (
            "&".join(f"resources_{number}=PGPU:1" for number in range(1, 8)),
            "; 1 has only 5 providers with room for the 7 isolated groups",
        ),
        # Neither the last requirement of a group without resources is dropped, nor its last rule.
        (
            "resources_A=PCPU:10&resources_B=PCPU:10&required_N=HW_NUMA_ROOT&same_subtree=_A,_B,_N",
            ". With 6 PCPU for group _A, 13 hosts would serve.",
        ),
        (
            "resources_A=SRIOV_NET_VF:1&required_A=CUSTOM_PHYSNET_NET1&resources_B=SRIOV_NET_VF:1"
            "&required_B=CUSTOM_PHYSNET_NET2&same_subtree=_A,_B",
            " Without same_subtree=_A,_B, 10 hosts would serve.",
        ),
        # Each value is that of the hosts that the clause counts: others have 3500 and 196608.
        (
            f"resources=VCPU:8,DISK_GB:4500&member_of={RACK_D}",
            "; 4 have no provider whose max_unit allows 4500 DISK_GB (the largest is 1700). ",
        ),
        (
            f"resources=MEMORY_MB:500000&member_of=in:{RACK_B},{RACK_C}",
            "8 of 50 hosts can serve the request (3 sharing providers are not counted). 32 are not "
            f"in any of the aggregates {RACK_B}, {RACK_C}; 10 have no provider whose max_unit "
            "allows 500000 MEMORY_MB (the largest max_unit is 122880, the most free is 184320). ",
        ),
        (
            f"resources=VCPU:4&required=STORAGE_DISK_HDD&member_of={RACK_A}",
            " Without requiring trait STORAGE_DISK_HDD, 15 hosts would serve. Without requiring "
            f"aggregate {RACK_A}, 10 hosts would serve.",
        ),
        (
            "resources=SRIOV_NET_VF:1&required=CUSTOM_PHYSNET_NET1,CUSTOM_PHYSNET_NET2",
            "; 10 have trait CUSTOM_PHYSNET_NET1 and trait CUSTOM_PHYSNET_NET2 only on different "
            "providers (one group for each trait would ask for different providers). ",
        ),
        # A larger local disk would not help, because it does not have the trait.
        (
            f"resources=VCPU:4,DISK_GB:1600&member_of={RACK_B_POOL}&required=STORAGE_DISK_SSD",
            f"{NONE_OF_50}40 are not in aggregate {RACK_B_POOL}; 10 have trait STORAGE_DISK_SSD "
            "only on the sharing provider storage-rack-b (500 DISK_GB free). ",
        ),
        # The other storage pool of these hosts is not in the aggregate.
        (
            f"resources=DISK_GB:60000&member_of={BULK_POOL}",
            "; 8 have only the sharing provider storage-bulk (max_unit 50000 DISK_GB) for 60000 "
            "DISK_GB. ",
        ),
        # The other hosts with the class are all tainted.
        (
            "resources=PGPU:1&in_tree={compute-a01}",
            f" and without the taint {TAINT}, 2 hosts would serve.",
        ),
        (
            "resources=PCPU:32&can_split=PCPU&required=COMPUTE_ACCELERATORS",
            "; 4 have trait COMPUTE_ACCELERATORS only on the root, which has no PCPU. Without "
            "requiring trait COMPUTE_ACCELERATORS, 12 hosts would serve. With "
            "root_required=COMPUTE_ACCELERATORS instead, 4 hosts would serve.",
        ),
        # Each host lacks both amounts.
        (
            f"resources=MEMORY_MB:500000,DISK_GB:3400&member_of=in:{RACK_A},{RACK_B}",
            "; 10 have no provider with 500000 MEMORY_MB free (the most is 483328) and none with "
            "3400 DISK_GB free (the most is 3380); ",
        ),
        # Other hosts with the trait only reach a storage pool, which serves none of the amounts.
        (
            "resources=VCPU:4,FPGA:1&required=STORAGE_DISK_HDD",
            f"{NONE_OF_50}No host has both trait STORAGE_DISK_HDD (10 hosts) and inventory of FPGA "
            "(4 hosts). ",
        ),
        (
            f"resources=VCPU:4&required=STORAGE_DISK_HDD&member_of={RACK_A}",
            f"{NONE_OF_50}No host has both trait STORAGE_DISK_HDD (10 hosts) and a provider in "
            f"aggregate {RACK_A} (18 hosts, 3 tainted). ",
        ),
        # The hosts without the trait come first, whatever their amounts.
        (
            "resources_N=MEMORY_MB:200000&required_N=HW_NUMA_ROOT",
            f"{NONE_OF_50}36 have no provider with trait HW_NUMA_ROOT; 14 have no provider whose "
            "max_unit allows 200000 MEMORY_MB (the largest max_unit is 196608, the most free is "
            "188416). ",
        ),
        (
            f"resources=VCPU:4,DISK_GB:1005&required=STORAGE_DISK_SSD&root_member_of={RACK_C}",
            "the sharing provider storage-fast (step_size 10 DISK_GB, so 1010 would fit). ",
        ),
        (
            "resources=PGPU:1",
            f"{NONE_OF_50}48 have no inventory of PGPU; 2 are kept out only by the taint {TAINT}. ",
        ),
        # Storage pools are no hosts, even if they have all classes.
        (
            "resources=DISK_GB:200000",
            f"{NONE_OF_50}32 have no provider whose max_unit allows 200000 DISK_GB (the largest "
            "is 7000); 10 have no room for 200000 DISK_GB: at most 1750 of their own, and the "
            "sharing provider storage-rack-b (max_unit 10000 DISK_GB, 500 free); 8 have only the "
            "sharing providers storage-bulk (max_unit 50000 DISK_GB) and storage-fast (max_unit "
            "4000 DISK_GB) for 200000 DISK_GB. With 50000 DISK_GB, 8 hosts would serve.",
        ),
    ],
)
def test_a_text_names_the_reason(service: Service, query: str, text: str) -> None:
    before, _brace, name = query.partition("{")
    if name:
        query = before + uuid_of(service, name.removesuffix("}"))
    policy = "isolate" if "resources_7" in query else "none"
    several = f"&group_policy={policy}" if "resources_A" in query or policy == "isolate" else ""
    if "resources_C" in query:
        several = "&group_policy=none"
    path = f"/allocation_candidates?{query}{several}&limit=1&explain=summary"
    assert text in service.get(path, version="2.0")["explanation"]["text"]


@pytest.mark.parametrize(
    "query", ["resources=PGPU:1", "resources=DISK_GB:200000", "resources=DISK_GB:3000"]
)
def test_all_numbers_count_the_same_hosts(service: Service, query: str) -> None:
    path = f"/allocation_candidates?{query}&limit=1&explain=summary"
    found = service.get(path, version="2.0")["explanation"]
    hosts = found["hosts"]
    assert " of 50 hosts can serve" in found["text"]
    assert hosts["all"] == hosts["looked"] == found["groups"][""][0]["before"] == 50
    assert hosts["served"] + sum(each["hosts"] for each in found["blocked"]) == 50
    body = {"requests": {"a": {"groups": {"": {"resources": parsed(query)}}}}}
    headroom = service.expect(200, "POST", "/headroom", body, "2.0").json["headroom"]["a"]
    assert headroom["hosts"] == hosts["served"]
    assert sum(each["hosts"] for each in headroom["limited_by"]) == 50


def test_the_list_has_the_largest_values_of_the_text(service: Service) -> None:
    """The text counts hosts without the trait apart, so the list has to do so, too."""
    query = "resources=MEMORY_MB:200000&required=HW_NUMA_ROOT"
    path = f"/allocation_candidates?{query}&limit=1&explain=summary"
    found = service.get(path, version="2.0")["explanation"]
    assert "36 have no provider with trait HW_NUMA_ROOT; 14 have no provider" in found["text"]
    assert "(the largest max_unit is 196608, the most free is 188416)" in found["text"]
    assert found["blocked"][0]["detail"].split("; ") == [
        "200000 MEMORY_MB asked, the largest max_unit is 196608 (14 hosts)",
        "200000 MEMORY_MB asked, the largest max_unit is 122880, and no provider with trait "
        "HW_NUMA_ROOT (10 hosts)",
    ]


def parsed(query: str) -> dict[str, int]:
    name, _colon, units = query.removeprefix("resources=").partition(":")
    return {name: int(units)}


def test_an_amount_that_several_checks_reject_is_the_largest_of_all_providers(
    service: Service,
) -> None:
    """The local disks fail at max_unit, and the pool lacks free capacity."""
    path = f"/allocation_candidates?resources=DISK_GB:1800&member_of={RACK_B}&explain=summary"
    text = service.get(path, version="2.0")["explanation"]["text"]
    assert "(the most is 500)" not in text
    assert "at most 1750 of their own" in text
