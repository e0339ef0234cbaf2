"""`python -m bench.scrape` measures the size of a scrape of the metrics, by number of hosts.

Only lines and bytes about the capacity and the usage of the cloud are measured: counters do not
grow with the cloud.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.clouds import flat, nested
from placement.metrics.inventories import Inventories
from tests.kit.builders import make_database
from tests.kit.cloud import Cloud, load


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scrape", description=__doc__)
    parser.add_argument("--hosts", type=int, default=10_000)
    options = parser.parse_args()
    for cloud in (flat(options.hosts, 1), nested(options.hosts)):
        text, seconds = scrape(cloud)
        lines = text.count(b"\n")
        sys.stdout.write(
            f"{cloud.name}: {lines:,} lines, {len(text):,} bytes, {seconds:.1f} s of CPU\n"
        )


def scrape(cloud: Cloud) -> tuple[bytes, float]:
    """Return the text for a cloud on SQLite, and the CPU seconds for creating it."""
    with tempfile.TemporaryDirectory() as directory:
        _settings, database = make_database(Path(directory))
        load(database.writer, cloud)
        started = time.process_time()
        text = Inventories(Path(directory), 60).text(database)
        seconds = time.process_time() - started
        database.dispose()
        return text, seconds


if __name__ == "__main__":
    main()
