"""The scheduler: its choice of hosts, its retries, and its message if no host fits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from keystoneauth1.exceptions import ConnectFailure

from examples import scheduler as program
from examples.scheduler import DISABLED, Scheduler
from falcon_placement_client import NewConsumer, ProviderTree, ReportClient
from falcon_placement_client.rest import Version
from tests.kit.listener import listening
from tests.kit.recorder import Recorder
from tests.kit.service import Service

FLAVORS = Path(program.__file__).parent / "flavors"
ONE = {"vcpus": 1}
VERSIONS: list[Version] = [(1, 36), (2, 0)]


@pytest.fixture(params=VERSIONS, ids=["1.36", "2.0"])
def client(recorder: Recorder, request: pytest.FixtureRequest) -> ReportClient:
    return ReportClient(recorder, request.param)


def instance(number: int) -> NewConsumer:
    return NewConsumer(f"cccccccc-0000-0000-0000-{number:012}", "project", "user")


def add_host(client: ReportClient, name: str, vcpus: int) -> str:
    tree = ProviderTree()
    uuid = tree.new_root(name)
    tree.update_inventory(name, {"VCPU": {"total": vcpus}})
    client.update_from_provider_tree(tree)
    return uuid


def disable(client: ReportClient, host: str) -> None:
    tree = client.get_provider_tree(host)
    tree.add_traits(host, DISABLED)
    client.update_from_provider_tree(tree)


def used(client: ReportClient, host: str) -> int:
    return client.get_usages_for_provider_tree(host)[host]["VCPU"]


def test_the_least_loaded_host_is_chosen(client: ReportClient) -> None:
    scheduler = Scheduler(client)
    small, large = add_host(client, "small", 2), add_host(client, "large", 10)
    for number in range(6):
        scheduler.boot(ONE, instance(number))
    assert (used(client, small), used(client, large)) in {(0, 6), (1, 5)}


def test_a_disabled_host_gets_nothing_and_is_evacuated(client: ReportClient) -> None:
    scheduler = Scheduler(client)
    failing = add_host(client, "failing", 8)
    scheduler.boot(ONE, instance(1))
    healthy = add_host(client, "healthy", 2)
    disable(client, failing)
    scheduler.boot(ONE, instance(2))
    scheduler.rebook(ONE, instance(1))
    assert (used(client, failing), used(client, healthy)) == (0, 2)


def test_an_answer_that_is_lost_costs_no_second_claim(
    client: ReportClient, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = add_host(client, "host1", 2)
    send = recorder.request
    lost: list[str] = []

    def lose_one(url: str, method: str, **options: Any) -> requests.Response:
        answer = send(url, method, **options)
        if url.startswith("/allocations/") and method == "PUT" and not lost:
            lost.append(url)
            raise ConnectFailure
        return answer

    monkeypatch.setattr(recorder, "request", lose_one)
    Scheduler(client).boot(ONE, instance(1))
    assert lost
    assert used(client, host) == 1


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    with Service(directory) as service, listening(service.application) as url:
        yield url


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["scheduler", *arguments])
    return program.main()


def test_the_program_boots_and_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as url:
        host = ProviderTree()
        uuid = host.new_root("host1")
        totals = {"VCPU": 8, "MEMORY_MB": 8192, "DISK_GB": 100}
        host.update_inventory("host1", {name: {"total": each} for name, each in totals.items()})
        ReportClient.at(url, "admin").update_from_provider_tree(host)
        assert run(monkeypatch, "--url", url, "boot", str(FLAVORS / "small"), "--count", "2") == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 2
        consumer, _, place = lines[0].partition(" on ")
        assert place.startswith(f"{uuid}: ")
        assert sorted(place.split()[1:]) == ["DISK_GB=20", "MEMORY_MB=2048", "VCPU=1"]
        assert run(monkeypatch, "--url", url, "delete", consumer, instance(1).uuid) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"{consumer} deleted", f"{instance(1).uuid} had no allocations",
        ]  # fmt: skip


def test_the_program_says_in_one_line_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "flavor"
    path.write_text("vcpu=1\n")
    assert run(monkeypatch, "--url", "http://127.0.0.1:1", "boot", str(path)) == 1
    told = capsys.readouterr()
    assert told.err.startswith("boot: vcpu: no such key of a flavor; did you mean vcpus?")
    assert run(monkeypatch, "--url", "http://127.0.0.1:1", "delete", instance(1).uuid) == 1
    told = capsys.readouterr()
    assert told.err.startswith("delete: ")
    assert told.err.count("\n") == 1
