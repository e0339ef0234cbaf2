"""Requests to nova, and the clients of the other services."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from keystoneauth1.exceptions import NotFound

from tests.cloud.machine import Machine

WAIT = 300  # seconds for nova to finish what it has begun
CLIENTS = 8  # that boot servers at once
FLAVORS: Mapping[str, tuple[int, int, Mapping[str, str]]] = {
    "small": (1, 512, {}),
    "medium": (2, 1024, {}),
    "wide": (8, 1024, {}),
    "gpu": (1, 512, {"resources:VGPU": "1"}),
    "card": (1, 512, {"resources:CUSTOM_CARD": "1"}),
    "pci": (1, 512, {"pci_passthrough:alias": "nic:1"}),
    "pinned": (2, 512, {"hw:cpu_policy": "dedicated"}),
    # As ironic's flavors.
    "whole": (
        1,
        512,
        {"resources:CUSTOM_BAREMETAL": "1"}
        | dict.fromkeys(("resources:VCPU", "resources:MEMORY_MB", "resources:DISK_GB"), "0"),
    ),
    "huge": (64, 512, {}),
}

Server = Mapping[str, Any]


class Nova:
    """The cloud as its users and administrators see it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.compute = machine.adapter("compute", "2.96")
        self.placement = machine.adapter("placement", "1.38")
        self._numbers = itertools.count(1)
        self.image = ""

    @property
    def database(self) -> str:
        """The URL of nova's database."""
        return f"{self.machine.values['database']}/nova"

    def prepare(self) -> None:
        """Create the image and the flavors, and wait for the computes."""
        # Lists of ports fail until a query has defined the relations of neutron's models.
        self.machine.adapter("network").get("/v2.0/networks")
        image = self.machine.adapter("image")
        shape = {"name": "image", "disk_format": "raw", "container_format": "bare"}
        self.image = image.post("/v2/images", json=shape).json()["id"]
        image.put(
            f"/v2/images/{self.image}/file", data=b"image",
            headers={"Content-Type": "application/octet-stream"},
        )  # fmt: skip
        for name, (vcpus, memory_mb, specs) in FLAVORS.items():
            flavor = {"id": name, "name": name, "vcpus": vcpus, "ram": memory_mb, "disk": 1}
            self.compute.post("/flavors", json={"flavor": flavor})
            if specs:
                self.compute.post(f"/flavors/{name}/os-extra_specs", json={"extra_specs": specs})
        self.await_computes(self.machine.computes)
        self.machine.manage("cell_v2", "discover_hosts")

    def await_computes(self, hosts: Iterable[str]) -> None:
        """Wait until computes are up."""
        self.until("computes are up", lambda: set(hosts) <= {
            name for name, entry in self.services().items() if entry["state"] == "up"
        })  # fmt: skip

    def services(self) -> dict[str, Mapping[str, Any]]:
        """The nova-compute services by host."""
        listed = self.compute.get("/os-services?binary=nova-compute").json()["services"]
        return {entry["host"]: entry for entry in listed}

    def until(self, what: str, condition: Any) -> None:
        """Wait for a condition.  Raises TimeoutError."""
        deadline = time.monotonic() + WAIT
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            time.sleep(0.5)

    def boot(self, flavor: str = "small", count: int = 1, **more: Any) -> str:
        """Request a server, or several; returns the id of the first."""
        hints = more.pop("hints", {})
        server = {
            "name": f"server-{next(self._numbers)}", "imageRef": self.image, "flavorRef": flavor,
            "networks": "none", "min_count": count, "max_count": count, **more,
        }  # fmt: skip
        body = {"server": server, "os:scheduler_hints": hints}
        return str(self.compute.post("/servers", json=body).json()["server"]["id"])

    def boot_many(self, number: int, flavor: str = "small", **more: Any) -> list[str]:
        """Request servers at once, and wait until all have been built or refused."""
        with ThreadPoolExecutor(CLIENTS) as pool:
            ids = list(pool.map(lambda _: self.boot(flavor, **more), range(number)))
        self.settle()
        return ids

    def servers(self, ids: Sequence[str] | None = None) -> dict[str, Server]:
        """The servers by id: all, or some, in the order of their creation."""
        listed = self.compute.get("/servers/detail?all_tenants=1&sort_key=created_at&sort_dir=asc")
        entries = {entry["id"]: entry for entry in listed.json()["servers"]}
        return entries if ids is None else {key: entries[key] for key in ids}

    def settle(self) -> None:
        """Wait until nova works on no server."""
        self.until("no task", lambda: not any(
            entry["OS-EXT-STS:task_state"] or entry["status"] in {"BUILD", "MIGRATING"}
            for entry in self.servers().values()
        ))  # fmt: skip

    def act(self, ids: Iterable[str], action: str, status: str, values: Any = None) -> None:
        """Request an action of servers, all of which must reach the status."""
        ids = list(ids)
        paths = [f"/servers/{each}/action" for each in ids]
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(partial(self.compute.post, json={action: values}), paths))
        self.until(f"{action} leads to {status}", lambda: all(
            each["status"] in {status, "ERROR"} and not each["OS-EXT-STS:task_state"]
            for each in self.servers(ids).values()
        ))  # fmt: skip
        self.expect(ids, status)

    def expect(self, ids: Sequence[str], status: str) -> None:
        """Fail unless all servers have a status."""
        servers = self.servers(ids).values()
        wrong = Counter(
            f"{each['status']} {each.get('fault', {}).get('message', '')[:200]}"
            for each in servers if each["status"] != status
        )  # fmt: skip
        assert not wrong, f"not {status}: {dict(wrong)}"

    def hosts(self, ids: Sequence[str] | None = None) -> list[str]:
        """The hosts of servers, in the order of the servers."""
        return [str(each["OS-EXT-SRV-ATTR:host"]) for each in self.servers(ids).values()]

    def on(self, host: str) -> list[str]:
        """The servers of a host."""
        return [key for key, name in zip(self.servers(), self.hosts(), strict=True) if name == host]

    def delete(self, ids: Iterable[str]) -> None:
        """Delete servers and wait until they are gone."""
        ids = list(ids)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self._delete, ids))
        self.until("servers are deleted", lambda: not set(ids) & set(self.servers()))

    def _delete(self, server: str) -> None:
        try:
            self.compute.delete(f"/servers/{server}")
        except NotFound:
            return

    def set_service(self, host: str, **values: Any) -> bool:
        """Change a nova-compute service; returns whether nova allows it."""
        path = f"/os-services/{self.services()[host]['id']}"
        return bool(self.compute.put(path, json=values, raise_exc=False).ok)

    def restart_compute(self, host: str) -> None:
        """Stop a compute and start it again; returns when it is up."""
        self.machine.services[host].stop()
        self.machine.add_compute(host)
        before = self.services()[host]["updated_at"]
        self.until("compute is up", partial(self._is_newer, host, before))

    def _is_newer(self, host: str, before: str) -> bool:
        entry = self.services()[host]
        return bool(entry["updated_at"] != before and entry["state"] == "up")
