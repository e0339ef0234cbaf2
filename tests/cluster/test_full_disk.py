"""A full directory ends the counting of a process, but not the process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.builders import database_url
from tests.kit.missing import need, skip
from tests.kit.processes import ANSWER, expect, send, serving


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if not os.geteuid():
        need("mount")
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        skip("no permission to mount a file system, which root has", "PLACEMENT_DEPLOY")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """Fill the file system."""
    with (disk / "filler").open("ab") as file:
        for start in range(0, 4 * 1024 * 1024, 4096):
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), start, 4096)
    assert os.statvfs(disk).f_bavail == 0


def test_a_worker_without_room_for_its_counts_serves_and_says_so(
    tmp_path: Path, disk: Path
) -> None:
    places = {"OS_METRICS__DIRECTORY": str(disk), "OS_METRICS__TOKEN_REQUIRED": "false"}
    with serving(tmp_path, [database_url(tmp_path)], 1, **places) as (process,):
        (worker,) = process.worker_ids()
        fill(disk)
        os.kill(worker, signal.SIGKILL)
        deadline = time.monotonic() + ANSWER
        while process.worker_ids() in ([], [worker]):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.await_answer()
        workers = process.worker_ids()
        for _ in range(5):
            expect(send(process.port, "GET", "/resource_providers"), 200)
        assert process.worker_ids() == workers
        lines = [line for line in process.log().splitlines() if "stops counting" in line]
        assert len(lines) == 1
        assert "No space left" in lines[0]
