"""The agent: its reports of a file, and its handling of inventory in use."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from examples import agent
from examples.scheduler import DISABLED
from falcon_placement_client import (
    JsonRequest,
    NewConsumer,
    ProviderTree,
    ReportClient,
    ReshapeFailed,
)
from falcon_placement_client.rest import Version
from tests.kit.listener import listening
from tests.kit.recorder import Recorder
from tests.kit.service import Service

HOST = Path(agent.__file__).parent / "host.yaml"
FLAT: dict[str, Any] = {"name": "host1", "inventory": {"VCPU": 8, "VGPU": 8}}
CARDS: dict[str, Any] = {
    "name": "host1",
    "inventory": {"VCPU": 8},
    "children": [{"name": f"card{number}", "inventory": {"VGPU": 4}} for number in (1, 2)],
}
AMOUNTS = (1, 3, 1, 3)  # that consumers have of the GPUs; fits on the cards in one way alone


def consumer(number: int) -> NewConsumer:
    return NewConsumer(f"cccccccc-0000-0000-0000-{number:012}", "project", "user")


def report(client: ReportClient, description: dict[str, Any]) -> None:
    host = agent.HostDriver(description)
    client.report(host.uuid, host)


def tree_of(client: ReportClient, description: dict[str, Any]) -> ProviderTree:
    return client.get_provider_tree(agent.HostDriver(description).uuid)


def used(client: ReportClient) -> dict[str, int]:
    """The usage of the GPUs, by the name of the provider."""
    tree = tree_of(client, FLAT)
    usages = client.get_usages_for_provider_tree(tree.data("host1").uuid)
    return {tree.data(uuid).name: each["VGPU"] for uuid, each in usages.items() if "VGPU" in each}


def fill(client: ReportClient) -> None:
    """Create the host with its GPUs at the root, and consumers of the GPUs."""
    report(client, FLAT)
    for number, amount in enumerate(AMOUNTS):
        request: JsonRequest = {"groups": {"": {"resources": {"VCPU": 1, "VGPU": amount}}}}
        client.claim(request, consumer(number))


def test_a_host_is_reported_as_its_file_says(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    host = agent.read_host(str(HOST))
    client.report(host.uuid, host)
    tree = client.get_provider_tree(host.uuid)
    assert {each.name: sorted(each.inventory) for each in tree} == {
        "agent-host": ["DISK_GB", "MEMORY_MB", "VCPU"],
        "agent-host-gpu1": ["VGPU"],
        "agent-host-gpu2": ["VGPU"],
    }
    assert tree.data("agent-host").inventory["VCPU"].allocation_ratio == 4.0
    assert tree.has_traits("agent-host-gpu1", ["CUSTOM_GPU_T4"])


def test_a_report_of_what_is_there_writes_nothing(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    report(client, CARDS)
    recorder.requests.clear()
    report(client, CARDS)
    assert recorder.writes() == []


def test_what_others_wrote_stays(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    own, others = "aaaaaaaa-0000-0000-0000-000000000001", "aaaaaaaa-0000-0000-0000-000000000002"
    description = {**CARDS, "traits": ["COMPUTE_NODE"], "aggregates": [own]}
    report(client, description)
    tree = tree_of(client, CARDS)
    for name in ("host1", "card1"):
        tree.add_traits(name, DISABLED, "CUSTOM_RACK")
        tree.add_aggregates(name, others)
    tree.new_child("agent of the network", "host1")
    tree.update_inventory("agent of the network", {"NET_BW_EGR_KILOBIT_PER_SEC": {"total": 9}})
    client.update_from_provider_tree(tree)
    recorder.requests.clear()
    report(client, description)
    assert recorder.writes() == []
    report(client, {**FLAT, "traits": {"COMPUTE_NODE": False}, "aggregates": {own.upper(): False}})
    left = tree_of(client, FLAT)
    assert {each.name for each in left} == {"host1", "agent of the network"}
    assert left.data("host1").traits == {DISABLED, "CUSTOM_RACK"}
    assert left.data("host1").aggregates == {others}


@pytest.mark.parametrize("version", [(1, 36), (2, 0)], ids=["1.36", "2.0"])
def test_what_is_in_use_moves_to_the_cards_and_back(recorder: Recorder, version: Version) -> None:
    client = ReportClient(recorder, version)
    fill(client)
    report(client, CARDS)
    assert used(client) == {"card1": 4, "card2": 4}
    report(client, FLAT)
    assert used(client) == {"host1": 8}
    assert len(tree_of(client, FLAT)) == 1


def test_a_misfit_is_reported_and_changes_nothing(recorder: Recorder) -> None:
    client = ReportClient(recorder)
    fill(client)
    with pytest.raises(ReshapeFailed, match=r"3 VGPU of provider .* fit nowhere"):
        report(client, {**CARDS, "children": CARDS["children"][:1]})
    assert used(client) == {"host1": 8}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- VCPU", "expected a provider, with a name"),
        ("name: h\ninventry: {}", "h: no key inventry, expected aggregates, children, "),
        ("name: h\nchildren: [{inventory: {}}]", "a child of h: expected a provider"),
        ("name: h\nchildren: 3", "h: the children are not a list"),
        ("name: h\ninventory: [VCPU]", "h: the inventory is not a mapping"),
        ("name: h\ninventory: {VCPU: {total: many}}", "h: inventory VCPU: total is 'many'"),
        ("name: h\ntraits: COMPUTE_NODE", "h: the traits are not a list of names"),
        ("name: h\naggregates: [[a]]", "h: the aggregates are not a list of names"),
        ("name: h\ntraits: {COMPUTE_NODE: maybe}", "h: the traits must be true or false"),
        ("name: h\ntraits: {", "host.yaml: "),
    ],
)
def test_a_file_that_says_nothing_sensible_is_refused_in_one_line(
    recorder: Recorder, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, complaint: str
) -> None:
    path = tmp_path / "host.yaml"
    path.write_text(text)
    assert not agent.report(ReportClient(recorder), str(path))
    (record,) = [record for record in caplog.records if record.name == "agent"]
    assert complaint in record.getMessage()
    assert "\n" not in record.getMessage()
    assert recorder.writes() == []


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "examples.agent", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_program_follows_the_changes_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "host.yaml"
    path.write_text(yaml.safe_dump(FLAT))
    with (
        Service(tmp_path) as service,
        listening(service.application) as url,
        running(str(path), "--url", url, "--every", "0.05") as process,
    ):
        assert process.stdout is not None
        assert "+ root host1; host1: + VCPU total 8" in process.stdout.readline()
        path.write_text(yaml.safe_dump(CARDS))
        client = ReportClient.at(url, "admin")
        deadline = time.monotonic() + 60
        while not tree_of(client, CARDS).exists("card2") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert {each.name for each in tree_of(client, CARDS)} == {"host1", "card1", "card2"}
