"""Concurrent writers compared with a model of their responses.

`PLACEMENT_MODEL` says how many operations (default 400) are done with each of the seeds that
`PLACEMENT_SEEDS` lists (default 1).
"""

import os
from pathlib import Path

import pytest

from tests.cluster.model import Model, ViolationError
from tests.cluster.planted import FAULTS
from tests.kit.builders import database_url
from tests.kit.engines import ENGINE, behind
from tests.kit.processes import serving
from tests.kit.proxy import Cut

OPERATIONS = int(os.environ.get("PLACEMENT_MODEL", "200"))
SEEDS = [int(seed) for seed in os.environ.get("PLACEMENT_SEEDS", "1").split(",")]
CAUGHT_WITHIN = 6000  # operations
# SQLite has one writer at a time, on no connection that could be lost.
FOUND_BY_HISTORIES = {"no guard of generations", "pages of several moments"}
POSSIBLE = {"used is not moved"} if ENGINE == "sqlite" else set(FAULTS) - FOUND_BY_HISTORIES


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("processes", [2])
def test_the_database_agrees_with_the_responses_to_many_writers(
    tmp_path: Path, seed: int, processes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database_url(tmp_path)
    with serving(tmp_path, [url] * processes) as servers:
        model = Model([server.port for server in servers], seed)
        model.run(OPERATIONS)
        model.check(url)
    with capsys.disabled():
        done = sum(n for kind, n in model.shared.operations.items() if kind.endswith(": done"))
        print(f"\n{ENGINE}, seed {seed}: {model.operations} operations, {done} done")


@pytest.mark.skipif("PLACEMENT_MODEL" not in os.environ, reason="only in long runs")
@pytest.mark.parametrize("fault", sorted(POSSIBLE))
def test_a_planted_fault_is_caught(
    tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database_url(tmp_path)
    proxy = None
    served = url
    if "COMMIT" in fault:
        served, proxy = behind(url, seed=1)
        proxy.every = 10
    planted = "tests.cluster.planted:application"
    with serving(tmp_path, [served] * 4, application=planted, PLANTED=fault) as servers:
        model = Model([server.port for server in servers], seed=1, hosts=2)
        if proxy is not None:
            proxy.cut = Cut.BEFORE_COMMIT if "believed" in fault else Cut.AFTER_COMMIT

        def go_on() -> None:
            while model.operations < CAUGHT_WITHIN:
                model.run(100)
                model.check(url)

        with pytest.raises(ViolationError) as caught:
            go_on()
    with capsys.disabled():
        print(f"\n{ENGINE}, {fault}: caught within {model.operations} operations")
        print(str(caught.value)[:300])
