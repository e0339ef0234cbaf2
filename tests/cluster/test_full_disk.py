"""Full directories end a single request, or the counting of a process, but not the process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.builders import database_url
from tests.kit.processes import ANSWER, HEADERS, Process, expect, new_host, send, serving

HEAD = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
DEVICES = 30  # whose candidates are more than the kernel keeps for a client


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("only root can mount a file system")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    """Fill the file system."""
    with (disk / "filler").open("ab") as file:
        for start in range(0, 4 * 1024 * 1024, 4096):
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), start, 4096)
    assert os.statvfs(disk).f_bavail == 0


def test_a_full_directory_for_temporary_files_ends_one_request(tmp_path: Path, disk: Path) -> None:
    metrics = tmp_path / "metrics"
    places = {"TMPDIR": str(disk), "OS_METRICS__DIRECTORY": str(metrics)}
    with serving(tmp_path, [database_url(tmp_path)], 1, **places) as (process,):
        root = new_host(process.port)
        for _ in range(DEVICES):
            new_host(process.port, root, VGPU=1)
        fill(disk)
        workers = process.worker_ids()
        body = {"name": "x", "padding": " " * 1_000_000}
        refused = expect(send(process.port, "POST", "/resource_providers", body), 503)
        assert "no room for the body" in refused.detail
        groups = "".join(f"&resources{number}=VGPU:1" for number in (1, 2, 3))
        path = f"/allocation_candidates?group_policy=none{groups}"
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.settimeout(ANSWER)
            reader.connect(("127.0.0.1", process.port))
            reader.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{HEAD}\r\n".encode())
            await_line(process, "cannot store an answer")
            received = b"".join(iter(lambda: reader.recv(65536), b""))
        assert received.count(b'"mappings"') < DEVICES**3
        assert process.worker_ids() == workers
        for _ in range(3):
            expect(send(process.port, "GET", "/resource_providers"), 200)
        spent = processor_seconds(workers)
        time.sleep(0.5)
        assert processor_seconds(workers) == pytest.approx(spent, abs=0.2)  # no loop spins
        (disk / "filler").unlink()
        expect(send(process.port, "POST", "/resource_providers", body), 400)


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


def await_line(process: Process, text: str) -> None:
    deadline = time.monotonic() + ANSWER
    while text not in process.complaint():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def processor_seconds(processes: list[int]) -> float:
    """Return the processor time of processes."""
    texts = [Path(f"/proc/{each}/schedstat").read_text() for each in processes]
    return sum(int(text.split()[0]) for text in texts) / 1e9
