"""A strategy of OpenStack Watcher that empties hosts for a maintenance.

`POST /simulations` of the placement service decides where each instance moves, with all resource
classes, devices and shared storage of its allocations. If an instance has no other host, the audit
fails before anything is changed. README.rst describes how to install and use the strategy.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from keystoneauth1.loading import load_adapter_from_conf_options
from oslo_config import cfg
from watcher.common.exception import WatcherException
from watcher.decision_engine.model.element import InstanceState, ServiceState
from watcher.decision_engine.strategy.strategies import base

from falcon_placement_client import ClientError, ReportClient
from falcon_placement_client.simulations import JsonChange, JsonSimulation, Move, SimulationResult

# Objects of Watcher's model of the cloud. Their UUIDs are those of nova, and of root providers.
Node = Any
Instance = Any


class PlacementMaintenance(base.HostMaintenanceBaseStrategy):  # type: ignore[misc]  # untyped
    """Disables hosts and moves their instances to the hosts of a simulation."""

    @classmethod
    def get_name(cls) -> str:
        """Return the name, which is also that of the entry point."""
        return "placement_maintenance"

    @classmethod
    def get_display_name(cls) -> str:
        """Return the name for operators."""
        return "Maintenance of hosts with placement"

    @classmethod
    def get_translatable_display_name(cls) -> str:
        """Return the name for operators, before its translation."""
        return cls.get_display_name()

    @classmethod
    def get_schema(cls) -> Mapping[str, Any]:
        """Return the schema of the parameters of an audit."""
        name = {"type": "string", "minLength": 1}
        return {
            "type": "object",
            "properties": {
                "hosts": {
                    "description": "names of the compute services whose hosts are emptied together",
                    "type": "array",
                    "items": name,
                    "minItems": 1,
                    "uniqueItems": True,
                },
                "order": {
                    "description": "order of the destinations, as in POST /simulations",
                    "type": "array",
                    "default": [],
                },
            },
            "required": ["hosts"],
            "additionalProperties": False,
        }

    @property
    def placement(self) -> ReportClient:
        """The placement service, with the identity and `[placement]` of Watcher."""
        session, service = self.osc.session, "placement"
        return ReportClient(
            load_adapter_from_conf_options(
                cfg.CONF, "placement", session=session, service_type=service
            )
        )

    def pre_execute(self) -> None:
        """Check that there is a model of the cloud."""
        self._pre_execute()

    def do_execute(self, audit: object = None) -> None:
        """Plan to disable the hosts, and to move their instances.

        Raises:
            WatcherException: an instance cannot be moved, or the model and the allocations differ.
        """
        model = self.compute_model
        hosts = [model.get_node_by_name(name) for name in self.input_parameters["hosts"]]
        homes = {each.uuid: host for host in hosts for each in model.get_node_instances(host)}
        moves = self._simulate(hosts)
        _check_consumers({move["consumer"] for move in moves}, homes)
        migrations = list(self._migrations(moves))
        for host in hosts:
            self.solution.add_action(
                action_type="change_nova_service_state",
                resource_id=host.uuid,
                input_parameters={
                    "state": ServiceState.DISABLED.value,
                    "disabled_reason": self.REASON_FOR_MAINTAINING,
                    "resource_name": host.hostname,
                },
            )
        for instance, destination in migrations:
            is_active = instance.state == InstanceState.ACTIVE.value
            kind = "live" if is_active else "cold"
            self.add_action_migrate(instance, kind, homes[instance.uuid], destination)

    def post_execute(self) -> None:
        """Do nothing. The goal has no figures."""

    def _simulate(self, hosts: Sequence[Node]) -> Sequence[Move]:
        """Return the moves of all consumers of the hosts.  Raises WatcherException."""
        drained = [host.uuid for host in hosts]
        unusable = [
            uuid
            for uuid, node in self.compute_model.get_all_compute_nodes().items()
            if uuid not in drained and not _is_usable(node)
        ]
        # nova would refuse unusable hosts as destinations. The simulation does not know them.
        removed: list[JsonChange] = [{"remove": unusable}] if unusable else []
        simulation: JsonSimulation = {
            "changes": [*removed, {"drain": drained}],
            "order": self.input_parameters.get("order") or [],
        }
        try:
            result = self.placement.simulate(simulation)
        except ClientError as error:
            raise WatcherException(f"the simulation of the maintenance failed: {error}") from error
        if not result["fits"]:
            raise WatcherException(f"the hosts cannot be emptied: {_reasons(result)}")
        return result["moves"]

    def _migrations(self, moves: Sequence[Move]) -> Iterator[tuple[Instance, Node]]:
        """Yield the instances with their destinations.  Raises WatcherException."""
        nodes = self.compute_model.get_all_compute_nodes()
        for move in moves:
            # Other roots are providers of shared storage or networks.
            destinations = [nodes[root] for root in move["to"] if root in nodes]
            if len(destinations) != 1:
                raise WatcherException(
                    f"instance {move['consumer']} would move to {', '.join(move['to'])}, which is "
                    "no host in the scope of the audit"
                )
            yield self.compute_model.get_instance_by_uuid(move["consumer"]), destinations[0]


def _is_usable(node: Node) -> bool:
    is_enabled = node.status == ServiceState.ENABLED.value
    return is_enabled and bool(node.state == ServiceState.ONLINE.value)


def _check_consumers(consumers: Collection[str], instances: Collection[str]) -> None:
    """Raise WatcherException unless the consumers of allocations are the instances of the model."""
    others = sorted(set(consumers) - set(instances))
    if others:
        raise WatcherException(
            f"consumers of the hosts are no instances of them: {', '.join(others)}; complete or "
            "abort their migrations, and release their reservations"
        )
    missing = sorted(set(instances) - set(consumers))
    if missing:
        raise WatcherException(
            f"instances have no allocations on their hosts: {', '.join(missing)}; see nova-manage "
            "placement heal_allocations"
        )


def _reasons(result: SimulationResult) -> str:
    reasons = [f"{each['consumer']}: {each['text']}" for each in result["unplaceable"]]
    undecided = [f"{each}: the limit on work was reached" for each in result["undecided"]]
    return "; ".join([*reasons, *undecided])
