"""Tests of the scheduler, with the fixtures of `falcon_placement_client`.

    python -m pytest examples/test_boots.py

The fixtures come with the client, as a plugin of pytest; a service in the process of the test
answers. `placement_url` instead of `placement_service` starts a server.
"""

from pathlib import Path
from typing import Any

import pytest

from examples.scheduler import Scheduler
from falcon_placement_client import NewConsumer, NoCandidates, ReportClient
from falcon_placement_client.flavors import read_flavor_file

SMALL = read_flavor_file(str(Path(__file__).parent / "flavors" / "small"))


def instance(number: int) -> NewConsumer:
    """Return a consumer."""
    return NewConsumer(f"5ca1ab1e-0000-4000-8000-{number:012}", "project", "user")


def test_instances_spread_over_the_hosts(placement_service: Any, placement_cloud: Any) -> None:
    """The scheduler chooses the least loaded host."""
    hosts = placement_cloud("cloud.yaml")
    scheduler = Scheduler(ReportClient(placement_service))
    chosen = [
        host
        for number in range(len(hosts))
        for host in scheduler.boot(SMALL, instance(number)).allocations
    ]
    assert sorted(chosen) == sorted(hosts.values())


def test_a_full_cloud_refuses_an_instance(placement_service: Any, placement_cloud: Any) -> None:
    """Eight instances of 2 GB fill the memory of both hosts."""
    placement_cloud("cloud.yaml")
    scheduler = Scheduler(ReportClient(placement_service))
    for number in range(8):
        scheduler.boot(SMALL, instance(number))
    with pytest.raises(NoCandidates, match="MEMORY_MB"):
        scheduler.boot(SMALL, instance(8))
