"""`python -m bench.memory`: the memory of cached providers, and of a worker after its responses."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.__main__ import Databases
from bench.clouds import flat, nested, unequal
from bench.scenarios import FLAT, NESTED, limited
from bench.servers import REPOSITORY, serving
from bench.tables import Cell, Table, figure
from tests.kit.cloud import Cloud
from tests.kit.engines import SERVERS
from tests.kit.memory import memory_of_trees
from tests.kit.processes import exchange

PROVIDERS = "/resource_providers"
UP_TO_1000 = [limited(FLAT, number) for number in (1, 10, 100, 1000)]
# Name -> the cloud, and the paths that a client gets in turn.
ANSWERS: dict[str, tuple[Cloud, Sequence[str]]] = {
    "10,000 flat hosts, limits up to 1,000": (flat(10_000), UP_TO_1000),
    "100,000 flat hosts, limits up to 1,000": (flat(100_000), UP_TO_1000),
    "10,000 flat hosts, all candidates": (flat(10_000), [FLAT]),
    "100,000 flat hosts, all candidates": (flat(100_000), [FLAT]),
    "10,000 flat hosts, the list of all": (flat(10_000), [PROVIDERS]),
    "100,000 flat hosts, the list of all": (flat(100_000), [PROVIDERS]),
    "10,000 trees of seven providers, limit 1,000": (nested(10_000), [limited(NESTED, 1000)]),
    "10,000 trees of seven providers, all candidates": (nested(10_000), [NESTED]),
}
TIMES = 20


def trees(hosts: int) -> Table:
    """Return the bytes that a cached provider takes, without and with the text for responses."""
    clouds = {
        "flat": flat(hosts),
        "flat, unequal": unequal(hosts),
        "trees of seven": nested(hosts),
    }
    rows: dict[str, list[Cell]] = {}
    for name, cloud in clouds.items():
        with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
            memory = memory_of_trees(Path(scratch), cloud)
        rows[name] = [round(memory.trees), round(memory.with_text)]
    head = f"cloud of {hosts:,} hosts"
    return Table.of_run("sqlite", head, ["trees", "with text"], rows)


def answers(engine: str) -> Table:
    """Return the peak memory of a process after 20 responses, and the size of the last in MiB."""
    rows: dict[str, list[Cell]] = {}
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(engine, Path(scratch))
        for name, (cloud, paths) in ANSWERS.items():
            url, home = databases.of("ours", cloud), Path(scratch) / f"service-{len(rows)}"
            with serving("ours", url, home, databases.server, checkout=REPOSITORY, workers=1) as at:
                for path in [*paths] * (TIMES // len(paths)):
                    status, text = exchange(at.port, "GET", path, version="1.39")
                    assert status == 200, text
                rows[name] = [round(at.peak_memory()), figure(len(text) / 2**20)]
            print(name, *rows[name], sep="  ", flush=True)
    return Table.of_run(engine, "after", ["MiB", "response MiB"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=10_000, help="of the cached trees")
    options = parser.parse_args()
    trees(options.hosts).keep("memory-of-trees")
    answers(options.engine).keep("memory-of-answers")


if __name__ == "__main__":
    main()
