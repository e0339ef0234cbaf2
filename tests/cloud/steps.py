"""The steps of the scenario, each of which leaves placement equal to nova's database."""

from __future__ import annotations

import json
import signal
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.cloud.nova import Nova
from tests.cloud.state import deviations, providers

# Returns what the report says of the step.
Step = Callable[[Nova, int], str | None]
STEPS: list[Step] = []
SMALL: list[Step] = []  # those of the small cloud


def step(function: Step) -> Step:
    """Add a step of the full scenario."""
    STEPS.append(function)
    return function


def small(function: Step) -> Step:
    """Add a step of both scenarios."""
    SMALL.append(function)
    return step(function)


@step
def zones(nova: Nova, size: int) -> None:
    """Availability zones and an aggregate of a tenant, on a host without servers"""
    host = nova.machine.computes[-1]
    body = {"aggregate": {"name": "zone", "availability_zone": "zone"}}
    aggregate = nova.compute.post("/os-aggregates", json=body).json()["aggregate"]
    path = f"/os-aggregates/{aggregate['id']}/action"
    nova.compute.post(path, json={"add_host": {"host": host}})
    provider = providers(nova.placement)[host]
    held = nova.placement.get(f"/resource_providers/{provider}/aggregates").json()["aggregates"]
    assert held == [aggregate["uuid"]], held
    inside = nova.boot_many(2, availability_zone="zone")
    nova.expect(inside, "ACTIVE")
    assert set(nova.hosts(inside)) == {host}
    outside = nova.boot_many(2, availability_zone="nova")
    assert host not in nova.hosts(outside)
    metadata = {"filter_tenant_id": nova.compute.get_project_id()}
    nova.compute.post(path, json={"set_metadata": {"metadata": metadata}})
    assert set(nova.hosts(nova.boot_many(3))) == {host}
    nova.delete(nova.servers())
    nova.compute.post(path, json={"remove_host": {"host": host}})
    nova.machine.manage("placement", "sync_aggregates")
    nova.compute.delete(f"/os-aggregates/{aggregate['id']}")
    held = nova.placement.get(f"/resource_providers/{provider}/aggregates").json()["aggregates"]
    assert held == [], held


@small
def boot_at_once(nova: Nova, size: int) -> str:
    """Servers of eight clients at once"""
    began = time.monotonic()
    ids = nova.boot_many(size)
    nova.expect(ids, "ACTIVE")
    return f"{size} in {time.monotonic() - began:.0f} s"


@small
def boot_during_a_reload(nova: Nova, size: int) -> None:
    """Servers while placement reloads (SIGHUP)"""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(nova.boot_many, size // 4)  # the rest is room for the evacuation
        time.sleep(1)
        nova.machine.services["placement"].send(signal.SIGHUP)
        nova.expect(future.result(), "ACTIVE")


@step
def multi_create(nova: Nova, size: int) -> None:
    """Several servers by one request"""
    before = set(nova.servers())
    nova.boot(count=5)
    nova.settle()
    nova.expect(sorted(set(nova.servers()) - before), "ACTIVE")


@small
def resize_and_confirm(nova: Nova, size: int) -> None:
    """Resize, before it is confirmed"""
    nova.act(list(nova.servers())[:3], "resize", "VERIFY_RESIZE", {"flavorRef": "medium"})


@small
def confirm(nova: Nova, size: int) -> None:
    """Resize, confirmed"""
    nova.act(list(nova.servers())[:3], "confirmResize", "ACTIVE")


@step
def resize_and_revert(nova: Nova, size: int) -> None:
    """Resize, reverted"""
    ids = list(nova.servers())[3:6]
    hosts = nova.hosts(ids)
    nova.act(ids, "resize", "VERIFY_RESIZE", {"flavorRef": "medium"})
    nova.act(ids, "revertResize", "ACTIVE")
    assert nova.hosts(ids) == hosts


@step
def migrate(nova: Nova, size: int) -> None:
    """Cold migration, confirmed"""
    ids = list(nova.servers())[:3]
    before = nova.hosts(ids)
    nova.act(ids, "migrate", "VERIFY_RESIZE")
    nova.act(ids, "confirmResize", "ACTIVE")
    assert all(old != new for old, new in zip(before, nova.hosts(ids), strict=True))


@small
def live_migrate(nova: Nova, size: int) -> None:
    """Live migration"""
    ids = list(nova.servers())[:4]
    before = nova.hosts(ids)
    nova.act(ids, "os-migrateLive", "ACTIVE", {"host": None, "block_migration": "auto"})
    assert all(old != new for old, new in zip(before, nova.hosts(ids), strict=True))


@small
def evacuate(nova: Nova, size: int) -> str:
    """Evacuation of a host, which then returns"""
    host = nova.machine.computes[0]
    ids = nova.on(host)
    nova.machine.services[host].stop(signal.SIGKILL)
    assert nova.set_service(host, forced_down=True)
    nova.act(ids, "evacuate", "SHUTOFF", {})
    nova.act(ids, "os-start", "ACTIVE")
    assert host not in nova.hosts(ids)
    nova.machine.add_compute(host)
    # Refused until the compute has removed what was evacuated from it.
    nova.until("the host is up", lambda: nova.set_service(host, forced_down=False))
    nova.await_computes([host])
    return f"{len(ids)} servers"


@small
def shelve(nova: Nova, size: int) -> None:
    """Shelve and offload"""
    ids = list(nova.servers())[:2]
    nova.act(ids, "shelve", "SHELVED")
    nova.act(ids, "shelveOffload", "SHELVED_OFFLOADED")


@small
def unshelve(nova: Nova, size: int) -> None:
    """Unshelve"""
    nova.act(list(nova.servers())[:2], "unshelve", "ACTIVE")


@step
def rebuild(nova: Nova, size: int) -> None:
    """Rebuild"""
    nova.act(list(nova.servers())[:2], "rebuild", "ACTIVE", {"imageRef": nova.image})


@step
def server_groups(nova: Nova, size: int) -> None:
    """Server groups: affinity, and anti-affinity until no host is left"""
    nova.delete(list(nova.servers())[size // 2 :])  # no host is full in this step and the next ones
    number = len(nova.machine.computes)
    members = []
    for policy, hosts in (("affinity", 1), ("anti-affinity", number)):
        body = {"server_group": {"name": policy, "policy": policy}}
        created = nova.compute.post("/os-server-groups", json=body).json()["server_group"]
        # One at a time: after three races nova gives up a server.
        hints = {"group": created["id"]}
        ids = [nova.boot_many(1, hints=hints)[0] for _ in range(number)]
        nova.expect(ids, "ACTIVE")
        assert len(set(nova.hosts(ids))) == hosts
        members += ids
    nova.expect(nova.boot_many(1, hints=hints), "ERROR")
    nova.delete(members)  # which cannot leave their hosts, of which placement knows nothing


@step
def disabled_compute(nova: Nova, size: int) -> None:
    """A disabled compute gets no server"""
    host = nova.machine.computes[1]
    before = len(nova.on(host))
    provider = providers(nova.placement)[host]
    assert nova.set_service(host, status="disabled")
    nova.until("the trait is set", lambda: "COMPUTE_STATUS_DISABLED" in nova.placement.get(
        f"/resource_providers/{provider}/traits").json()["traits"])  # fmt: skip
    nova.expect(nova.boot_many(6), "ACTIVE")
    assert len(nova.on(host)) == before
    assert nova.set_service(host, status="enabled")


@step
def deleted_compute(nova: Nova, size: int) -> None:
    """A further compute, whose service is then deleted"""
    nova.machine.add_compute("spare")
    nova.until("the compute registers", lambda: "spare" in nova.services())
    nova.await_computes(["spare"])
    nova.machine.manage("cell_v2", "discover_hosts")
    nova.until("the provider exists", lambda: "spare" in providers(nova.placement))
    nova.machine.services["spare"].stop()
    nova.compute.delete(f"/os-services/{nova.services()['spare']['id']}")
    assert not any(name.startswith("spare") for name in providers(nova.placement))


@step
def heal_allocations(nova: Nova, size: int) -> None:
    """nova-manage placement heal_allocations"""
    for server in nova.on(nova.machine.computes[0])[:3]:
        nova.placement.delete(f"/allocations/{server}")
    nova.machine.manage("placement", "heal_allocations")


@step
def audit(nova: Nova, size: int) -> None:
    """nova-manage placement audit --delete"""
    host = providers(nova.placement)[nova.machine.computes[0]]
    body = {
        "allocations": {host: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
        "consumer_generation": None, "consumer_type": "INSTANCE",
    }  # fmt: skip
    orphan = str(uuid.uuid4())
    nova.placement.put(f"/allocations/{orphan}", json=body)
    try:
        nova.machine.manage("placement", "audit", "--verbose", "--delete")
    except RuntimeError as error:  # its exit code states that something was deleted
        assert f"Deleted allocations for consumer UUID {orphan}" in str(error)  # noqa: PT017


@step
def provider_config(nova: Nova, size: int) -> None:
    """A provider.yaml with inventory and a trait"""
    host = nova.machine.computes[2]
    config = {
        "meta": {"schema_version": "1.0"},
        "providers": [{
            "identification": {"uuid": "$COMPUTE_NODE"},
            "inventories": {"additional": [{"CUSTOM_LICENSE": {"total": 3}}]},
            "traits": {"additional": ["CUSTOM_LICENSED"]},
        }],
    }  # fmt: skip
    path = nova.machine.home / "nova" / host / "provider_config/provider.yaml"
    path.write_text(json.dumps(config))
    nova.restart_compute(host)
    provider = f"/resource_providers/{providers(nova.placement)[host]}"
    nova.until("the trait is set", lambda: "CUSTOM_LICENSED" in nova.placement.get(
        f"{provider}/traits").json()["traits"])  # fmt: skip
    inventory = nova.placement.get(f"{provider}/inventories").json()["inventories"]
    assert inventory["CUSTOM_LICENSE"]["total"] == 3


@step
def ratios(nova: Nova, size: int) -> None:
    """A ratio that an operator sets remains"""
    host = nova.machine.computes[0]
    path = f"/resource_providers/{providers(nova.placement)[host]}/inventories/VCPU"
    inventory = nova.placement.get(path).json()
    assert inventory["allocation_ratio"] == 4.0, inventory
    nova.placement.put(path, json={**inventory, "allocation_ratio": 5.0})
    nova.restart_compute(host)
    time.sleep(25)  # longer than [DEFAULT] update_resources_interval
    inventory = nova.placement.get(path).json()
    assert inventory["allocation_ratio"] == 5.0, inventory
    nova.placement.put(path, json={**inventory, "allocation_ratio": 4.0})


def until_none_is_left(flavor: str, on_each_host: int, what: str) -> None:
    """Add a step that boots servers of a flavor, more than fit, which are then deleted."""

    def boot(nova: Nova, size: int) -> str:
        fits = on_each_host * len(nova.machine.computes)
        ids = nova.boot_many(fits + 2, flavor)
        # Nova gives a server up that has lost three races.
        for _ in range(4):
            ids += nova.boot_many(1, flavor)
        statuses = Counter(each["status"] for each in nova.servers(ids).values())
        wrong = deviations(nova.placement, nova.database)
        nova.delete(ids)
        assert not wrong, wrong
        assert statuses["ACTIVE"] == fits, statuses
        return f"{fits} of {len(ids)}"

    boot.__name__, boot.__doc__ = f"until_no_{flavor}", f"{what}, until none is left"
    step(boot)


until_none_is_left("gpu", 2, "A device of a child provider")
until_none_is_left("pci", 2, "PCI devices in placement")
until_none_is_left("pinned", 2, "Pinned processors")
until_none_is_left("whole", 1, "Whole hosts, with a flavor like those of ironic")


@small
def delete(nova: Nova, size: int) -> None:
    """Delete all"""
    nova.delete(nova.servers())


@small
def until_no_valid_host(nova: Nova, size: int) -> str:
    """Servers at once until "No valid host": as many as fit"""
    fits = 4 * len(nova.machine.computes)
    servers = nova.servers(nova.boot_many(fits + fits // 2, "wide"))
    statuses = Counter(each["status"] for each in servers.values())
    most = max(len(nova.on(host)) for host in nova.machine.computes)
    return f"{statuses['ACTIVE']} of {fits}, at most {most} on a host, of 4"


@small
def delete_again(nova: Nova, size: int) -> None:
    """Delete all, and nothing remains"""
    nova.delete(nova.servers())
