"""What placement must hold by nova's database, and what it holds by its API."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa
from keystoneauth1.adapter import Adapter

# Consumer -> provider -> class -> amount.
Allocations = dict[str, dict[str, dict[str, int]]]
SETTLE = 60  # seconds until nova has removed what it replaced
INSTANCES = """
  SELECT i.uuid, i.node, i.vm_state, i.project_id, i.user_id, e.flavor, m.uuid, m.source_node
  FROM instances i JOIN instance_extra e ON e.instance_uuid = i.uuid
  LEFT JOIN migrations m ON m.instance_uuid = i.uuid AND m.status = 'finished'
    AND i.vm_state = 'resized'
  WHERE i.deleted = 0 AND i.node IS NOT NULL
"""
# The child provider of each host that has a class (`files/fake_compute.py`).
CHILDREN = {"VGPU": "_gpu", "CUSTOM_CARD": "_card"}
DEVICES = """
  SELECT d.instance_uuid, n.hypervisor_hostname, d.address
  FROM pci_devices d JOIN compute_nodes n ON n.id = d.compute_node_id
  WHERE d.deleted = 0 AND d.instance_uuid IS NOT NULL
"""


def resources_of(flavor: Mapping[str, Any], node: str) -> dict[str, dict[str, int]]:
    """Return what a flavor occupies on a host."""
    data = flavor["nova_object.data"]
    amounts = {
        "VCPU": data["vcpus"],
        "MEMORY_MB": data["memory_mb"],
        "DISK_GB": data["root_gb"] + data["ephemeral_gb"],
    }
    if data["extra_specs"].get("hw:cpu_policy") == "dedicated":
        amounts["PCPU"] = amounts.pop("VCPU")
    for name, value in data["extra_specs"].items():
        if name.startswith("resources:"):
            amounts[name.partition(":")[2]] = int(value)
    resources: dict[str, dict[str, int]] = defaultdict(dict)
    for name, amount in amounts.items():
        if amount:
            resources[node + CHILDREN.get(name, "")][name] = amount
    return dict(resources)


def required(url: str) -> tuple[Allocations, dict[str, tuple[str, str]]]:
    """Return the allocations and the owners of all consumers by nova's database."""
    allocations: Allocations = {}
    owners = {}
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as conn:
        for row in conn.exec_driver_sql(INSTANCES):
            instance, node, _state, project, user, flavors, migration, source = row
            flavor = json.loads(flavors)
            allocations[instance] = resources_of(flavor["cur"], node)
            owners[instance] = (project, user)
            if migration:
                allocations[migration] = resources_of(flavor["old"] or flavor["cur"], source)
                owners[migration] = (project, user)
        for instance, node, address in conn.exec_driver_sql(DEVICES):
            allocations[instance][f"{node}_{address}"] = {"CUSTOM_NIC": 1}
    return allocations, owners


class View:
    """What the placement service holds."""

    def __init__(self, placement: Adapter) -> None:
        self.providers = providers(placement)
        self.allocations: Allocations = defaultdict(dict)
        # Provider and class -> used amount and capacity.
        self.used: dict[tuple[str, str], tuple[int, int]] = {}
        for name, uuid in self.providers.items():
            path = f"/resource_providers/{uuid}"
            held = placement.get(f"{path}/allocations").json()["allocations"]
            for consumer, entry in held.items():
                self.allocations[consumer][name] = entry["resources"]
            used = placement.get(f"{path}/usages").json()["usages"]
            for kind, entry in placement.get(f"{path}/inventories").json()["inventories"].items():
                capacity = int((entry["total"] - entry["reserved"]) * entry["allocation_ratio"])
                self.used[name, kind] = (used[kind], capacity)
        self.owners = {}
        for consumer in self.allocations:
            entry = placement.get(f"/allocations/{consumer}").json()
            self.owners[consumer] = (entry.get("project_id"), entry.get("user_id"))

    def deviations(self, url: str) -> Iterator[str]:
        """Yield each difference to nova's database, and each provider beyond its capacity."""
        allocations, owners = required(url)
        for consumer in sorted(allocations.keys() | self.allocations.keys()):
            holds, needs = self.allocations.get(consumer), allocations.get(consumer)
            if holds != needs:
                yield f"{consumer}: placement has {holds or 'nothing'}, nova {needs or 'nothing'}"
            elif self.owners[consumer] != owners[consumer]:
                yield f"{consumer}: owner {self.owners[consumer]} instead of {owners[consumer]}"
        sums: dict[tuple[str, str], int] = defaultdict(int)
        for by_provider in self.allocations.values():
            for provider, amounts in by_provider.items():
                for kind, amount in amounts.items():
                    sums[provider, kind] += amount
        for (provider, kind), (used, capacity) in self.used.items():
            if used != sums[provider, kind]:
                yield f"{provider} {kind}: usage {used}, allocations {sums[provider, kind]}"
            if used > capacity:
                yield f"{provider} {kind}: {used} of {capacity} are allocated"


def providers(placement: Adapter) -> dict[str, str]:
    """Return the uuid of each provider by its name."""
    listed = placement.get("/resource_providers").json()["resource_providers"]
    return {entry["name"]: entry["uuid"] for entry in listed}


def deviations(placement: Adapter, url: str) -> list[str]:
    """Return the differences that remain after nova had time to finish."""
    deadline = time.monotonic() + SETTLE
    while True:
        differences = list(View(placement).deviations(url))
        if not differences or time.monotonic() > deadline:
            return differences
        time.sleep(1)
