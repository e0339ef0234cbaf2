"""The programs of ``examples`` on openstack-placement."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import agent
from examples.scheduler import Scheduler
from examples.simulation import Simulation
from falcon_placement_client import NewConsumer, NoCandidates, ReportClient
from tests.peer.servers import Server


@pytest.fixture
def client(server: Server) -> ReportClient:
    server.empty()
    return ReportClient.at(server.url, "admin")


def test_a_host_is_reported_and_served_from(client: ReportClient) -> None:
    host = agent.read_host(str(Path(agent.__file__).parent / "host.yaml"))
    client.report(host.uuid, host)
    scheduler = Scheduler(client)
    instance = NewConsumer(scheduler.new_uuid(), "project", "user")
    assert host.uuid in scheduler.boot({"vcpus": 2, "resources_GPU:VGPU": 4}, instance).allocations
    with pytest.raises(NoCandidates, match="nothing can serve"):
        scheduler.boot({"vcpus": 1000}, NewConsumer(scheduler.new_uuid(), "project", "user"))


@pytest.mark.parametrize("schedulers", [1, 4])
def test_nothing_leaks_in_a_simulated_cloud(client: ReportClient, schedulers: int) -> None:
    result = Simulation(client, 12, schedulers, seed=1).run(120)
    assert result.counts["boots"] > 60
    assert result.counts["hosts reshaped"]


def test_the_same_seed_gives_the_same_cloud(client: ReportClient) -> None:
    first, second = (Simulation(client, 8, 1, seed=5).run(60) for _ in range(2))
    assert (first.digest, first.counts) == (second.digest, second.counts)
