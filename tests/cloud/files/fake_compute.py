"""A compute driver for nova that pretends to run instances, copied into its package."""

from __future__ import annotations

import json
from typing import Any

from nova.virt import fake, node


class FakeCompute(fake.FakeDriver):  # type: ignore[misc]
    """nova's fake driver on a small host with devices, whose identity is kept over restarts."""

    vcpus = 8
    memory_mb = 32768
    local_gb = 200

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        devices = [
            {
                "address": f"0000:8{number}:00.0", "vendor_id": "8086", "product_id": "1572",
                "status": "available", "dev_type": "type-PCI", "parent_addr": None,
                "numa_node": None, "label": "label_8086_1572",
            }
            for number in (1, 2)
        ]  # fmt: skip
        uuid = node.get_local_node_uuid()
        return {**resources, "uuid": uuid, "pci_passthrough_devices": json.dumps(devices)}

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        return {node.get_local_node_uuid(): name for name in self.get_available_nodes()}

    def update_provider_tree(
        self, provider_tree: Any, nodename: str, allocations: Any = None
    ) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        inventory = provider_tree.data(nodename).inventory
        more = {"PCPU": {"total": 4, "max_unit": 4}, "CUSTOM_BAREMETAL": {"total": 1}}
        provider_tree.update_inventory(nodename, {**inventory, **more})
        # A card, and what it consists of.
        card, gpu = f"{nodename}_card", f"{nodename}_gpu"
        for name, parent in ((card, nodename), (gpu, card)):
            if not provider_tree.exists(name):
                provider_tree.new_child(name, parent)
        provider_tree.update_inventory(card, {"CUSTOM_CARD": {"total": 1}})
        provider_tree.add_traits(card, "CUSTOM_PARTITIONED")
        provider_tree.update_inventory(gpu, {"VGPU": {"total": 2, "max_unit": 2}})

    def post_live_migration(
        self, context: Any, instance: Any, block_device_info: Any, migrate_data: Any = None
    ) -> None:
        """Forget the instance; nova's driver would refuse its return."""
        self.destroy(context, instance, None)
