"""Clients that read and write whole trees by `/provider_trees`."""

from __future__ import annotations

import uuid as uuids
from typing import Any

from bench.clients import NEW, Client, Provision
from tests.kit.cloud import Cloud

HOST_PARTS = {
    "inventories": {name: {"total": 64} for name in ("VCPU", "MEMORY_MB", "DISK_GB")},
    "traits": ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "HW_CPU_X86_SSE"],
    "aggregates": [str(uuids.UUID(int=1))],
}


class ProvisionAtOnce(Provision):
    """Creates a host in one request. A server without 2.0 receives the four writes instead."""

    def __init__(self, port: int, cloud: Cloud, what: str, number: int) -> None:
        super().__init__(port, cloud, what, number)
        self._has_trees = self._send("GET", "/", None, NEW).status == 200

    def turn(self) -> None:
        if not self._has_trees:
            super().turn()
            return
        uuid = str(uuids.uuid4())
        self._hosts.append(uuid)
        entry = {"uuid": uuid, "name": uuid, "parent_provider_uuid": None, "generation": None}
        answer = self._put(uuid, [{**entry, **HOST_PARTS}])
        assert answer == 200

    def _put(self, root: str, providers: list[dict[str, Any]]) -> int:
        path = f"/provider_trees/{root}"
        return self._send("PUT", path, {"providers": providers}, NEW).status


class PutNewTree(ProvisionAtOnce):
    """Creates a tree of `what` providers, each with an inventory and a trait."""

    def turn(self) -> None:
        root, *others = [str(uuids.uuid4()) for _ in range(int(self._what))]
        providers = [
            {
                "uuid": uuid, "name": uuid, "parent_provider_uuid": parent, "generation": None,
                "inventories": {"VGPU": {"total": 4}}, "traits": ["HW_CPU_X86_AVX"],
            }
            for uuid, parent in [(root, None), *((other, root) for other in others)]
        ]  # fmt: skip
        self._hosts += [*others, root]
        assert self._put(root, providers) == 200


class PutUnchangedTree(Client):
    """Writes the tree of a provider without changes."""

    def prepare(self) -> None:
        path = f"/provider_trees/{self._what}"
        self._body = {"providers": self._send("GET", path, version=NEW).body["providers"]}

    def turn(self) -> None:
        answer = self._send("PUT", f"/provider_trees/{self._what}", self._body, NEW)
        assert {each["change"] for each in answer.body["providers"].values()} == {"unchanged"}


TREE_KINDS: dict[str, type[Client]] = {
    "provision at once": ProvisionAtOnce,
    "put new tree": PutNewTree,
    "put unchanged tree": PutUnchangedTree,
}
