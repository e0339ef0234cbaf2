"""Maintenance of hosts: the actions that the strategy plans, with the service over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from keystoneauth1.noauth import NoAuth
from keystoneauth1.session import Session
from oslo_config import cfg
from watcher.applier.loading.default import DefaultActionLoader
from watcher.common.exception import WatcherException
from watcher.decision_engine.loading.default import DefaultStrategyLoader
from watcher.decision_engine.model.element import ComputeNode, Instance
from watcher.decision_engine.model.model_root import ModelRoot

from examples.watcher.placement_maintenance import PlacementMaintenance
from tests.kit.listener import listening
from tests.kit.service import Service, claim, inventories

Parameters = Mapping[str, Any]
PROJECT = "91fffe30-78a0-4152-acd2-8310ff274dc9"
# Kind of an action -> its parameters, except for the UUID of its object.
MEMBERS = {
    "change_nova_service_state": ("resource_name", "state", "disabled_reason"),
    "migrate": ("migration_type", "resource_name", "source_node", "destination_node"),
}
POOL = "00000000-0000-0000-0000-0000000000d1"
RACK = "aaaaaaaa-0000-0000-0000-0000000000a1"


def host_uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-0000000000c{number}"


def instance_uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-00000000001{number}"


@dataclass
class Cloud:
    """The same cloud in the service and in the model of Watcher."""

    service: Service
    # Of keystoneauth1, with the identity of Watcher.
    session: Session
    model: ModelRoot = field(default_factory=ModelRoot)

    def add_host(self, number: int, vcpus: int = 8, **members: str) -> None:
        """Add a host. members: of its node in the model."""
        uuid, name = host_uuid(number), f"compute-{number}"
        body = {"name": f"{name}.example.org", "uuid": uuid}
        self.service.expect(200, "POST", "/resource_providers", body)
        path = f"/resource_providers/{uuid}/inventories"
        self.service.expect(200, "PUT", path, inventories(0, VCPU=vcpus))
        sizes = dict.fromkeys(("memory", "disk", "vcpus"), 0)
        ratios = dict.fromkeys(("memory_ratio", "disk_ratio", "vcpu_ratio"), 1.0)
        reserved = dict.fromkeys(("memory_mb_reserved", "disk_gb_reserved", "vcpu_reserved"), 0)
        fields = {**sizes, **ratios, **reserved, **members}
        self.model.add_node(ComputeNode(uuid=uuid, hostname=name, **fields))

    def add_instance(
        self, number: int, host: int, allocations: Mapping[str, Mapping[str, int]] | None = None,
        state: str = "active",
    ) -> None:  # fmt: skip
        """Add an instance. allocations: default: one VCPU of the host."""
        uuid = instance_uuid(number)
        held = {host_uuid(host): {"VCPU": 1}} if allocations is None else allocations
        if held:
            self.service.expect(204, "PUT", f"/allocations/{uuid}", claim(held))
        instance = Instance(
            uuid=uuid, name=f"instance-{number}", state=state, memory=0, disk=0, vcpus=1,
            metadata={}, project_id=PROJECT, host=f"compute-{host}",
            hypervisor_hostname=f"compute-{host}", created=datetime.now(UTC),
        )  # fmt: skip
        self.model.add_instance(instance)
        self.model.map_instance(instance, self.model.get_node_by_uuid(host_uuid(host)))

    def strategy(self, monkeypatch: pytest.MonkeyPatch, **parameters: object) -> Any:
        """Return a strategy with the model and these parameters."""
        jsonschema.validate(parameters, PlacementMaintenance.get_schema())
        monkeypatch.setattr(PlacementMaintenance, "compute_model", self.model)
        strategy = PlacementMaintenance(cfg.CONF, osc=SimpleNamespace(session=self.session))
        strategy.input_parameters = parameters
        return strategy

    def plan(self, monkeypatch: pytest.MonkeyPatch, **parameters: object) -> list[tuple[str, ...]]:
        """Return the actions, each in the form that the test states."""
        actions = self.strategy(monkeypatch, **parameters).execute().actions
        return [shown(action["action_type"], action["input_parameters"]) for action in actions]


def shown(kind: str, parameters: Parameters) -> tuple[str, ...]:
    """Check an action as Watcher does, and return its most important members."""
    action = DefaultActionLoader().load(name=kind, osc=SimpleNamespace(session=None))
    action.input_parameters = parameters
    assert action.validate_parameters()
    return kind, *(parameters[member] for member in MEMBERS[kind])


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """An empty cloud."""
    roles = {"X-Roles": "admin", "X-Auth-Token": "watcher"}
    with Service(tmp_path) as service, listening(service.application) as url:
        yield Cloud(service, Session(NoAuth(endpoint=url), additional_headers=roles))


DISABLE = ("change_nova_service_state", "compute-1", "disabled", "watcher_maintaining")


def migration(kind: str, instance: int, source: int, destination: int) -> tuple[str, ...]:
    hosts = f"compute-{source}", f"compute-{destination}"
    return "migrate", kind, f"instance-{instance}", *hosts


def refused(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, hosts: Sequence[str]) -> str:
    """Return the error of a plan, which must be empty."""
    strategy = cloud.strategy(monkeypatch, hosts=hosts)
    with pytest.raises(WatcherException) as error:
        strategy.execute()
    assert strategy.solution.actions == []
    return str(error.value)


def test_the_entry_point_loads_the_strategy_for_its_goal() -> None:
    strategy = DefaultStrategyLoader().load("placement_maintenance")
    assert type(strategy).__name__ == "PlacementMaintenance"
    assert strategy.goal.get_name() == "cluster_maintaining"


def test_a_host_is_disabled_before_its_instances_move(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        cloud.add_host(number, vcpus=4)
    cloud.add_instance(1, 1)
    cloud.add_instance(2, 1, {host_uuid(1): {"VCPU": 3}}, state="stopped")
    cloud.add_instance(3, 2)
    assert cloud.plan(monkeypatch, hosts=["compute-1"]) == [
        DISABLE,
        migration("cold", 2, 1, 2),
        migration("live", 1, 1, 3),
    ]


def test_hosts_are_emptied_together(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        cloud.add_host(number)
    cloud.add_instance(1, 1)
    cloud.add_instance(2, 2)
    assert cloud.plan(monkeypatch, hosts=["compute-1", "compute-2"]) == [
        DISABLE,
        ("change_nova_service_state", "compute-2", "disabled", "watcher_maintaining"),
        migration("live", 1, 1, 3),
        migration("live", 2, 2, 3),
    ]


def test_an_empty_host_is_only_disabled(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.add_host(1)
    assert cloud.plan(monkeypatch, hosts=["compute-1"]) == [DISABLE]


def test_the_order_of_the_audit_selects_the_destination(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, vcpus in ((1, 8), (2, 8), (3, 16)):
        cloud.add_host(number, vcpus)
    cloud.add_instance(1, 1)
    order = [{"by": "free", "resource_class": "VCPU", "first": "most"}]
    plan = cloud.plan(monkeypatch, hosts=["compute-1"], order=order)
    assert plan == [DISABLE, migration("live", 1, 1, 3)]


@pytest.mark.parametrize("members", [{"status": "disabled"}, {"state": "down"}])
def test_an_unusable_host_is_no_destination(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, members: Mapping[str, Any]
) -> None:
    cloud.add_host(1)
    cloud.add_host(2, **members)
    cloud.add_host(3)
    cloud.add_instance(1, 1)
    assert cloud.plan(monkeypatch, hosts=["compute-1"]) == [DISABLE, migration("live", 1, 1, 3)]


def test_an_instance_on_shared_storage_moves_to_a_host_of_the_storage(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2, 3):
        cloud.add_host(number)
    service = cloud.service
    service.expect(200, "POST", "/resource_providers", {"name": "pool", "uuid": POOL})
    path = f"/resource_providers/{POOL}"
    service.expect(200, "PUT", f"{path}/inventories", inventories(0, DISK_GB=100))
    traits = {"traits": ["MISC_SHARES_VIA_AGGREGATE"], "resource_provider_generation": 1}
    service.expect(200, "PUT", f"{path}/traits", traits)
    for uuid, generation in ((host_uuid(1), 1), (host_uuid(3), 1), (POOL, 2)):
        body = {"aggregates": [RACK], "resource_provider_generation": generation}
        service.expect(200, "PUT", f"/resource_providers/{uuid}/aggregates", body)
    cloud.add_instance(1, 1, {host_uuid(1): {"VCPU": 1}, POOL: {"DISK_GB": 40}})
    assert cloud.plan(monkeypatch, hosts=["compute-1"]) == [DISABLE, migration("live", 1, 1, 3)]


def test_a_host_that_cannot_be_emptied_stays_as_it_is(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.add_host(1)
    cloud.add_host(2, vcpus=1)
    cloud.add_instance(1, 1)
    cloud.add_instance(2, 1, {host_uuid(1): {"VCPU": 2}})
    error = refused(cloud, monkeypatch, ["compute-1"])
    assert error.startswith(f"the hosts cannot be emptied: {instance_uuid(2)}: ")
    assert "1 has no provider with 2 VCPU free (the most is 1)" in error


def test_a_simulation_beyond_the_limit_on_work_is_no_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = Service(tmp_path, placement={"max_simulation_steps": 1})
    roles = {"X-Roles": "admin", "X-Auth-Token": "watcher"}
    with limited as service, listening(service.application) as url:
        cloud = Cloud(service, Session(NoAuth(endpoint=url), additional_headers=roles))
        for number in range(1, 6):
            cloud.add_host(number)
        for number in range(1, 6):
            cloud.add_instance(number, 1)
        error = refused(cloud, monkeypatch, ["compute-1"])
    assert ": the limit on work was reached" in error


def test_consumers_and_instances_must_agree(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.add_host(1)
    cloud.add_host(2)
    cloud.add_instance(1, 1, {})
    error = refused(cloud, monkeypatch, ["compute-1"])
    assert error.startswith(f"instances have no allocations on their hosts: {instance_uuid(1)};")
    migrating = instance_uuid(9)
    held = claim({host_uuid(1): {"VCPU": 1}})
    cloud.service.expect(204, "PUT", f"/allocations/{migrating}", held)
    error = refused(cloud, monkeypatch, ["compute-1"])
    assert error.startswith(f"consumers of the hosts are no instances of them: {migrating};")


def test_a_destination_must_be_in_the_scope_of_the_audit(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.add_host(1)
    cloud.add_host(2)
    cloud.add_instance(1, 1)
    cloud.model.remove_node(cloud.model.get_node_by_uuid(host_uuid(2)))
    error = refused(cloud, monkeypatch, ["compute-1"])
    assert f"would move to {host_uuid(2)}, which is no host in the scope" in error


def test_a_service_that_refuses_the_simulation_fails_the_audit(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    cloud.add_host(1)
    cloud.session.additional_headers["X-Roles"] = "reader"
    error = refused(cloud, monkeypatch, ["compute-1"])
    assert error.startswith("the simulation of the maintenance failed: ")


@pytest.mark.parametrize("parameters", [{}, {"hosts": []}, {"hosts": "compute-1"}, {"host": "x"}])
def test_an_audit_must_name_hosts(parameters: Parameters) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(parameters, PlacementMaintenance.get_schema())
