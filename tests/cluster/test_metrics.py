"""Scrapes of real servers. Every value follows from a known load, in any process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from placement.compat import prometheus
from tests.kit import metrics as kit
from tests.kit.builders import database_url
from tests.kit.ports import free_port
from tests.kit.processes import (
    ANSWER,
    HEADERS,
    REPOSITORY,
    NoAnswerError,
    Process,
    connected,
    new_host,
    send,
    serving,
)
from tests.kit.service import claim

WORKERS = 4
CLIENTS = 12  # at once
HOSTS = 3
ROUNDS = 25
NOT_OF_THE_LOAD = ("show_metrics", "list_versions")  # scrapes, and waiting for the server

Request = tuple[str, str, object, str]  # method, path, body, version


def scrape(port: int) -> kit.Samples:
    """The response of the metrics port, without a token."""
    with connected(port) as connection:
        connection.request("GET", "/metrics", headers={"Connection": "close"})
        answer = connection.getresponse()
        text = answer.read()
    assert answer.status == 200
    return kit.samples(text)


def counted(said: kit.Samples) -> float:
    """Return the number of counted requests of the load."""
    return sum(
        value
        for labels, value in kit.of(said, "placement_requests_total").items()
        if not any(each in labels for each in NOT_OF_THE_LOAD)
    )


def send_all(port: int, requests: Sequence[Request]) -> Counter[int]:
    """Send the requests concurrently, in any order.

    Return the number of responses for each status.
    """

    def send_one(request: Request) -> int:
        method, path, body, version = request
        return send(port, method, path, body, version).status

    with ThreadPoolExecutor(CLIENTS) as pool:
        return Counter(pool.map(send_one, requests))


def brew(port: int) -> int:
    """Send an unknown method. Return the status."""
    with connected(port) as connection:
        connection.request("BREW", "/traits", headers=HEADERS)
        answer = connection.getresponse()
        answer.read()
    return answer.status


def kill_the_busiest(process: Process, counts: Path) -> None:
    """Kill the worker that has counted the most requests, and wait for its replacement."""
    before = await_workers(process, WORKERS)
    victim = max(before, key=lambda worker: _requests_of(counts, worker))
    assert _requests_of(counts, victim) > 0
    os.kill(victim, signal.SIGKILL)
    await_workers(process, WORKERS, {victim})


def _requests_of(counts: Path, worker: int) -> float:
    """Return the number of requests that a worker has counted."""
    path = counts / f"counter_{worker}.db"
    if not path.exists():
        return 0
    samples = prometheus.read_file(path)
    return sum(value for key, value in samples.items() if "placement_requests_total" in key)


def test_every_value_is_right_with_four_workers_one_of_them_killed(tmp_path: Path) -> None:
    port, counts = free_port(), tmp_path / "counts"
    options = {
        "OS_METRICS__BIND_PORT": str(port),
        "OS_METRICS__TOKEN_REQUIRED": "false",
        "OS_METRICS__DIRECTORY": str(counts),
        "OS_METRICS__INVENTORY_SECONDS": "0.001",
        "OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES": "2",
        "OS_PLACEMENT__SLOW_REQUEST": "300",
        "OS_PLACEMENT_DATABASE__WRITE_TIMEOUT": "120",
    }
    with serving(tmp_path, [database_url(tmp_path)], WORKERS, **options) as [process]:
        hosts = [new_host(process.port, VCPU=1000, MEMORY_MB=4096) for _ in range(HOSTS)]
        before = scrape(port)
        assert counted(before) == 2 * HOSTS
        expected = {200: 5 * ROUNDS, 204: ROUNDS, 404: ROUNDS, 409: ROUNDS, 406: ROUNDS}
        assert send_all(process.port, load(hosts)) == expected
        assert brew(process.port) == 405
        assert counted(scrape(port)) == 2 * HOSTS + 9 * ROUNDS + 1
        kill_the_busiest(process, counts)
        assert send_all(process.port, load(hosts)) == expected
        said = scrape(port)
        assert counted(said) == 2 * HOSTS + 2 * 9 * ROUNDS + 1
        log = process.log()
        check_processes(said, await_workers(process, WORKERS))
    check_requests(before, said)
    check_statements(said, log)
    check_searches(said)
    check_what_went_wrong(said)
    check_pools(before, said)
    check_inventories(said, hosts)


def load(hosts: Sequence[str]) -> list[Request]:
    candidates = "/allocation_candidates?resources=VCPU:1"
    requests: list[Request] = []
    for number in range(ROUNDS):
        host = hosts[number % HOSTS]
        consumer = f"{os.urandom(4).hex()}-0000-4000-8000-{number:012}"
        requests += [
            ("GET", f"/resource_providers/{host}", None, "1.39"),
            ("GET", f"/resource_providers/{host}", None, "2.0"),
            ("GET", f"{candidates}&limit=1", None, "1.39"),
            ("GET", candidates, None, "2.0"),  # 2 of 3, as the option says
            ("GET", f"{candidates}&in_tree={hosts[0]}", None, "1.39"),
            ("PUT", f"/allocations/{consumer}", claim({host: {"VCPU": 2}}), "1.39"),
            ("PUT", f"/resource_providers/{host}", {"name": hosts[number % HOSTS - 1]}, "1.39"),
            ("GET", f"/nowhere/{number}", None, "1.39"),
            ("GET", "/traits", None, "9.9"),
        ]
    return requests


def check_processes(said: kit.Samples, workers: Set[int]) -> None:
    """A worker may not have counted anything yet. The master also has a file."""
    labels = kit.of(said, "process_resident_memory_bytes")
    shown = {int(label.removeprefix("process=")) for label in labels}
    assert len(shown & workers) > 1
    assert len(shown - workers) <= 1
    assert len(kit.of(said, "placement_build_info")) == 1


def check_requests(before: kit.Samples, said: kit.Samples) -> None:
    rounds = 2 * ROUNDS
    earlier = kit.of(before, "placement_requests_total")
    counted = {
        labels: value - earlier.get(labels, 0)
        for labels, value in kit.of(said, "placement_requests_total").items()
        if not any(each in labels for each in NOT_OF_THE_LOAD)
    }
    assert {labels: value for labels, value in counted.items() if value} == {
        "operation=show_resource_provider,status=200,version=1": rounds,
        "operation=show_resource_provider,status=200,version=2": rounds,
        "operation=list_allocation_candidates,status=200,version=1": 2 * rounds,
        "operation=list_allocation_candidates,status=200,version=2": rounds,
        "operation=replace_allocations,status=204,version=1": rounds,
        "operation=update_resource_provider,status=409,version=1": rounds,
        "operation=other,status=404,version=1": rounds,
        "operation=other,status=406,version=none": rounds,
        "operation=other,status=405,version=1": 1,
    }
    scrapes = kit.of(said, "placement_requests_total")
    # Two scrapes came before this one, which is counted after it.
    assert scrapes["operation=show_metrics,status=200,version=none"] == 2
    # Latencies: each request once, in its operation.
    by_operation: Counter[str] = Counter()
    for labels, value in kit.of(said, "placement_requests_total").items():
        by_operation[labels.partition(",")[0]] += int(value)
    assert kit.of(said, "placement_request_seconds_count") == by_operation
    sums = kit.of(said, "placement_request_seconds_sum")
    assert sums.keys() == by_operation.keys()
    assert all(0 < value < 300 * by_operation[labels] for labels, value in sums.items())
    for labels, count in by_operation.items():
        buckets = [
            value
            for each, value in kit.of(said, "placement_request_seconds_bucket").items()
            if each.endswith(labels)
        ]
        assert buckets == sorted(buckets)
        assert buckets[-1] == count
    assert kit.of(said, "placement_slow_requests_total") == {}


def check_statements(said: kit.Samples, log: str) -> None:
    """Check that the metrics and the log have the same counts."""
    shown = re.findall(r'"GET /resource_providers/[^/ ]+" .* statements: (\d+)$', log, re.MULTILINE)
    assert len(shown) == 2 * 2 * ROUNDS
    statements = kit.of(said, "placement_statements_total")["operation=show_resource_provider"]
    assert statements == sum(map(int, shown))


def check_searches(said: kit.Samples) -> None:
    rounds = 2 * ROUNDS
    assert kit.of(said, "placement_search_candidates_count") == {"": 3 * rounds}
    assert kit.of(said, "placement_search_candidates_sum") == {"": (1 + 2 + 1) * rounds}
    buckets = kit.of(said, "placement_search_candidates_bucket")
    assert [buckets[f"le={bound}"] for bound in ("0.0", "1.0", "10.0", "+Inf")] == [
        0, 2 * rounds, 3 * rounds, 3 * rounds,
    ]  # fmt: skip
    # A search looks at as many trees as it needs for its candidates, and tries one provider each.
    assert kit.of(said, "placement_search_trees_sum") == {"": (1 + 2 + 1) * rounds}
    assert kit.of(said, "placement_search_steps_sum") == {"": (1 + 2 + 1) * rounds}
    assert kit.of(said, "placement_search_bounds_total") == {
        "bound=max_allocation_candidates": rounds
    }
    trees = kit.of(said, "placement_trees_total")
    assert trees.keys() == {"source=memory", "source=database"}
    # Windows may be larger than what is searched of them; each worker reads a tree again when a
    # claim has changed it.
    assert sum(trees.values()) >= 4 * rounds
    assert trees["source=database"] >= HOSTS
    assert trees["source=memory"] > 0
    # Four workers live, and each keeps no more than there is.
    assert 0 < kit.of(said, "placement_tree_cache_providers")[""] <= WORKERS * HOSTS


def check_what_went_wrong(said: kit.Samples) -> None:
    assert kit.of(said, "placement_conflicts_total") == {
        "code=placement.duplicate_name": 2 * ROUNDS
    }
    assert kit.of(said, "placement_lost_commits_total") == {}
    assert kit.of(said, "placement_pool_timeouts_total") == {}
    # Claims on one host meet: how often is for chance to say, but nothing else may go wrong.
    retries = kit.of(said, "placement_write_retries_total")
    assert retries.keys() <= {
        f"cause={cause}" for cause in ("conflict", "duplicate", "deadlock", "database")
    }


def check_pools(before: kit.Samples, said: kit.Samples) -> None:
    name = "placement_pool_busy_seconds_total"
    earlier, later = kit.of(before, name), kit.of(said, name)
    assert later.keys() == {"pool=read", "pool=write"}
    assert all(earlier.get(pool, 0) < value < 3600 for pool, value in later.items())


def check_inventories(said: kit.Samples, hosts: Sequence[str]) -> None:
    assert kit.of(said, "openstack_placement_up") == {"": 1}
    claims = Counter(hosts[number % HOSTS] for number in range(ROUNDS))
    for host in hosts:
        vcpu = f"hostname={host},resourcetype=VCPU,root={host}"
        memory = f"hostname={host},resourcetype=MEMORY_MB,root={host}"
        for field, values in {
            "total": (1000, 4096),
            "reserved": (0, 0),
            "allocation_ratio": (1, 1),
            "usage": (2 * 2 * claims[host], 0),
        }.items():
            samples = kit.of(said, f"openstack_placement_resource_{field}")
            assert samples[vcpu] == values[0]
            assert samples[memory] == values[1]
            assert len(samples) == 2 * HOSTS
        # Each claim, and the inventories before, made a generation.
        generation = kit.of(said, "openstack_placement_resource_generation")[vcpu]
        assert generation == 1 + 2 * claims[host]


# -- reloads, the end, other servers --------------------------------------------------------


def test_a_reload_keeps_the_port_and_the_counts(tmp_path: Path) -> None:
    port = free_port()
    options = {"OS_METRICS__BIND_PORT": str(port), "OS_METRICS__TOKEN_REQUIRED": "false"}
    with serving(tmp_path, [database_url(tmp_path)], 2, **options) as [process]:
        labels = "operation=other,status=404,version=1"
        for rounds in (1, 2, 3):
            assert send_all(process.port, [("GET", "/nowhere", None, "1.0")] * 10) == {404: 10}
            said = scrape(port)
            assert kit.of(said, "placement_requests_total")[labels] == 10 * rounds
            workers = await_workers(process, 2)
            process.signal(signal.SIGHUP)
            await_workers(process, 2, workers)


def await_workers(process: Process, number: int, gone: Set[int] = frozenset()) -> Set[int]:
    """Wait until this number of workers is running. Return their ids."""
    deadline = time.monotonic() + ANSWER
    while len(workers := set(process.worker_ids())) != number or workers & gone:
        assert time.monotonic() < deadline, (workers, gone)
        time.sleep(0.05)
    return workers


def test_a_directory_of_its_own_goes_with_the_service(tmp_path: Path) -> None:
    database, directory = database_url(tmp_path), tmp_path / "tmp"
    directory.mkdir()
    with serving(tmp_path, [database], 2, TMPDIR=str(directory)) as [process]:
        assert len(list(directory.glob("placement-metrics-*"))) == 1
        victim = min(await_workers(process, 2))
        os.kill(victim, signal.SIGKILL)
        await_workers(process, 2, {victim})
        assert send(process.port, "GET", "/traits").status == 200
        assert len(list(directory.glob("placement-metrics-*"))) == 1
    assert list(directory.glob("placement-metrics-*")) == []


def test_without_metrics_nothing_is_counted_anywhere(tmp_path: Path) -> None:
    database, directory = database_url(tmp_path), tmp_path / "tmp"
    directory.mkdir()
    options = {"TMPDIR": str(directory), "OS_METRICS__ENABLED": "false"}
    with serving(tmp_path, [database], 1, **options) as [process]:
        assert send(process.port, "GET", "/metrics").status == 404
        assert list(directory.glob("placement-metrics-*")) == []


ONE_PROCESS = """
import sys
from wsgiref.simple_server import make_server
from placement.wsgi.api import application
make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
"""


def test_a_server_with_one_process_counts_equally(tmp_path: Path) -> None:
    port, config = free_port(), tmp_path / "etc"
    config.mkdir()
    (config / "placement.conf").touch()
    server = subprocess.Popen(
        [sys.executable, "-c", ONE_PROCESS, str(port)],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "OS_PLACEMENT_CONFIG_DIR": str(config),
            "OS_PLACEMENT_DATABASE__CONNECTION": database_url(tmp_path),
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_METRICS__TOKEN_REQUIRED": "false",
            "OS_METRICS__INVENTORY_SECONDS": "0.001",
            "TMPDIR": str(config),
        },
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + ANSWER
        while True:
            try:
                assert send(port, "GET", "/").status == 200
                break
            except NoAnswerError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        host = new_host(port, VCPU=4)
        for _ in range(7):
            assert send(port, "GET", f"/resource_providers/{host}").status == 200
        said = scrape(port)
        assert counted(said) == 9
    finally:
        server.kill()
        server.wait()
    requests = kit.of(said, "placement_requests_total")
    assert requests["operation=show_resource_provider,status=200,version=1"] == 7
    assert kit.of(said, "openstack_placement_resource_total") == {
        f"hostname={host},resourcetype=VCPU,root={host}": 4
    }
