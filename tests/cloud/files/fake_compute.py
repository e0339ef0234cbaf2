"""A compute driver for nova that pretends to run instances, copied into its package."""

from __future__ import annotations

from typing import Any

from nova.virt import fake, node


class FakeCompute(fake.FakeDriver):  # type: ignore[misc]
    """nova's fake driver on a small host with a GPU, whose identity is kept over restarts."""

    vcpus = 8
    memory_mb = 32768
    local_gb = 200

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        return {**resources, "uuid": node.get_local_node_uuid()}

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        return {node.get_local_node_uuid(): name for name in self.get_available_nodes()}

    def update_provider_tree(
        self, provider_tree: Any, nodename: str, allocations: Any = None
    ) -> None:
        super().update_provider_tree(provider_tree, nodename, allocations)
        gpu = f"{nodename}_gpu"
        if not provider_tree.exists(gpu):
            provider_tree.new_child(gpu, nodename)
        provider_tree.update_inventory(gpu, {"VGPU": {"total": 2, "max_unit": 2}})
