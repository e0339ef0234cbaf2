"""What operators' commands take on a large cloud: `python -m bench.operations`.

Audits the database, and dumps the server's cloud at 2.0 and as one of 1.39 has to be asked. Flat
hosts with 10 consumers each, SQLite; seconds, and the largest memory of this process.
"""

from __future__ import annotations

import io
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from unittest import mock

import sqlalchemy as sa
from prettytable import PrettyTable

from bench.clouds import flat
from bench.servers import REPOSITORY, serving
from placement.db.engine import Database
from placement.loader import dump_cloud
from placement.objects import audit
from placement.objects.audit import Inquiry, Owners
from tests.kit.builders import prepare, settings
from tests.kit.cloud import consumer_uuid, load

CONSUMERS = 10  # on each host


def main(hosts: int = 10_000) -> None:
    """Measure and print."""
    table = PrettyTable(["command", "seconds", "MiB"], align="r")
    with tempfile.TemporaryDirectory(prefix="placement-bench-") as scratch:
        url = f"sqlite:///{scratch}/placement.db"
        prepare(url)
        load(sa.create_engine(url, poolclass=sa.NullPool), flat(hosts, CONSUMERS))
        table.add_row(["audit", *_measured(lambda: _audit(url, hosts))])
        with serving("ours", url, Path(scratch) / "home", None, checkout=REPOSITORY) as server:
            there = f"http://127.0.0.1:{server.port}"
            path = Path(scratch) / "cloud.yaml"

            def dump() -> None:
                dump_cloud(there, "admin", path=str(path), out=io.StringIO())

            table.add_row(["dump-cloud, 2.0", *_measured(dump)])
            with mock.patch("placement.loader.reading.LISTING", "none"):
                table.add_row(["dump-cloud, 1.39", *_measured(dump)])
    print(f"{hosts} hosts, {hosts * CONSUMERS} consumers")
    print(table)


def _measured(work: Callable[[], object]) -> tuple[str, int]:
    begun = time.perf_counter()
    work()
    seconds = time.perf_counter() - begun
    return f"{seconds:.1f}", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _audit(url: str, hosts: int) -> None:
    """Ask everything, where the last thousand consumers have no owner."""
    known = {consumer_uuid(number) for number in range(1, hosts * CONSUMERS - 999)}
    database = Database(settings(url).database)
    with database.read() as conn:
        inquiry = Inquiry(conn, Owners(known, datetime(2100, 1, 1)))
        count = sum(len(list(check.find(inquiry))) for check in audit.CHECKS)
    assert count == 1000
    database.dispose()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
