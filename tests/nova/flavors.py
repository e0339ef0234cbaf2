"""The requests of flavors, compared with those that nova makes of the same flavors.

`python -m tests.nova.flavors` asks nova's scheduler, in a virtualenv that has nova, for the request
of each extra spec alone and of each pair, with an image that no spec contradicts. It prints the
flavors whose requests differ, except for the differences that docs/requests.rst announces.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from nova import conf, context, objects
from nova.objects import service
from nova.scheduler import request_filter, utils
from nova.virt import hardware

from falcon_placement_client.errors import RequestError
from falcon_placement_client.flavors import request_of_flavor
from falcon_placement_client.query import pairs_of

UUID = "00000000-0000-4000-8000-000000000001"
AMOUNTS = {"vcpus": 4, "ram": 2048, "disk": 20}
SIZES: Iterable[Mapping[str, int]] = (
    AMOUNTS,
    {**AMOUNTS, "disk": 0},
    {**AMOUNTS, "ephemeral": 10, "swap": 1500},
    *({**AMOUNTS, "disk": 0, "swap": swap} for swap in (1, 1023, 1024, 1025)),
)
SPECS: Mapping[str, Iterable[str]] = {
    "hw:cpu_policy": ["shared", "dedicated", "mixed"],
    "hw:cpu_thread_policy": ["prefer", "isolate", "require"],
    "hw:emulator_threads_policy": ["share", "isolate"],
    "hw:cpu_dedicated_mask": ["0-1", "^0"],
    "hw:cpu_realtime": ["yes"],
    "hw:cpu_realtime_mask": ["^0"],
    "hw:cpu_sockets": ["2"],
    "hw:cpu_max_sockets": ["2"],
    "hw:cpu_cores": ["2"],
    "hw:cpu_max_cores": ["4"],
    "hw:cpu_threads": ["2"],
    "hw:cpu_max_threads": ["2"],
    "hw:numa_nodes": ["1", "2"],
    "hw:mem_page_size": ["large", "2MB", "any", "small"],
    "hw:mem_encryption": ["true", "false"],
    "hw:mem_encryption_model": ["amd-sev", "amd-sev-es", "amd-sev-snp", "intel-tdx"],
    "hw:pmem": ["6GB", "6GB,big", "6GB,6GB"],
    "hw:pmu": ["true"],
    "hw:tpm_version": ["1.2", "2.0"],
    "hw:tpm_model": ["tpm-tis", "tpm-crb"],
    "hw:tpm_secret_security": ["user", "host", "deployment"],
    "hw:pci_numa_affinity_policy": ["socket", "required", "preferred", "legacy"],
    "hw:maxphysaddr_mode": ["passthrough", "emulate"],
    "hw:maxphysaddr_bits": ["42"],
    "hw:viommu_model": ["intel", "smmuv3", "virtio", "auto"],
    "hw:virtio_packed_ring": ["true", "false"],
    "hw:ephemeral_encryption": ["true", "false"],
    "hw:ephemeral_encryption_format": ["plain", "luks", "luksv2"],
    "hw:locked_memory": ["true"],
    "hw:watchdog_action": ["reset"],
    "hw:boot_menu": ["true"],
    "hw:serial_port_count": ["2"],
    "hw:vif_multiqueue_enabled": ["true"],
    "hw:hide_hypervisor_id": ["true"],
    "hw:sound_model": ["ich9"],
    "hw:usb_model": ["qemu-xhci"],
    "hw:redirected_usb_ports": ["2"],
    "hide_hypervisor_id": ["true"],
    "hw_video:ram_max_mb": ["64"],
    "hw_rng:allowed": ["True"],
    "os:secure_boot": ["required", "disabled"],
    "quota:cpu_shares": ["10"],
    "quota:memory_limit": ["100"],
    "trust:trusted_host": ["trusted"],
    "capabilities:hypervisor_type": ["QEMU"],
    "aggregate_instance_extra_specs:ssd": ["true"],
    "vmware:hw_version": ["vmx-15"],
    "resources:VCPU": ["0", "1", "8"],
    "resources:PCPU": ["4"],
    "resources:MEMORY_MB": ["0", "100"],
    "resources:DISK_GB": ["0", "7"],
    "resources:VGPU": ["1"],
    "resources:CUSTOM_BAREMETAL": ["1"],
    "resources:MEM_ENCRYPTION_CONTEXT": ["1"],
    "resources1:VGPU": ["1"],
    "resources_A:VCPU": ["0", "2"],
    "resources_A:DISK_GB": ["5"],
    "resources_A:SRIOV_NET_VF": ["1"],
    "trait:HW_CPU_X86_AVX2": ["required", "forbidden"],
    "trait:COMPUTE_SECURITY_TPM_TIS": ["required"],
    "group_policy": ["none", "isolate"],
}
# Conditions that nova adds to every request.
CONFIGURED = {"OWNER_NOVA", "!COMPUTE_STATUS_DISABLED"}

# A parameter -> its values, in order. A refused flavor has the text of the refusal instead.
Request = Mapping[str, Any] | str


def flavors() -> Iterator[dict[str, Any]]:
    """Yield flavors with the amounts alone, with each extra spec, and with each pair of them."""
    yield from map(dict, SIZES)
    specs = [(key, value) for key, values in SPECS.items() for value in values]
    yield from ({**AMOUNTS, key: value} for key, value in specs)
    for (first, value), (second, other) in itertools.combinations(specs, 2):
        if first != second:
            yield {**AMOUNTS, first: value, second: other}


def request_of_nova(flavor: Mapping[str, Any]) -> Request:
    """Return the request that nova's scheduler sends for a flavor."""
    model = flavor.get("hw:mem_encryption_model")
    needs: dict[str, Any] = {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}
    if model in ("amd-sev-snp", "intel-tdx"):
        needs |= {"hw_firmware_stateless": True, "hw_video_model": "none"}
    is_encrypted = flavor.get("hw:mem_encryption") == "true"
    properties = objects.ImageMetaProps(**(needs if is_encrypted else {}))
    image = objects.ImageMeta(id=UUID, name="image", properties=properties)
    described = objects.Flavor(
        id=1, flavorid="f", name="f", is_public=True, disabled=False, vcpu_weight=0,
        rxtx_factor=1.0, vcpus=flavor["vcpus"], memory_mb=flavor["ram"], root_gb=flavor["disk"],
        ephemeral_gb=flavor.get("ephemeral", 0), swap=flavor.get("swap", 0),
        extra_specs={key: value for key, value in flavor.items() if isinstance(value, str)},
    )  # fmt: skip
    try:
        spec = objects.RequestSpec(
            flavor=described, image=image, instance_uuid=UUID, project_id="p", user_id="u",
            numa_topology=hardware.numa_get_constraints(described, image),
            pci_requests=objects.InstancePCIRequests(requests=[]), requested_resources=[],
            num_instances=1, is_bfv=False, availability_zone=None, requested_destination=None,
            force_hosts=None, force_nodes=None, ignore_hosts=None, limits=None, retry=None,
            instance_group=None, scheduler_hints={},
            request_level_params=objects.RequestLevelParams(),
            security_groups=objects.SecurityGroupList(objects=[]),
            requested_networks=objects.NetworkRequestList(objects=[]),
        )  # fmt: skip
        request_filter.process_reqspec(context.RequestContext("u", "p"), spec)
        query = utils.ResourceRequest.from_request_spec(spec).to_querystring()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    # What the image of encrypted memory adds in nova is part of the model here.
    return normalized(parse_qsl(query))


def request_of_client(flavor: Mapping[str, Any]) -> Request:
    """Return the request that the client makes of a flavor."""
    try:
        return normalized(pairs_of(request_of_flavor(flavor)))
    except RequestError as error:
        return str(error)


def normalized(pairs: Iterable[tuple[str, str]]) -> Request:
    """Return the parameters without the number of candidates and the configured conditions."""
    request: dict[str, list[str]] = {}
    for key, value in pairs:
        items = [item for item in value.split(",") if item and item not in CONFIGURED]
        if key != "limit" and items:
            request[key] = sorted({*request.get(key, []), *items})
    return request


def is_announced(flavor: Mapping[str, Any], nova: Request, client: Request) -> bool:
    """Return whether docs/requests.rst announces the difference."""
    if isinstance(nova, str):
        # Combinations that nova's drivers cannot serve, and images that nova cannot encrypt.
        return isinstance(client, str) or not nova.startswith("RequiredMixed")
    if isinstance(client, str):
        contradicts = "another key asks for" in client or "expected without hw:cpu_policy" in client
        return contradicts or ("the group requests no resources" in client)
    return False


def main() -> int:
    """Print the flavors whose requests differ. Return the exit code."""
    logging.disable(logging.CRITICAL)
    conf.CONF([], default_config_files=[])
    objects.register_all()
    # Without a database, all services of the cloud count as new.
    service.get_minimum_version_all_cells = lambda *_, **__: service.SERVICE_VERSION
    compared = refused = differences = 0
    for flavor in flavors():
        nova, client = request_of_nova(flavor), request_of_client(flavor)
        compared += 1
        refused += isinstance(nova, str)
        if nova != client and not is_announced(flavor, nova, client):
            differences += 1
            print(f"{flavor}\n  nova:   {nova}\n  client: {client}")
    print(f"{compared} flavors compared, {refused} refused by nova, {differences} differ")
    return min(differences, 1)


if __name__ == "__main__":
    sys.exit(main())
