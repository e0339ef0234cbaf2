"""`python -m bench.scale`: what operators wait for on a large cloud, and the memory that it takes.

`db check` and `db sync` as commands, and a service from its start to its first responses. `python
-m bench --only growth` has the requests of a warm service.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.__main__ import Databases
from bench.clouds import light
from bench.scenarios import FLAT, limited
from bench.servers import REPOSITORY, serving
from bench.tables import Cell, Table, figure
from tests.kit.cloud import provider_uuid
from tests.kit.engines import SERVERS
from tests.kit.processes import exchange

# The commands have no time limit.
COMMANDS = (("db", "check"), ("db", "sync"))
FIRST = (
    ("limit 10", "1.39", limited(FLAT, 10)),
    ("3 match, limit 10", "1.39", limited(f"{FLAT}&required=CUSTOM_RARE", 10)),
    ("first page of providers", "2.0", "/resource_providers?limit=1000"),
    ("one provider", "1.39", f"/resource_providers/{provider_uuid(77)}"),
)


def run(python: str, checkout: Path, url: str, arguments: Sequence[str]) -> list[Cell]:
    """Run a command. Return its duration in seconds, and its peak memory in MiB."""
    environment = {key: each for key, each in os.environ.items() if not key.startswith("OS_")}
    environment["OS_PLACEMENT_DATABASE__CONNECTION"] = url
    code = "import sys; from placement.cli import main; sys.exit(main())"
    started = time.monotonic()
    process = subprocess.Popen([python, "-c", code, *arguments], cwd=checkout, env=environment)
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} has failed")
    return [figure(time.monotonic() - started), round(usage.ru_maxrss / 1024)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", *SERVERS), default="mariadb")
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--data", type=Path, help="keep the loaded clouds here for the next run")
    parser.add_argument("--checkout", type=Path, default=REPOSITORY, help="whose service it is")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    python = sys.executable if checkout == REPOSITORY else str(checkout / ".venv/bin/python")
    cloud, rows = light(options.hosts), dict[str, list[Cell]]()
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        Path(scratch).chmod(0o755)
        databases = Databases(options.engine, options.data or Path(scratch))
        url = databases.of("ours", cloud)
        for command in COMMANDS:
            rows[" ".join(command)] = run(python, checkout, url, command)
        started = time.monotonic()
        home = Path(scratch) / "service"
        with serving("ours", url, home, databases.server, checkout=checkout, workers=1) as server:

            def add(row: str) -> None:
                seconds = time.monotonic() - started
                rows[row] = [round(seconds, 3), round(server.peak_memory())]

            add("start of a service, until it answers")
            for time_of in ("first", "second"):
                for name, version, path in FIRST:
                    started = time.monotonic()
                    status, _text = exchange(server.port, "GET", path, version=version)
                    assert status == 200
                    add(f"{name}, {time_of} request")
    Table.of_run(options.engine, "what", ["s", "MiB"], rows).keep("scale")


if __name__ == "__main__":
    main()
