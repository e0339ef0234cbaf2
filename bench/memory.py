"""`python -m bench.memory` measures the memory of each cached provider."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.clouds import flat, nested, unequal
from bench.tables import Cell, Table
from tests.kit.memory import memory_of_trees


def main(hosts: int = 10_000) -> None:
    rows: dict[str, list[Cell]] = {}
    for cloud in (flat(hosts), unequal(hosts), nested(hosts)):
        with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
            memory = memory_of_trees(Path(scratch), cloud)
        rows[cloud.name] = [round(memory.trees), round(memory.with_text)]
    Table.of_run("sqlite", "cloud", ["trees", "with text"], rows).keep("memory")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
