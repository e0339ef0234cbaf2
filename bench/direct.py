"""What a client pays for a server, and for asking again: `python -m bench.direct`.

The same keystoneauth1 requests through gunicorn and through `PlacementDirect`, in turns, on one
SQLite file; and what `ReportClient` sends for a tree of 20 and for a host with 100 consumers, at
2.0 and at 1.39. Medians in ms.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from keystoneauth1.adapter import Adapter
from keystoneauth1.session import Session
from prettytable import PrettyTable

from bench.clouds import flat
from bench.servers import REPOSITORY, serving
from placement.client import ProviderTree, ReportClient, TreeSnapshot
from placement.direct import IDENTITY, PlacementDirect
from tests.kit.builders import prepare, settings
from tests.kit.cloud import load, provider_uuid
from tests.kit.recorder import Recorder
from tests.kit.service import claim

HOSTS = 1000
ROUNDS = 300
FEW = 30  # rounds of what takes many requests
HOST = provider_uuid(500)
TWENTY = "5ca1ab1e-0000-4000-8000-000000000001"
BUSY = "5ca1ab1e-0000-4000-8000-000000000002"

T = TypeVar("T")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        url = f"sqlite:///{scratch}/placement.db"
        prepare(url)
        load(sa.create_engine(url, poolclass=sa.NullPool), flat(HOSTS, 20))
        direct = PlacementDirect(settings(url), latest_microversion=True)
        with serving("ours", url, Path(scratch) / "home", None, checkout=REPOSITORY) as server:
            session = Session(additional_headers=dict(IDENTITY))
            remote = Adapter(
                session,
                service_type="placement",
                endpoint_override=f"http://127.0.0.1:{server.port}",
                default_microversion="latest",
                raise_exc=False,
            )
            with direct as local:
                _fill(local)
                adapters = {"gunicorn": remote, "PlacementDirect": local}
                _print_ways(adapters)
                _print_report_client(adapters)


def _print_ways(adapters: Mapping[str, Adapter]) -> None:
    table = PrettyTable(["request", *adapters, "ratio"])
    requests: dict[str, Callable[[Adapter], object]] = {
        "GET of one provider": lambda adapter: adapter.get(f"/resource_providers/{HOST}"),
        "GET of 1,000 providers": lambda adapter: adapter.get("/resource_providers"),
        "10 candidates": lambda adapter: adapter.get(
            "/allocation_candidates?resources=VCPU:2,MEMORY_MB:4096&limit=10"
        ),
        "a claim and its release": _claim_and_release,
    }
    for name, work in requests.items():
        medians = _medians(adapters, work, ROUNDS)
        table.add_row([name, *map(_ms, medians), f"{medians[1] / medians[0]:.2f}"])
    print(table)


class Agent:
    """A client of one way to the service, and a host that it reports."""

    def __init__(self, adapter: Adapter, version: tuple[int, int]) -> None:
        self.recorder = Recorder(adapter)
        self._client = ReportClient(self.recorder, version)
        self._total = 0

    def report_unchanged(self) -> None:
        self._client.update_from_provider_tree(self._tree())

    def report_three_changes(self) -> None:
        self._total = self._total % 1000 + 1
        tree = self._tree()
        for number in (1, 2, 3):
            tree.update_inventory(f"device{number}", {"VGPU": {"total": self._total}})
        self._snapshot = self._client.update_from_provider_tree(tree)

    def read_allocations(self) -> None:
        self._client.get_allocations_for_provider_tree(BUSY)

    @cached_property
    def _snapshot(self) -> TreeSnapshot:
        return self._client.get_provider_tree(TWENTY).snapshot()

    def _tree(self) -> ProviderTree:
        return self._snapshot.edit()


def _print_report_client(adapters: Mapping[str, Adapter]) -> None:
    table = PrettyTable(["ReportClient", "version", "requests", *adapters])
    for version in ((2, 0), (1, 39)):
        for work in (Agent.report_unchanged, Agent.report_three_changes, Agent.read_allocations):
            # Each is of its own: what one has written another would have to read again.
            seconds = []
            for adapter in adapters.values():
                agent = Agent(adapter, version)
                seconds += _medians({"": agent}, work, FEW)
                agent.recorder.requests.clear()
                work(agent)
            name = work.__name__.replace("_", " ")
            stated = "{}.{}".format(*version)
            table.add_row([name, stated, len(agent.recorder.requests), *map(_ms, seconds)])
    print(table)


def _medians(ways: Mapping[str, T], work: Callable[[T], object], rounds: int) -> list[float]:
    """Return the median seconds of each way, taken in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for each in ways.values():
        work(each)  # connections and trees are there from then on
    for _ in range(rounds):
        for name, each in ways.items():
            started = time.perf_counter()
            work(each)
            seconds[name].append(time.perf_counter() - started)
    return [statistics.median(each) for each in seconds.values()]


def _claim_and_release(adapter: Adapter) -> None:
    path = f"/allocations/{uuid.uuid4()}"
    body = claim({HOST: {"VCPU": 1, "MEMORY_MB": 512}})
    assert adapter.put(path, json=body).status_code == 204
    assert adapter.delete(path).status_code == 204


def _fill(adapter: Adapter) -> None:
    """Report a tree of 20, and a host with 100 consumers."""
    client = ReportClient(adapter)
    tree = ProviderTree()
    tree.new_root("twenty", TWENTY)
    for number in range(19):
        tree.new_child(f"device{number}", "twenty")
        tree.update_inventory(f"device{number}", {"VGPU": {"total": 4}})
    tree.new_root("busy", BUSY)
    tree.update_inventory("busy", {"VCPU": {"total": 100}})
    client.update_from_provider_tree(tree)
    for _ in range(100):
        answer = adapter.put(f"/allocations/{uuid.uuid4()}", json=claim({BUSY: {"VCPU": 1}}))
        assert answer.status_code == 204, answer.text


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f}"


if __name__ == "__main__":
    main()
