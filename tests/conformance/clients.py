"""`python clients.py NAME URL`: call the methods of one project's placement client on a server.

Runs in the virtualenv of the project, and imports nothing of this repository. Each call is a step,
which passes if it raises nothing and returns what is expected.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import uuid4

HOST, CONSUMER, AGGREGATE = (str(uuid4()) for _ in range(3))
NAME = f"host-{HOST[:8]}"
VCPU = {"total": 8, "reserved": 0, "min_unit": 1, "max_unit": 8, "step_size": 1}
INVENTORY = {"VCPU": {**VCPU, "allocation_ratio": 2.0}}


class Steps:
    """Counts calls."""

    def __init__(self) -> None:
        self.passed = self.run = 0

    def __call__(
        self, holds: Callable[[Any], object], call: Callable[..., Any], *args: Any, **options: Any
    ) -> Any:
        """Call a method; the step passes if `holds` is true of what it returns."""
        self.run += 1
        try:
            value = call(*args, **options)
        except Exception:
            print(f"failed: {call}")
            traceback.print_exc(file=sys.stdout)
            return None
        if holds(value):
            self.passed += 1
        else:
            print(f"failed: {call} returned {value!r}")
        return value


def anything(value: Any) -> bool:
    return True


def configuration(url: str) -> str:
    """Write a configuration with the URL and the token of an administrator; returns its path."""
    path = Path("client.conf")
    group = f"auth_type = admin_token\nendpoint = {url}\ntoken = admin\nendpoint_override = {url}\n"
    path.write_text(f"[placement]\n{group}[placement_client]\n[watcher_clients_auth]\n{group}")
    return str(path)


def neutron_lib(url: str, step: Steps) -> None:
    from keystoneauth1 import loading
    from neutron_lib.placement.client import PlacementAPIClient
    from oslo_config import cfg

    conf = cfg.ConfigOpts()
    loading.register_auth_conf_options(conf, "placement")
    loading.register_session_conf_options(conf, "placement")
    conf.register_opts([cfg.StrOpt("region_name"), cfg.StrOpt("endpoint_type")], "placement")
    conf(["--config-file", configuration(url)])
    client = PlacementAPIClient(conf)
    made = {"name": NAME, "uuid": HOST}
    step(lambda it: it["uuid"] == HOST, client.create_resource_provider, made)
    step(anything, client.ensure_resource_provider, made)
    step(lambda it: it["name"] == NAME, client.get_resource_provider, HOST)
    step(
        lambda it: len(it["resource_providers"]) == 1,
        *(client.list_resource_providers, NAME),
    )
    step(anything, client.update_resource_provider_inventories, HOST, INVENTORY, 0)
    step(lambda it: it["total"] == 8, client.get_inventory, HOST, "VCPU")
    step(anything, client.update_resource_class, "CUSTOM_RATE")
    step(lambda it: it["name"] == "CUSTOM_RATE", client.get_resource_class, "CUSTOM_RATE")
    step(anything, client.list_resource_classes)
    step(anything, client.update_trait, "CUSTOM_PHYSNET")
    step(anything, client.get_trait, "CUSTOM_PHYSNET")
    step(lambda it: "CUSTOM_PHYSNET" in it["traits"], client.list_traits)
    step(anything, client.update_resource_provider_traits, HOST, ["CUSTOM_PHYSNET"])
    step(
        lambda it: it["traits"] == ["CUSTOM_PHYSNET"],
        *(client.list_resource_provider_traits, HOST),
    )
    earlier = PlacementAPIClient(conf, "placement 1.1")
    step(anything, earlier.associate_aggregates, HOST, [AGGREGATE])
    step(lambda it: it["aggregates"] == [AGGREGATE], client.list_aggregates, HOST)
    given = {"allocations": {HOST: {"resources": {"VCPU": 1}}}, "consumer_generation": None}
    owner = {"project_id": "project", "user_id": "user"}
    step(anything, client.update_allocation, CONSUMER, given | owner)
    step(lambda it: HOST in it["allocations"], client.list_allocations, CONSUMER)
    step(anything, client.update_qos_allocation, CONSUMER, {HOST: {"VCPU": 1}})
    emptied = client.list_allocations(CONSUMER) | {"allocations": {}}
    step(anything, client.update_allocation, CONSUMER, emptied)
    step(anything, client.delete_resource_provider_traits, HOST)
    step(anything, client.delete_resource_provider_inventory, HOST, "VCPU")
    step(anything, client.delete_resource_provider_inventories, HOST)
    step(anything, client.delete_trait, "CUSTOM_PHYSNET")
    step(anything, client.delete_resource_class, "CUSTOM_RATE")
    step(anything, client.delete_resource_provider, HOST)


def tempest(url: str, step: Steps) -> None:
    import requests
    from tempest.lib.services.placement.placement_client import PlacementClient
    from tempest.lib.services.placement.resource_providers_client import ResourceProvidersClient

    class Auth:
        """What a client of tempest asks of an identity."""

        def auth_request(
            self, method: str, path: str, headers: Any = None, body: Any = None, filters: Any = None
        ) -> Any:
            return f"{url}{path}", {**(headers or {}), "X-Auth-Token": "admin"}, body

        def base_url(self, filters: Any, auth_data: Any = None) -> str:
            return url

    rest = (
        PlacementClient(Auth(), "placement", None),
        ResourceProvidersClient(Auth(), "placement", None),
    )
    traits, providers = rest
    for each in rest:
        each.api_microversion_header_name = "OpenStack-API-Version"
    with mock.patch.multiple(
        "tempest.lib.services.placement.base_placement_client", PLACEMENT_MICROVERSION="1.39"
    ):
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
        requests.post(
            f"{url}/resource_providers",
            json={"name": NAME, "uuid": HOST},
            headers=headers,
            timeout=60,
        ).raise_for_status()
        step(lambda it: it["resource_providers"], providers.list_resource_providers)
        step(lambda it: it["uuid"] == HOST, providers.show_resource_provider, HOST)
        step(
            lambda it: it["inventories"]["VCPU"]["total"] == 8,
            *(providers.update_resource_providers_inventories, HOST),
            inventories=INVENTORY,
            resource_provider_generation=0,
        )
        step(lambda it: it["inventories"], providers.list_resource_provider_inventories, HOST)
        step(lambda it: it["usages"] == {"VCPU": 0}, providers.list_resource_provider_usages, HOST)
        step(anything, providers.list_resource_provider_aggregates, HOST)
        step(anything, traits.create_trait, "CUSTOM_TEMPEST")
        step(anything, traits.show_trait, "CUSTOM_TEMPEST")
        step(
            lambda it: it["traits"] == ["CUSTOM_TEMPEST"],
            traits.list_traits,
            name="in:CUSTOM_TEMPEST",
        )
        step(
            anything,
            *(providers.update_resource_provider_traits, HOST),
            traits=["CUSTOM_TEMPEST"],
            resource_provider_generation=1,
        )
        step(lambda it: it["traits"], providers.list_resource_provider_traits, HOST)
        step(
            lambda it: it["allocation_requests"],
            traits.list_allocation_candidates,
            resources="VCPU:1",
        )
        step(lambda it: it["allocations"] == {}, traits.list_allocations, CONSUMER)
        step(
            anything,
            providers.update_resource_provider_traits,
            HOST,
            traits=[],
            resource_provider_generation=2,
        )
        step(anything, traits.delete_trait, "CUSTOM_TEMPEST")
        step(anything, providers.delete_resource_providers_inventories, HOST)


def adapter(url: str, raise_exc: bool = False) -> Any:
    from keystoneauth1.adapter import Adapter
    from keystoneauth1.session import Session
    from keystoneauth1.token_endpoint import Token

    return Adapter(Session(auth=Token(url, "admin")), service_type="placement", raise_exc=raise_exc)


def blazar(url: str, step: Steps) -> None:
    from blazar.utils.openstack import placement

    class Client(placement.BlazarPlacementClient):  # type: ignore[misc] # its type is not known here
        def _create_client(self, **kwargs: Any) -> Any:
            return adapter(url)

    client = Client()
    host = step(lambda it: it["name"] == NAME, client.create_resource_provider, NAME)
    uuid = host["uuid"]
    step(lambda it: it["uuid"] == uuid, client.get_resource_provider, NAME)
    step(len, client.list_resource_providers)
    step(anything, client.update_inventory, uuid, "VCPU", 8, additional=False)
    step(lambda it: it["inventories"]["VCPU"]["total"] == 8, client.get_inventory, uuid)
    step(anything, client.get_traits, uuid)
    step(anything, client.delete_inventory, uuid, "VCPU")
    step(anything, client.create_reservation_provider, NAME)
    step(anything, client.create_reservation_class, CONSUMER)
    step(anything, client.update_reservation_inventory, NAME, CONSUMER, 3)
    step(anything, client.delete_reservation_inventory, NAME, CONSUMER)
    step(anything, client.delete_reservation_class, CONSUMER)
    step(anything, client.delete_reservation_provider, NAME)
    step(anything, client.create_resource_class, "CUSTOM_LEASE")
    step(anything, client.delete_resource_class, "CUSTOM_LEASE")
    step(anything, client.delete_resource_provider, uuid)


def cyborg(url: str, step: Steps) -> None:
    from cyborg.common import placement_client

    with mock.patch.object(placement_client.utils, "get_sdk_adapter", return_value=adapter(url)):
        client = placement_client.PlacementClient()
    context = SimpleNamespace(global_id=f"req-{uuid4()}")
    step(lambda it: it == HOST, client.ensure_resource_provider, context, HOST, NAME)
    step(lambda it: it["name"] == NAME, client.get_resource_provider, HOST)
    step(lambda it: len(it) == 1, client.get_providers_in_tree, context, HOST)
    step(anything, client.ensure_resource_classes, context, ["CUSTOM_ACCELERATOR"])
    inventory = {"CUSTOM_ACCELERATOR": VCPU}
    step(lambda it: it["inventories"], client.update_inventory, HOST, inventory)
    step(anything, client.update_rp_inventory_reserved, HOST, "CUSTOM_ACCELERATOR", 8, 8)
    step(anything, client.add_traits_to_rp, HOST, ["CUSTOM_FPGA"])
    step(anything, client.delete_trait_by_name, context, HOST, "CUSTOM_FPGA")
    step(anything, client.add_traits_to_rp, HOST, ["CUSTOM_FPGA_1"])
    step(anything, client.delete_traits_with_prefixes, context, HOST, ["CUSTOM_FPGA"])
    step(anything, client.delete_provider, HOST)
    step(anything, client.delete_rc_by_name, context, "CUSTOM_ACCELERATOR")


def zun(url: str, step: Steps) -> None:
    import eventlet  # type: ignore[import-untyped]

    eventlet.monkey_patch()  # as zun's processes do: its locks are copied
    from zun.common import clients
    from zun.common import context as contexts
    from zun.scheduler.client.report import SchedulerReportClient

    given: tuple[Any, dict[str, str]] = adapter(url), {}
    with mock.patch.object(clients.OpenStackClients, "placement", return_value=given):
        client = SchedulerReportClient()
    context = contexts.get_admin_context()
    tree = step(anything, client.get_provider_tree_and_ensure_root, context, HOST, NAME)
    tree.update_inventory(HOST, INVENTORY)
    tree.update_traits(HOST, ["HW_CPU_X86_AVX"])
    step(anything, client.update_from_provider_tree, context, tree)
    step(lambda it: it["uuid"] == HOST, client.get_provider_by_name, context, NAME)
    step(lambda it: len(it) == 1, client.get_providers_in_tree, context, HOST)
    step(lambda it: it.traits == {"HW_CPU_X86_AVX"}, client.get_provider_traits, context, HOST)
    step(anything, client.aggregate_add_host, context, AGGREGATE, NAME)
    query = SimpleNamespace(to_querystring=lambda: "resources=VCPU:1")
    found = step(lambda it: it[0], client.get_allocation_candidates, context, query)
    claim = (context, CONSUMER, found[0][0], "project", "user", found[2])
    step(bool, client.claim_resources, *claim)
    step(lambda it: HOST in it["allocations"], client.get_allocs_for_consumer, context, CONSUMER)
    step(
        lambda it: CONSUMER in it.allocations,
        client.get_allocations_for_resource_provider,
        context,
        HOST,
    )
    step(bool, client.delete_allocation_for_container, context, CONSUMER)
    step(anything, client.aggregate_remove_host, context, AGGREGATE, NAME)


def watcher(url: str, step: Steps) -> None:
    import requests
    from watcher import conf
    from watcher.common.placement_helper import PlacementHelper

    conf.CONF(["--config-file", configuration(url)], project="watcher")
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
    host = f"{url}/resource_providers/{HOST}"
    body = {"inventories": INVENTORY, "resource_provider_generation": 0}
    requests.post(
        f"{url}/resource_providers",
        json={"name": NAME, "uuid": HOST},
        headers=headers,
        timeout=60,
    ).raise_for_status()
    requests.put(f"{host}/inventories", json=body, headers=headers, timeout=60).raise_for_status()
    helper = step(anything, PlacementHelper)
    step(lambda it: it["VCPU"].total == 8, helper.get_inventories, HOST)


if __name__ == "__main__":
    logging.disable()
    steps = Steps()
    try:
        globals()[sys.argv[1].replace("-", "_")](sys.argv[2], steps)
    except Exception:
        steps.run += 1
        traceback.print_exc(file=sys.stdout)
    print(f"passed {steps.passed} of {steps.run}")
