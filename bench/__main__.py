"""`python -m bench`: compare with openstack-placement 16.0.0 (docs/development/bench.rst).

The program loads clouds into a private database server, runs the scenarios on all servers in turn,
and writes the results as JSON and as a table.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

import sqlalchemy as sa

from bench import report
from bench.measure import measure
from bench.scenario import Scenario
from bench.scenarios import FAMILIES, SEPARATE
from bench.servers import REPOSITORY, serving
from bench.tables import RESULTS
from placement.db import tables as t
from tests.kit.builders import prepare
from tests.kit.cloud import Cloud, load
from tests.kit.engines import SERVERS
from tests.kit.engines import Server as DatabaseServer

OUR_INDEX = "inventories_resource_class_max_unit_idx"
OPTIONS = {
    "mariadb": ("--innodb-buffer-pool-size=2G",),
    "mysql": ("--innodb-buffer-pool-size=2G",),
    "postgresql": ("-c", "shared_buffers=1GB"),
}
# Options with which a COMMIT is on the disk, as operators set them.
DURABLE = {
    "mariadb": (
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-flush-method=O_DIRECT",
        "--log-bin",
        "--server-id=1",
        "--sync-binlog=1",
    ),
    "mysql": (
        "--innodb-flush-log-at-trx-commit=1",
        "--innodb-flush-method=O_DIRECT",
        "--sync-binlog=1",
    ),
    "postgresql": ("-c", "fsync=on"),
}


class Databases:
    """The databases of the clouds: databases of a server, or files."""

    def __init__(self, engine: str, directory: Path, *, durable: bool = False) -> None:
        self.engine = engine
        self.server: DatabaseServer | None = None  # None for files
        self._directory = directory
        if engine != "sqlite":
            options = OPTIONS[engine] + (DURABLE[engine] if durable else ())
            self.server = SERVERS[engine](directory / engine, options)

    def of(self, owner: str, cloud: Cloud) -> str:
        """Return the URL of a cloud's database. Load the cloud if it is missing."""
        name = f"{owner}_{cloud.name}"
        if self.server is None:
            path = self._directory / f"{name}.db"
            url, there = f"sqlite:///{path}", path.exists()
        else:
            url, there = self.server.url(name), name in self.server.databases()
        started = time.monotonic()
        if self.server is not None and not there:
            self.server.execute(f"CREATE DATABASE {name}")
        prepare(url)
        engine = sa.create_engine(url, poolclass=sa.NullPool)
        if owner == "peer":
            forgo_index(engine)
        if there:
            return url
        load(engine, cloud)
        print(f"loaded {name} in {time.monotonic() - started:.0f} s", flush=True)
        return url


def forgo_index(engine: sa.Engine) -> None:
    """Drop the index that only the schema of this service contains."""
    (index,) = (each for each in t.inventories.indexes if each.name == OUR_INDEX)
    index.drop(engine, checkfirst=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--sizes", default="1000,10000", help="numbers of hosts, comma-separated")
    parser.add_argument(
        "--only",
        default=",".join(name for name in FAMILIES if name not in SEPARATE),
        help=f"of {', '.join(FAMILIES)}; aims: the rows of a release, independent of the sizes; "
        f"by default all but {', '.join(SEPARATE)}",
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="for each server and scenario")
    parser.add_argument("--alone", action="store_true", help="leave openstack-placement out")
    parser.add_argument(
        "--beside",
        type=Path,
        metavar="CHECKOUT",
        help="measure an earlier checkout of this service, too, where `make test` ran",
    )
    parser.add_argument("--data", type=Path, help="keep the loaded clouds here for the next run")
    parser.add_argument(
        "--durable",
        action="store_true",
        help="have the database server synchronize each COMMIT to the disk of --data",
    )
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.durable and options.engine == "sqlite":
        parser.error("--durable needs a database server")
    sizes = [int(size) for size in options.sizes.split(",")]
    scenarios = [each for name in options.only.split(",") for each in FAMILIES[name](sizes)]
    if not options.alone:
        os.environ.setdefault("PLACEMENT_PEER", ".venv/openstack-placement")
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        # Database servers run with separate accounts.
        Path(scratch).chmod(0o755)
        directory = options.data or Path(scratch)
        databases = Databases(options.engine, directory, durable=options.durable)
        others = [] if options.beside is None else ["before"]
        others += [] if options.alone else ["peer"]
        results = report.Results(options.engine, options.output, others)
        for (cloud, _workers), equal in groupby(
            scenarios, key=lambda each: (each.cloud.name, each.workers)
        ):
            run(list(equal), databases, Path(scratch) / cloud, options, results)
    results.finish()


def run(
    scenarios: list[Scenario],
    databases: Databases,
    home: Path,
    options: argparse.Namespace,
    results: report.Results,
) -> None:
    """Measure the scenarios of one cloud and number of workers."""
    cloud, workers = scenarios[0].cloud, scenarios[0].workers
    # The servers to measure, each with a separate database, and the checkout of each server.
    sides: dict[str, Path | None] = {"ours": REPOSITORY}
    if options.beside is not None:
        sides["before"] = options.beside.resolve()
    if not options.alone and any(scenario.peer for scenario in scenarios):
        sides["peer"] = None
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                serving(
                    name,
                    databases.of(name, cloud),
                    home / name,
                    databases.server,
                    checkout=checkout,
                    workers=workers,
                )
            )
            for name, checkout in sides.items()
        ]
        for scenario in scenarios:
            measured = [each for each in servers if scenario.peer or each.name != "peer"]
            figures = measure(scenario, measured, options.seconds)
            memory = {server.name: server.peak_memory() for server in measured}
            results.add(scenario, figures, memory)


if __name__ == "__main__":
    main()
