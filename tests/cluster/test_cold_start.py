"""Schedulers ask workers that have just started and have read no trees yet.

`PLACEMENT_COLD_HOSTS` is the number of hosts (default 1000).
"""

import os
import threading
import time
from pathlib import Path

import sqlalchemy as sa

from bench.clouds import ZONES, computes
from bench.scenarios import OF_NOVA
from tests.kit.builders import database_url
from tests.kit.cloud import load
from tests.kit.processes import Answer, Process, send

HOSTS = int(os.environ.get("PLACEMENT_COLD_HOSTS", "1000"))
SCHEDULERS = 8
WORKERS = 2


def test_no_scheduler_is_refused_while_all_workers_start_cold(tmp_path: Path) -> None:
    url = database_url(tmp_path)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    load(engine, computes(HOSTS))
    process = Process(
        tmp_path / "server",
        url,
        WORKERS,
        # The defaults.
        OS_PLACEMENT__REQUEST_DEADLINE="30",
        OS_PLACEMENT_DATABASE__STATEMENT_TIMEOUT="4",
    )
    answers: list[Answer] = []
    seconds: list[float] = []
    start = threading.Barrier(SCHEDULERS)

    def schedule() -> None:
        start.wait()
        began = time.monotonic()
        answers.append(send(process.port, "GET", OF_NOVA, version="1.36"))
        seconds.append(time.monotonic() - began)

    try:
        process.await_answer()
        schedulers = [threading.Thread(target=schedule) for _ in range(SCHEDULERS)]
        for scheduler in schedulers:
            scheduler.start()
        for scheduler in schedulers:
            scheduler.join()
    finally:
        process.stop()
    print(f"{HOSTS} hosts: the longest response took {max(seconds):.1f} s")
    assert [answer.status for answer in answers] == [200] * SCHEDULERS, process.log()
    of_zone = sum(number % ZONES == 1 for number in range(HOSTS))
    for answer in answers:
        assert len(answer.body["allocation_requests"]) == min(1000, of_zone)
