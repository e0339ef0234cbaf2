"""The memory of a process that serves requests."""

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import growing
from tests.kit.builders import database_url, make_database
from tests.kit.cloud import load

THREADS = 4

# Of different requests. `PLACEMENT_GROWTH=100000` also checks the memory of the process.
REQUESTS = int(os.environ.get("PLACEMENT_GROWTH", "600"))
SEED = os.environ.get("PLACEMENT_GROWTH_SEED", "1")
MAX_GROWTH = 40 << 10  # KiB after the first 5,000 requests
MAX_PEAK = 64 << 10  # KiB that one request, and making it, may use in addition
# Objects that one more request leaves, while responses and policy results fill their caches. A
# statement of its own would leave 600.
MAX_OBJECTS = 20

# Imports what the argument names, and shows the heaps of the C library once some threads have taken
# memory at the same time.
SHOW_HEAPS = f"""
import ctypes, importlib, sys, threading

importlib.import_module(sys.argv[1])
assert "alembic" not in sys.modules  # 130 modules that only a migration needs
taken, shown = threading.Barrier({THREADS + 1}), threading.Barrier({THREADS + 1})

def take():
    large = bytes(10_000)  # more than Python takes from pools of its own
    taken.wait()
    shown.wait()

for _ in range({THREADS}):
    threading.Thread(target=take).start()
taken.wait()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
stdout = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stdout)
libc.fflush(stdout)
shown.wait()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not GNU's C library")
def test_threads_that_answer_share_one_heap(tmp_path: Path) -> None:
    (tmp_path / "placement.conf").touch()
    environment = {
        **os.environ,
        "OS_PLACEMENT_CONFIG_DIR": str(tmp_path),
        "OS_PLACEMENT_DATABASE__CONNECTION": database_url(tmp_path),
        "OS_API__AUTH_STRATEGY": "noauth2",
    }
    environment.pop("MALLOC_ARENA_MAX", None)

    def heaps(module: str) -> int:
        command = [sys.executable, "-c", SHOW_HEAPS, module]
        shown = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
        return shown.count(b"<heap nr=")

    assert heaps("placement.wsgi.api") == 1
    assert heaps("placement.entry.app") > 1


def test_different_requests_do_not_grow_the_process(tmp_path: Path) -> None:
    (tmp_path / "placement.conf").touch()
    _settings, database = make_database(tmp_path)
    load(database.writer, growing.cloud(random.Random(SEED)))
    environment = {
        **os.environ,
        "OS_PLACEMENT_CONFIG_DIR": str(tmp_path),
        "OS_PLACEMENT_DATABASE__CONNECTION": database.writer.url.render_as_string(False),
        "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
        "OS_API__AUTH_STRATEGY": "noauth2",
        "OS_DEFAULT__LOG_FILE": str(tmp_path / "placement.log"),
    }
    command = [sys.executable, "-m", "tests.cluster.growing", str(REQUESTS), SEED]
    shown = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    (resident, _peak, objects), (last_resident, peak, last_objects) = [
        map(int, line.split()) for line in shown.splitlines()
    ]
    print(
        f"{REQUESTS} requests: {resident >> 10} MiB, then {last_resident >> 10} MiB,"
        f" at most {peak >> 10} MiB, {last_objects - objects} more objects"
    )
    assert peak - resident < MAX_PEAK
    assert last_objects - objects < MAX_OBJECTS * REQUESTS / 2
    if REQUESTS > growing.FIRST:
        assert last_resident - resident < MAX_GROWTH
