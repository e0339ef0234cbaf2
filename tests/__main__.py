"""`python -m tests` runs the quick tests on SQLite, and a few tests on each installed server.

`python -m tests --all` runs all tests on SQLite, and the engine-dependent tests on each installed
server. `PLACEMENT_ENGINES=sqlite,mariadb,postgresql` selects the engines that must run. A missing
server then fails. With `PLACEMENT_SERVERS`, a sample of the tests runs on the servers of that
directory, and nothing on SQLite. `tests/selection.py` defines the sample, the few tests, and the
tests that do not run on servers. With `--all`, `PLACEMENT_GALERA` adds the tests on a cluster,
`PLACEMENT_MYSQLCLIENT` adds the tests of the database and its faults with that driver, and
`PLACEMENT_FRESH` leaves out the quick tests on SQLite, because `make fresh` runs them.

The suite is cut into parts, which run next to each other: some wait most of the time, for servers
to start and for connections to time out, while others compute. `PLACEMENT_JOBS` is how many run at
once. Arguments go to pytest; folders and files among them run instead of the parts.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.kit.engines import SERVERS, SERVERS_ROOT, installed, version
from tests.selection import files_of, has_tests_of_servers

ENGINES = ("sqlite", *SERVERS)
# Part -> its folders; the longest part is first. Explorer and documents need a process each:
# Playwright refuses to run where asyncio has run.
PARTS: Mapping[str, Sequence[str]] = {
    "deployment": ("tests/deploy",),
    "explorer": ("tests/explorer",),
    "database": ("tests/db",),
    "api": ("tests/api",),
    "processes": ("tests/cluster",),
    "rest": (),
    "migrations": ("tests/migrations",),
    "properties": ("tests/properties",),
    "documents": ("tests/docs", "tests/examples"),
}
# Those of `make test`. The others run with `--all` alone.
QUICK = ("api", "database", "rest", "migrations", "properties")
NAMED = [folder for folders in PARTS.values() for folder in folders]
REST = ("tests", *(f"--ignore={folder}" for folder in NAMED))
JOBS = int(os.environ.get("PLACEMENT_JOBS", 3 * (os.cpu_count() or 1) + 1))
MEMORY = "/dev/shm"  # a file system
ENOUGH_MEMORY = 8 << 30  # bytes that are free before the servers of a job keep their data there
SHOW = 20.0  # seconds between two looks at how far the runs are
NOTHING_SELECTED = 5  # what pytest ends with then
_PROGRESS = re.compile(rb"\[ *(\d+)%\]")


@dataclass(frozen=True)
class Job:
    """A part of the suite on one engine."""

    # What its results are printed under.
    name: str
    engine: str
    # Arguments of pytest that name tests.
    tests: Sequence[str]
    # Variables in addition to the environment of this process.
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OnMariaDB:
    """An additional run, selected by a variable of the environment."""

    asked_by: str
    tests: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


BESIDES = {
    "galera": OnMariaDB("PLACEMENT_GALERA", ["tests/galera"]),
    "mysqlclient": OnMariaDB(
        "PLACEMENT_MYSQLCLIENT",
        ["--selection=driver", *files_of("driver")],
        {"PLACEMENT_MYSQL_DRIVER": "mysqldb"},
    ),
}


@dataclass
class Run:
    """A job in a separate process."""

    job: Job
    output: IO[bytes]
    process: subprocess.Popen[bytes]
    # Processor time of the ended job and of the servers that it started, in seconds.
    processor_seconds: float = 0.0

    @classmethod
    def start(cls, job: Job, arguments: Sequence[str]) -> "Run":
        """Start the process."""
        environment = {**os.environ, "PLACEMENT_ENGINE": job.engine, **job.environment}
        # PERF: a new database takes half of the processor time there, and waits for no disk.
        if job.engine != "sqlite" and _free_memory() > ENOUGH_MEMORY:
            environment.setdefault("PLACEMENT_DATA", MEMORY)
        for name, other in BESIDES.items():
            if name != job.name:
                environment.pop(other.asked_by, None)
        output = tempfile.NamedTemporaryFile(prefix="tests-")  # noqa: SIM115
        command = [
            *(sys.executable, "-m", "pytest", "-p", "tests.selection"),
            *("--override-ini=addopts=--strict-markers -p no:schemathesis", "-q"),
            *(*job.tests, *arguments),
        ]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        return cls(job, output, process)

    def has_ended(self) -> bool:
        """Return whether the job has ended, and record its processor time."""
        before = _processor_seconds()
        ended = self.process.poll() is not None
        self.processor_seconds += _processor_seconds() - before
        return ended

    def text(self) -> bytes:
        """The output of the job."""
        return Path(self.output.name).read_bytes()

    def progress(self) -> str:
        """The progress of the job."""
        found = _PROGRESS.findall(self.text())
        return f"{self.job.name} {int(found[-1]) if found else 0} %"


def _processor_seconds() -> float:
    """Return the processor time of all child processes that this process has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _free_memory() -> int:
    """Return the free bytes of the file system in memory; 0 if there is none."""
    try:
        available = re.findall(r"MemAvailable: +(\d+)", Path("/proc/meminfo").read_text())
        return min(shutil.disk_usage(MEMORY).free, int(available[0]) << 10)
    except OSError:
        return 0


def chosen() -> Sequence[str]:
    """Return the engines to run. Those that are named, or of one directory, may be missing."""
    if named := os.environ.get("PLACEMENT_ENGINES"):
        return named.split(",")
    return list(SERVERS) if SERVERS_ROOT else [name for name in ENGINES if installed(name)]


def jobs(arguments: Sequence[str], run_all: bool = False) -> Iterator[Job]:
    """Yield the jobs in the order of their starts.

    Raises LookupError for a server that was chosen, but is not installed.
    """
    engines = chosen()
    if missing := [name for name in engines if not installed(name)]:
        raise LookupError(f"not installed: {', '.join(missing)}; nothing was run")
    sqlite, servers = "sqlite" in engines, [name for name in engines if name != "sqlite"]
    if any(Path(each.partition("::")[0]).exists() for each in arguments):
        selection = "whole" if os.environ.get("PLACEMENT_ENGINES") else "sample"
        if sqlite:
            yield Job("sqlite", "sqlite", ())
        yield from _selected(servers, selection)
    elif not run_all:
        selection = "sample" if SERVERS_ROOT else "smoke"
        yield from _selected(servers, selection, tests=files_of(selection))
        for part in QUICK if sqlite else ():
            yield Job(f"sqlite {part}", "sqlite", PARTS[part] or REST)
    else:
        for name, each in BESIDES.items():
            if os.environ.get(each.asked_by):
                yield Job(name, "mariadb", each.tests, each.environment)
        for part, folders in PARTS.items():
            tests = folders or REST
            if sqlite and (part not in QUICK or not os.environ.get("PLACEMENT_FRESH")):
                yield Job(f"sqlite {part}", "sqlite", tests)
            if any(map(has_tests_of_servers, tests)):
                yield from _selected(servers, "whole", part, tests)


def _selected(
    servers: Sequence[str], selection: str, part: str = "", tests: Sequence[str] = ()
) -> Iterator[Job]:
    for engine in servers:
        yield Job(f"{engine} {part or selection}", engine, [f"--selection={selection}", *tests])


def main(arguments: Sequence[str]) -> int:
    """Run the tests. Return the exit code."""
    run_all = "--all" in arguments
    arguments = [argument for argument in arguments if argument != "--all"]
    try:
        waiting = list(jobs(arguments, run_all))
    except LookupError as error:
        print(error.args[0])
        return 1
    runs: list[Run] = []
    going: list[Run] = []
    shown = time.monotonic()
    while waiting or going:
        while waiting and len(going) < JOBS:
            going.append(Run.start(waiting.pop(0), arguments))
            runs.append(going[-1])
        time.sleep(0.2)
        for run in [each for each in going if each.has_ended()]:
            going.remove(run)
            print(f"\n===== {run.job.name} =====", flush=True)
            sys.stdout.buffer.write(run.text())
            sys.stdout.flush()
        if time.monotonic() - shown > SHOW:
            shown = time.monotonic()
            print("; ".join(run.progress() for run in going), f"; {len(waiting)} wait", flush=True)
    print()
    for run in runs:
        (last,) = run.text().strip().splitlines()[-1:] or [b"nothing was run"]
        used = f"{run.processor_seconds:.0f} s of a processor"
        print(f"{run.job.name}: {last.decode().strip('= ')}, {used}")
    ran = {run.job.engine for run in runs}
    for engine in ENGINES:
        if engine in ran:
            print(f"{engine}: version {version(engine)}")
        else:
            reason = "not selected" if installed(engine) else "not installed"
            print(f"{engine}: skipped, {reason}")
    codes = {run.process.returncode for run in runs}
    if arguments and len(codes) > 1:
        codes.discard(NOTHING_SELECTED)  # by these arguments, in a part
    return max(codes, key=abs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
