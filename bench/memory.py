"""`python -m bench.memory`: bytes that a process keeps of each provider, once it has read it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from prettytable import PrettyTable

from bench.clouds import flat, nested, unequal
from tests.kit.memory import memory_of_trees


def main(hosts: int = 10_000) -> None:
    """Measure and print."""
    table = PrettyTable(["cloud", "trees", "with their text"], align="r")
    for cloud in (flat(hosts), unequal(hosts), nested(hosts)):
        with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
            memory = memory_of_trees(Path(scratch), cloud)
        table.add_row([cloud.name, round(memory.trees), round(memory.with_text)])
    print(table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
