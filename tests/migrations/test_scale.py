"""The duration and CPU time of `db sync` and `db check` for a large deployment, in seconds.

Runs when ``PLACEMENT_SCALE`` names a number of hosts. Each gets an inventory of three classes and
20 allocations. ::

    PLACEMENT_SCALE=10000 PLACEMENT_ENGINE=mariadb pytest -q tests/migrations/test_scale.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db.engine import Database
from tests.kit import engines
from tests.kit.cloud import provider_uuid
from tests.kit.engines import ENGINE
from tests.kit.rows import insert
from tests.migrations import existing

HOSTS = int(os.environ.get("PLACEMENT_SCALE", "0"))
CLASSES = {0: ("VCPU", 256), 1: ("MEMORY_MB", 1024 * 1024), 2: ("DISK_GB", 20000)}
ALLOCATIONS = 20  # of a host
BATCH = 5000

pytestmark = pytest.mark.skipif(not HOSTS, reason="PLACEMENT_SCALE is not set")


def consumer(number: int) -> str:
    return f"c0000000-0000-4000-8000-{number:012d}"


def providers() -> Iterator[dict[str, object]]:
    for host in range(1, HOSTS + 1):
        row = {"id": host, "uuid": provider_uuid(host), "name": f"host {host}", "generation": 1}
        yield {**row, "root_provider_id": host}


def inventories() -> Iterator[dict[str, object]]:
    for host in range(1, HOSTS + 1):
        for class_id, (_, total) in CLASSES.items():
            yield {
                "resource_provider_id": host,
                "resource_class_id": class_id,
                "total": total,
                "reserved": 1,
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": 1.5,
            }


def allocations() -> Iterator[dict[str, object]]:
    for host in range(1, HOSTS + 1):
        for each in range(ALLOCATIONS):
            yield {
                "resource_provider_id": host,
                "consumer_id": consumer(host * ALLOCATIONS + each // len(CLASSES)),
                "resource_class_id": each % len(CLASSES),
                "used": 1 + each,
            }


def consumers() -> Iterator[dict[str, object]]:
    for name in dict.fromkeys(row["consumer_id"] for row in allocations()):
        yield {"uuid": name, "project_id": 1, "user_id": 1, "generation": 1}


def fill(conn: sa.Connection) -> None:
    if conn.dialect.name == "mysql":
        conn.execute(sa.text("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'"))
    classes = [{"id": number, "name": name} for number, (name, _) in CLASSES.items()]
    insert(conn, "resource_classes", *classes)
    for table in ("projects", "users"):
        insert(conn, table, {"id": 1, "external_id": "p"})
    for table, rows in (
        ("resource_providers", providers()),
        ("inventories", inventories()),
        ("consumers", consumers()),
        ("allocations", allocations()),
    ):
        while batch := list(islice(rows, BATCH)):
            insert(conn, table, *batch)


def cpu_time() -> float:
    """Return the CPU time of this process and of the database server, with its processes."""
    ticks = 0
    if ENGINE != "sqlite":
        server = str(engines.server().pid)
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # the process has ended
            if server in {path.parent.name, fields[1]}:
                ticks += sum(map(int, fields[11:13]))
            if server == path.parent.name:
                ticks += sum(map(int, fields[13:15]))  # of processes that have ended
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def test_seconds(database: Database, manage: Any, capsys: pytest.CaptureFixture[str]) -> None:
    existing.make_tables(database, "a082b8bb98d0")
    with database.writer.begin() as conn:
        fill(conn)

    def timed(what: str, command: Callable[[], int], expected: int) -> None:
        start, cpu_before = time.monotonic(), cpu_time()
        assert command() == expected
        took, cpu = time.monotonic() - start, cpu_time() - cpu_before
        with capsys.disabled():
            print(f"\n{ENGINE}, {HOSTS} hosts: {what}: {took:.1f} s, CPU {cpu:.1f} s", end="")

    timed("db sync, the first", lambda: manage("db", "sync"), 0)
    timed("db sync, again", lambda: manage("db", "sync"), 0)
    timed("db check, nothing wrong", lambda: manage("db", "check"), 0)
    with database.writer.begin() as conn:
        conn.execute(sa.text("UPDATE inventories SET used = used + 1, total = total + 1"))
        conn.execute(sa.text("UPDATE resource_providers SET root_provider_id = 1"))
        conn.execute(sa.text("DELETE FROM consumers WHERE id > 3"))
    timed("db check, everything wrong", lambda: manage("db", "check"), 1)
    timed("db check --repair", lambda: manage("db", "check", "--repair"), 0)
