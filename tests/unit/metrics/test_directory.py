"""The counts of ended processes are kept, in a constant number of files."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from placement import config
from placement.compat.prometheus import FILE_SIZE, AllocatedFile
from placement.errors import ConfigurationError
from placement.metrics import Metrics, directory, processes
from placement.metrics.declarations import PROCESSES
from tests.kit import metrics as kit
from tests.kit.builders import make_database

# Counts three requests and six trees, and ends as if it had been killed.
WORKER = """
import os, sys
from placement.runtime import events
from placement.runtime.events import Event
from placement.metrics import directory
from pathlib import Path
directory.use(sys.argv[1])
from placement.metrics.counts import Counts
count = Counts()
for _ in range(3):
    count(Event.REQUEST, dict(operation="list_traits", version="1.0", status="200", seconds=0.5,
                              statements=1, slow=False))
count(Event.TREES, dict(cached=2, loaded=4, kept=40))
print(os.getpid(), flush=True)
if len(sys.argv) > 2:
    sys.stdin.read()
os._exit(9)
"""
REQUESTS = "placement_requests_total"


def start(counts: Path, *more: str) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(counts), *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert int(worker.stdout.readline()) == worker.pid
    return worker


def end(worker: subprocess.Popen[str]) -> None:
    worker.communicate()


def files(counts: Path) -> set[str]:
    return {path.name for path in counts.glob("*.db")}


def test_the_counts_of_processes_that_are_gone_are_kept_in_one_file(tmp_path: Path) -> None:
    _settings, database = make_database(tmp_path)
    counts = tmp_path / "metrics"
    with kit.counting(counts, inventory_seconds=0) as metrics:
        own = files(counts)
        alive = start(counts, "stay")
        for number in (1, 2):
            end(start(counts))
            said = kit.samples(metrics.text(database))
            labels = "operation=list_traits,status=200,version=1"
            assert kit.of(said, REQUESTS) == {labels: 3 * number + 3}
            seconds = kit.of(said, "placement_request_seconds_sum")
            assert seconds == {"operation=list_traits": 1.5 * (number + 1)}
            bucket = "le=0.5,operation=list_traits"
            assert kit.of(said, "placement_request_seconds_bucket")[bucket] == 3 * number + 3
            # What is in memory is so only while the process lives.
            assert kit.of(said, "placement_tree_cache_providers") == {"": 40}
            kinds = ("counter", "gauge_livesum", "histogram")
            assert files(counts) - own == {
                *(f"{kind}_{alive.pid}.db" for kind in kinds),
                "counter_gone.db",
                "histogram_gone.db",
            }
        end(alive)
        said = kit.samples(metrics.text(database))
        assert kit.of(said, "placement_tree_cache_providers") == {"": 0}
        assert kit.of(said, REQUESTS) == {labels: 9}
    database.dispose()


def test_a_directory_that_cannot_be_one_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"^\[metrics\] directory: .*file.*") as refusal:
        directory.use(str(tmp_path / "file" / "metrics"))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["placement.db", "counter_x.db", "my_12.db"])
def test_a_directory_with_databases_of_others_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "counter_12.db").touch()
    directory.use(str(tmp_path))
    (tmp_path / name).touch()
    with pytest.raises(ConfigurationError, match=rf"{name} is not a file of the metrics"):
        directory.use(str(tmp_path))


def test_a_directory_of_their_own_is_removed_by_the_process_that_made_it(tmp_path: Path) -> None:
    script = """
import os, sys
from placement.metrics import directory
made = directory.use(None)
assert directory.use(None) == made
if os.fork() == 0:
    sys.exit(0)  # with what runs at the end of a process
os.wait()
assert made.is_dir()
print(made)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    made = Path(done.stdout.strip())
    assert made.parent == tmp_path
    assert not made.exists()


def test_a_file_without_room_is_an_error_and_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    with pytest.raises(OSError, match="No space"):
        AllocatedFile(str(tmp_path / "counter_1.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_has_all_its_blocks_when_it_is_made_and_when_it_grows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "counter_1.db"
    file = AllocatedFile(str(path))
    for number in range(2000):
        file.write_value(f"{number:050}", float(number), 0.0)
        found = path.stat()
        assert found.st_blocks * 512 >= found.st_size
    assert found.st_size > FILE_SIZE
    # Without room the values that are there can still be moved.
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    with pytest.raises(OSError, match="No space"):
        file.write_value("x" * found.st_size, 1.0, 0.0)
    file.write_value(f"{7:050}", 8.0, 0.0)
    file.close()
    read = {key: value for key, value, *_ in AllocatedFile.read_all_values_from_file(str(path))}
    assert read[f"{7:050}"] == 8.0
    assert read[f"{1999:050}"] == 1999.0


def no_room(*_arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def process_samples(counts: Path) -> dict[str, set[int]]:
    """Which processes a metric of processes has a value for, by its name."""
    found: dict[str, set[int]] = {}
    for name, labels in kit.samples(processes.text(directory.processes(counts).items())):
        found.setdefault(name, set()).add(int(labels.removeprefix("process=")))
    return found


def test_each_process_that_counts_is_shown_while_it_lives(tmp_path: Path) -> None:
    workers = [start(tmp_path, "stay") for _ in range(2)]
    living = {worker.pid for worker in workers}
    assert process_samples(tmp_path) == {metric.name: living for metric in PROCESSES}
    end(workers[0])
    living.remove(workers[0].pid)
    assert process_samples(tmp_path) == {metric.name: living for metric in PROCESSES}
    end(workers[1])
    assert process_samples(tmp_path) == {}


def test_values_of_a_process_equal_the_values_of_the_kernel(tmp_path: Path) -> None:
    worker = start(tmp_path, "stay")
    try:
        said = kit.samples(processes.text(directory.processes(tmp_path).items()))
        status = Path(f"/proc/{worker.pid}/status").read_text()
        resident = int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024
        label = f"process={worker.pid}"
        assert said["process_resident_memory_bytes", label] == pytest.approx(resident, rel=0.05)
        files = len(os.listdir(f"/proc/{worker.pid}/fd"))
        assert said["process_open_fds", label] == files
    finally:
        end(worker)


def test_each_taint_of_the_service_is_shown(tmp_path: Path) -> None:
    _settings, database = make_database(tmp_path)
    options = config.MetricsSettings(True, "/metrics", None, True, str(tmp_path / "counts"), 0)
    said = kit.samples(Metrics(options, {"CUSTOM_B", "CUSTOM_A"}).text(database))
    database.dispose()
    assert kit.of(said, "placement_taint_info") == {"trait=CUSTOM_A": 1, "trait=CUSTOM_B": 1}
