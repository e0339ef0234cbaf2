"""Requests that are measured."""

from collections.abc import Mapping
from typing import Any

from tests.kit.cloud import aggregate_uuid, provider_uuid

# The ten hosts with the most free VCPUs.
SORTED: Mapping[str, Any] = {
    "groups": {"": {"resources": {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}}},
    "order": [{"by": "free", "resource_class": "VCPU", "first": "most"}],
    "limit": 10,
}
# All hosts, without an order.
UNSORTED: Mapping[str, Any] = {"groups": SORTED["groups"]}
# The only host of `to_drain` with consumers.
DRAIN: Mapping[str, Any] = {"changes": [{"drain": [provider_uuid(1)]}]}
# Any host.
ONE_STEP: Mapping[str, Any] = {
    "groups": {"": {"resources": {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}}}
}
FOUR_GROUPS = (
    "/allocation_candidates?resources_DISK=DISK_GB:10&required_DISK=COMPUTE_VOLUME_MULTI_ATTACH"
    "&resources_COMPUTE=VCPU:1,MEMORY_MB:256&required_COMPUTE=CUSTOM_FOO"
    "&resources_F1=FPGA:1&required_F1=CUSTOM_BAR&resources_F2=FPGA:1&group_policy=none"
)
# No host satisfies this, because each host is in one aggregate.
BOTH = f"&member_of={aggregate_uuid(1)}&member_of={aggregate_uuid(2)}"
