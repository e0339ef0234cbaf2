"""`python -m bench.instructions`: instructions of a request, here and in another checkout.

Processor seconds depend on what else a machine does, instructions do not: a few requests through
the whole application in this process show differences of 1 %. Instructions of Python and SQLite
are counted, instructions of the kernel are not. `--beside ../earlier` is a checkout where
`make .venv/installed-test` has run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.servers import REPOSITORY
from bench.tables import Cell, Table


def count(checkout: Path, data: Path, *arguments: str) -> dict[str, float]:
    """Return row -> instructions of a request of the service in the checkout."""
    python = sys.executable if checkout == REPOSITORY else str(checkout / ".venv/bin/python")
    # The same rows are used for both checkouts, because the other checkout may not contain them.
    rows = Path(__file__).with_name("instruction_rows.py")
    data.mkdir(parents=True, exist_ok=True)
    outside = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    output = subprocess.run(
        [python, "-P", str(rows), str(data), *arguments],
        cwd=checkout,
        env={**outside, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    counts: dict[str, float] = json.loads(output.splitlines()[-1])
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout")
    parser.add_argument("--data", type=Path, help="keep the clouds for the next run")
    parser.add_argument("--hosts", type=int, default=10_000)
    parser.add_argument("--only", default="", help="rows whose names begin so")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        data = options.data or Path(scratch)
        arguments = (f"--hosts={options.hosts}", f"--only={options.only}")
        columns = {
            "without metrics": count(REPOSITORY, data / "ours", *arguments),
            "with": count(REPOSITORY, data / "ours", "--metrics", *arguments),
        }
        if options.beside is not None:
            beside = options.beside.resolve()
            columns = {"beside": count(beside, data / beside.name, *arguments), **columns}
    heads: list[str] = []
    rows: dict[str, list[Cell]] = {row: [] for row in next(iter(columns.values()))}
    for name, counts in columns.items():
        first = not heads
        heads += [name] if first else [name, f"{name}, change"]
        for row, cells in rows.items():
            cells.append(round(counts[row] / 1000))
            if not first:
                least = next(iter(columns.values()))[row]
                cells.append(f"{100 * (counts[row] - least) / least:+.1f} %")
    Table.of_run("sqlite", "thousand instructions", heads, rows).keep("instructions")


if __name__ == "__main__":
    main()
