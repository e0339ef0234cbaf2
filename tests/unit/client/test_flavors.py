"""Flavors as operators write them, and the requests that they make."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from falcon_placement_client.errors import RequestError
from falcon_placement_client.first_available import body_of_flavor
from falcon_placement_client.flavors import (
    Flavor,
    flavor_of_request,
    ignored_keys,
    parse_flavor,
    read_flavor_file,
    request_of_flavor,
)
from falcon_placement_client.json_request import JsonGroup
from tests.unit.client.any_request import UUIDS, json_requests

A, B, C = UUIDS[:3]


@given(json_requests())
def test_a_request_comes_back_from_its_flavor(request: Any) -> None:
    assert request_of_flavor(flavor_of_request(request)) == request


@given(json_requests())
def test_a_flavor_comes_back_from_its_request(request: Any) -> None:
    flavor = flavor_of_request(request)
    assert flavor_of_request(request_of_flavor(flavor)) == flavor


def test_numbered_groups_are_read_as_the_spec_writes_them() -> None:
    text = """resources:VCPU=2
        resources:MEMORY_MB=2048
        trait:HW_CPU_X86_AVX=required
        trait:CUSTOM_MAGIC=required
        resources1:SRIOV_NET_VF=1
        resources1:NET_EGRESS_BYTES_SEC=10000
        trait1:CUSTOM_PHYSNET_NET1=required
        resources2:SRIOV_NET_VF=1
        resources2:NET_EGRESS_BYTES_SEC=20000
        trait2:CUSTOM_PHYSNET_NET2=required
        trait2:HW_NIC_ACCEL_SSL=forbidden
        group_policy=none"""
    flavor = parse_flavor(text.splitlines())
    assert request_of_flavor(flavor) == {
        "groups": {
            "": {
                "resources": {"VCPU": 2, "MEMORY_MB": 2048},
                "required": ["HW_CPU_X86_AVX", "CUSTOM_MAGIC"],
            },
            "1": {
                "resources": {"SRIOV_NET_VF": 1, "NET_EGRESS_BYTES_SEC": 10000},
                "required": ["CUSTOM_PHYSNET_NET1"],
            },
            "2": {
                "resources": {"SRIOV_NET_VF": 1, "NET_EGRESS_BYTES_SEC": 20000},
                "required": ["CUSTOM_PHYSNET_NET2"],
                "forbidden": ["HW_NIC_ACCEL_SSL"],
            },
        },
        "group_policy": "none",
    }


def test_what_a_flavor_has_itself_gives_way_to_its_properties() -> None:
    flavor = {"vcpus": 4, "ram": 8192, "disk": 40, "resources:VCPU": 0, "resources:PCPU": 4}
    request = request_of_flavor(flavor)
    assert request["groups"][""]["resources"] == {"MEMORY_MB": 8192, "DISK_GB": 40, "PCPU": 4}


def test_keys_for_filters_and_drivers_ask_for_nothing() -> None:
    flavor: Flavor = {"resources:VCPU": 1, "hw:mem_page_size": "large", "quota:cpu_shares": "5"}
    flavor = {**flavor, "hide_hypervisor_id": "true"}
    assert request_of_flavor(flavor) == {"groups": {"": {"resources": {"VCPU": 1}}}}
    assert ignored_keys(flavor) == ["hw:mem_page_size", "quota:cpu_shares", "hide_hypervisor_id"]


@pytest.mark.parametrize(
    ("properties", "resources", "required", "forbidden"),
    [
        ("hw:cpu_policy=shared", {"VCPU": 4}, [], []),
        ("hw:cpu_policy=dedicated", {"PCPU": 4}, [], []),
        ("hw:cpu_policy=dedicated hw:emulator_threads_policy=share", {"PCPU": 4}, [], []),
        ("hw:cpu_policy=dedicated hw:emulator_threads_policy=isolate", {"PCPU": 5}, [], []),
        (
            "hw:cpu_policy=mixed hw:cpu_dedicated_mask=^0",
            {"VCPU": 1, "PCPU": 3},
            [],
            [],
        ),
        (
            "hw:cpu_policy=mixed hw:cpu_realtime=yes hw:cpu_realtime_mask=2-3,^3",
            {"VCPU": 3, "PCPU": 1},
            [],
            [],
        ),
        (
            "hw:cpu_policy=dedicated hw:cpu_thread_policy=require",
            {"PCPU": 4},
            ["HW_CPU_HYPERTHREADING"],
            [],
        ),
        (
            "hw:cpu_policy=dedicated hw:cpu_thread_policy=isolate",
            {"PCPU": 4},
            [],
            ["HW_CPU_HYPERTHREADING"],
        ),
        ("hw:cpu_policy=dedicated hw:cpu_thread_policy=prefer", {"PCPU": 4}, [], []),
        (
            "hw:mem_encryption=True",
            {"VCPU": 4, "MEM_ENCRYPTION_CONTEXT": 1},
            ["HW_CPU_X86_AMD_SEV"],
            [],
        ),
        (
            "hw:mem_encryption=True hw:mem_encryption_model=intel-tdx",
            {"VCPU": 4, "MEM_ENCRYPTION_CONTEXT": 1},
            ["HW_CPU_X86_INTEL_TDX", "COMPUTE_SECURITY_STATELESS_FIRMWARE"],
            [],
        ),
        ("hw:mem_encryption_model=amd-sev", {"VCPU": 4}, [], []),
        ("hw:mem_encryption=no", {"VCPU": 4}, [], []),
        (
            "hw:pmem=6GB,6GB,large",
            {"VCPU": 4, "CUSTOM_PMEM_NAMESPACE_6GB": 2, "CUSTOM_PMEM_NAMESPACE_LARGE": 1},
            [],
            [],
        ),
        (
            "hw:tpm_version=2.0 hw:tpm_model=tpm-crb hw:tpm_secret_security=host",
            {"VCPU": 4},
            ["COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_CRB"],
            [],
        ),
        (
            "hw:tpm_version=1.2",
            {"VCPU": 4},
            ["COMPUTE_SECURITY_TPM_1_2", "COMPUTE_SECURITY_TPM_TIS"],
            [],
        ),
        ("hw:tpm_model=tpm-tis hw:tpm_secret_security=host", {"VCPU": 4}, [], []),
        ("hw:cpu_policy=dedicated resources:VCPU=0", {"PCPU": 4}, [], []),
        ("hw:viommu_model=virtio hw:sound_model=ich9 hw:usb_model=none", {"VCPU": 4}, [], []),
        ("hw:pmu=true hw:redirected_usb_ports=2", {"VCPU": 4}, [], []),
        (
            "hw:pci_numa_affinity_policy=socket",
            {"VCPU": 4},
            ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"],
            [],
        ),
        ("hw:pci_numa_affinity_policy=preferred", {"VCPU": 4}, [], []),
        (
            "hw:maxphysaddr_mode=emulate",
            {"VCPU": 4},
            ["COMPUTE_ADDRESS_SPACE_EMULATED"],
            [],
        ),
        ("os:secure_boot=required", {"VCPU": 4}, ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"], []),
        ("os:secure_boot=optional", {"VCPU": 4}, [], []),
    ],
)
def test_properties_of_nova_become_what_nova_asks_of_the_service(
    properties: str, resources: dict[str, int], required: list[str], forbidden: list[str]
) -> None:
    flavor = parse_flavor(["vcpus=4", *properties.split()])
    group = request_of_flavor(flavor)["groups"][""]
    assert group["resources"] == resources
    assert group.get("required", []) == required
    assert group.get("forbidden", []) == forbidden
    asked = {
        "hw:cpu_dedicated_mask",
        "hw:cpu_realtime",
        "hw:cpu_realtime_mask",
    }  # read with hw:cpu_policy
    unrelated = {"hw:viommu_model", "hw:sound_model", "hw:usb_model", "hw:pmu"}
    assert set(ignored_keys(flavor)) <= asked | unrelated | {"hw:redirected_usb_ports"}


@pytest.mark.parametrize(
    ("properties", "required"),
    [
        ("hw:tpm_version=2.0", ["COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER"]),
        (
            "hw:tpm_version=2.0 hw:tpm_secret_security=host",
            ["COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST"],
        ),
        ("hw:virtio_packed_ring=true", ["COMPUTE_NET_VIRTIO_PACKED"]),
        ("hw:virtio_packed_ring=false", []),
        ("hw:ephemeral_encryption=true", ["COMPUTE_EPHEMERAL_ENCRYPTION"]),
        (
            "hw:ephemeral_encryption=1 hw:ephemeral_encryption_format=luksv2",
            ["COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKSV2"],
        ),
        ("hw:ephemeral_encryption_format=luks", []),
        (
            "hw:virtio_packed_ring=true root_required=CUSTOM_A",
            ["CUSTOM_A", "COMPUTE_NET_VIRTIO_PACKED"],
        ),
        (
            "hw:virtio_packed_ring=true root_required=in:CUSTOM_A,CUSTOM_B",
            [["CUSTOM_A", "CUSTOM_B"], "COMPUTE_NET_VIRTIO_PACKED"],
        ),
    ],
)
def test_properties_of_nova_become_traits_of_the_root(properties: str, required: list[Any]) -> None:
    root = request_of_flavor(parse_flavor(["vcpus=4", *properties.split()])).get("root", {})
    assert root.get("required", []) == required


@pytest.mark.parametrize(
    ("amounts", "resources"),
    [
        ("disk=20 ephemeral=10 swap=1500", {"": {"DISK_GB": 32}}),
        ("disk=0 ephemeral=0 swap=1", {"": {"DISK_GB": 1}}),
        ("swap=1024", {"": {"DISK_GB": 1}}),
        ("ram=1 swap=0", {"": {"MEMORY_MB": 1}}),
        ("disk=20 swap=1 resources:DISK_GB=7", {"": {"DISK_GB": 7}}),
        ("vcpus=4 ram=1 resources_A:VCPU=2", {"": {"MEMORY_MB": 1}, "_A": {"VCPU": 2}}),
        ("vcpus=4 ram=1 resources_A:VCPU=0", {"": {"MEMORY_MB": 1}}),
        ("vcpus=4 ram=1 resources:PCPU=4", {"": {"MEMORY_MB": 1, "PCPU": 4}}),
    ],
)
def test_amounts_of_a_flavor_are_those_that_nova_asks_for(
    amounts: str, resources: dict[str, dict[str, int]]
) -> None:
    groups = request_of_flavor(parse_flavor(amounts.split()))["groups"]
    assert {suffix: group["resources"] for suffix, group in groups.items()} == resources


@pytest.mark.parametrize(
    ("flavor", "complaint"),
    [
        ("resources:VCPU=many", "resources:VCPU=many: expected a whole number of at least 0"),
        ("resources1:VCPU=-1", "resources1:VCPU=-1: expected a whole number of at least 0"),
        ("vcpus=2.5", "vcpus=2.5: expected a whole number of at least 0"),
        ("resources:vcpu=1", "resources:vcpu: expected the name of a resource class"),
        ("trait:AVX=yes", "trait:AVX=yes: expected required or forbidden"),
        ("trait_A:avx=required", "trait_A:avx: expected the name of a trait"),
        ("trait=required", "trait: no such key of a flavor; did you mean trait:NAME?"),
        (
            "resorces:VCPU=1",
            "resorces:VCPU: no such key of a flavor; did you mean resources:CLASS?",
        ),
        ("member_of=rack1", "member_of=rack1: expected the UUID of an aggregate"),
        ("in_tree=here", "in_tree=here: expected the UUID of a resource provider"),
        ("limit=5", "limit: no such key of a flavor"),
        ("trait:AVX=required", "resources:CLASS: expected an amount of at least one"),
        ("resources:VCPU=0", "resources:CLASS: expected an amount of at least one"),
        ("disk=1 trait1:AVX=required", "trait1:AVX: the group requests no resources; expected"),
        ("disk=1 in_tree_A=" + A, "in_tree_A: the group requests no resources; expected"),
        ("disk=1 isolate=_A", "isolate=_A: no group has this suffix; there are none"),
        (
            "resources1:A=1 same_subtree=1,2",
            "same_subtree=2: no group has this suffix; there are 1",
        ),
        ("resources1:A=1 isolate=1 group_policy=none", "isolate: expected without group_policy"),
        ("vcpus=1 hw:cpu_policy=pinned", "hw:cpu_policy=pinned: expected shared, dedicated, mixed"),
        ("vcpus=1 hw:cpu_thread_policy=require", "hw:cpu_thread_policy: expected with hw:cpu_po"),
        ("vcpus=1 hw:emulator_threads_policy=isolate", "hw:emulator_threads_policy: expected with"),
        ("disk=1 hw:cpu_policy=dedicated", "hw:cpu_policy: dedicated expects vcpus"),
        ("vcpus=2 hw:cpu_policy=mixed", "hw:cpu_policy: mixed expects hw:cpu_dedicated_mask, or"),
        (
            "vcpus=2 hw:cpu_policy=mixed hw:cpu_dedicated_mask=0-1",
            "hw:cpu_dedicated_mask=0-1: expected some of 2 CPUs, not all",
        ),
        (
            "vcpus=2 hw:cpu_policy=mixed hw:cpu_dedicated_mask=a",
            "hw:cpu_dedicated_mask=a: expected CPUs as 0-3,^1",
        ),
        ("vcpus=2 hw:cpu_policy=dedicated resources:PCPU=2", "resources:PCPU: expected without hw"),
        ("vcpus=1 hw:mem_encryption=maybe", "hw:mem_encryption=maybe: expected true or false"),
        (
            "vcpus=1 hw:mem_encryption=true hw:mem_encryption_model=x",
            "hw:mem_encryption_model=x: expected amd-sev, amd-sev-es, ",
        ),
        ("vcpus=1 hw:virtio_packed_ring=2", "hw:virtio_packed_ring=2: expected true or false"),
        ("vcpus=1 hw:tpm_version=3", "hw:tpm_version=3: expected 1.2, 2.0"),
        ("vcpus=2 hw:cpu_dedicated_mask=0", "hw:cpu_dedicated_mask: expected with hw:cpu_policy="),
        (
            "vcpus=1 hw:tpm_version=1.2 hw:tpm_model=tpm-crb",
            "hw:tpm_model=tpm-crb: expected with hw:tpm_version=2.0",
        ),
        ("vcpus=1 hw:pci_numa_affinity_policy=x", "hw:pci_numa_affinity_policy=x: expected requi"),
        ("vcpus=1 accel:device_profile=fpga", "accel:device_profile: cannot be translated; its"),
        ("vcpus=1 pci_passthrough:alias=a:1", "pci_passthrough:alias: cannot be translated; its"),
        ("vcpus=1 hw:new=1", "hw:new: its meaning for the placement service is not known"),
        (
            "vcpus=1 hw:tpm_version=2.0 trait:COMPUTE_SECURITY_TPM_2_0=forbidden",
            "trait:COMPUTE_SECURITY_TPM_2_0=forbidden: another key asks for required",
        ),
        ("disk=1 can_split=VCPU", "can_split=VCPU: expected a class that is requested"),
    ],
)
def test_an_error_names_the_key_and_what_was_expected(flavor: str, complaint: str) -> None:
    with pytest.raises(RequestError) as error:
        request_of_flavor(parse_flavor(flavor.split()))
    assert str(error.value).startswith(complaint)


ORDER = [
    {"by": "trait", "name": "CUSTOM_QUIET", "first": "with"},
    {"by": "aggregate", "uuid": A, "first": "without"},
    {"by": "free", "resource_class": "VCPU", "first": "least"},
]


ALTERNATIVES = [
    {"groups": {"": {"resources": {"VGPU": 1}}, "_NIC": {"resources": {"SRIOV_NET_VF": 1}}}},
    {"groups": {"": {"resources": {"VCPU": 8}}}, "tolerate": ["CUSTOM_MAINTENANCE"]},
]
FIRST = "placement:first_available"


def test_amounts_of_a_flavor_are_asked_for_by_each_alternative_that_does_not_state_them() -> None:
    flavor: Flavor = {
        "vcpus": 2,
        "ram": 512,
        FIRST: json.dumps(ALTERNATIVES),
        "hw:mem_page_size": "large",
    }
    body: Any = body_of_flavor(flavor)
    assert [each["groups"][""]["resources"] for each in body["first_available"]] == [
        {"VCPU": 2, "MEMORY_MB": 512, "VGPU": 1},
        {"VCPU": 8, "MEMORY_MB": 512},
    ]
    assert body["first_available"][0]["groups"]["_NIC"] == ALTERNATIVES[0]["groups"]["_NIC"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("flavor", "complaint"),
    [
        ({FIRST: "{"}, f"{FIRST}: expected JSON"),
        ({FIRST: "[]"}, f"{FIRST}: expected a list of 1 to 8 requests"),
        ({FIRST: json.dumps(ALTERNATIVES * 5)}, f"{FIRST}: expected a list of 1 to 8"),
        ({FIRST: "[1]"}, f"{FIRST}[0]: expected an object"),
        ({FIRST: '[{"groups": []}]'}, f"{FIRST}[0].groups: expected an object"),
        ({FIRST: '[{"groups": {"": 1}}]'}, f"{FIRST}[0].groups: expected an object"),
        ({FIRST: '[{"groups": {}, "limit": 1}]'}, f"{FIRST}[0].limit: an alternative has no such"),
        ({FIRST: '[{"groups": {}, "order": []}]'}, f"{FIRST}[0].order: an alternative has no such"),
        (
            {FIRST: json.dumps(ALTERNATIVES), "vcpus": 1, "trait:T": "required"},
            f"{FIRST}: expected alone, or with amounts",
        ),
        (
            {FIRST: json.dumps(ALTERNATIVES), "resources_A:VCPU": 1},
            f"{FIRST}: expected alone, or with amounts",
        ),
    ],
)
def test_malformed_alternatives_are_refused(flavor: Any, complaint: str) -> None:
    with pytest.raises(RequestError) as error:
        body_of_flavor(flavor)
    assert str(error.value).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[", "placement:order: expected JSON"),
        ("{}", "placement:order: expected a list of at most 8 objects"),
        (json.dumps(ORDER * 3), "placement:order: expected a list of at most 8"),
        ("[1]", 'placement:order[0]: expected an object with "by": free or trait or aggregate'),
        ('[{"by": "size"}]', "placement:order[0]: expected an object"),
        (
            '[{"by": "trait", "first": "with"}]',
            "placement:order[0]: expected the members by, first",
        ),
        (
            '[{"by": "free", "resource_class": "VCPU", "first": "with"}]',
            "placement:order[0].first: expected most or least",
        ),
        (
            '[{"by": "aggregate", "uuid": "az1", "first": "with"}]',
            "placement:order[0].uuid: 'az1' is no uuid",
        ),
        (
            '[{"by": "trait", "name": 7, "first": "with"}]',
            "placement:order[0].name: 7 is no name",
        ),
    ],
)
def test_a_malformed_order_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(RequestError) as error:
        request_of_flavor({"vcpus": 1, "placement:order": text})
    assert str(error.value).startswith(complaint)


def test_a_trait_that_is_required_and_forbidden_is_no_flavor() -> None:
    group: JsonGroup = {"resources": {"VCPU": 1}, "required": ["AVX"], "forbidden": ["AVX"]}
    with pytest.raises(RequestError, match=r"^trait_A:AVX: required and forbidden at once"):
        flavor_of_request({"groups": {"_A": group}})


def test_a_file_has_a_line_for_each_key(tmp_path: Path) -> None:
    path = tmp_path / "flavor"
    path.write_text("# small\nvcpus=1\n\n  resources_A:VGPU = 1\n")
    assert read_flavor_file(str(path)) == {"vcpus": "1", "resources_A:VGPU": "1"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("vcpus=1\nvcpus=2\n", "flavor:2: vcpus: this key is given twice"),
        ("vcpus=1\nram\n", "flavor:2: ram: expected key=value"),
        (None, "flavor: cannot be read: No such file or directory"),
    ],
)
def test_an_error_in_a_file_names_its_line(
    text: str | None, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("flavor").write_text(text)
    with pytest.raises(RequestError) as error:
        read_flavor_file("flavor")
    assert str(error.value) == complaint
