"""`python -m tests`: the whole suite on SQLite, and on each installed engine what depends on it.

The engines run beside each other. `PLACEMENT_ENGINES` names those that must run, so that a
missing server fails (`PLACEMENT_ENGINES=sqlite,mariadb,postgresql`); without it those that are
installed run. With `PLACEMENT_GALERA` set the tests on a cluster run beside them, and with
`PLACEMENT_MYSQLCLIENT` those of the database and its faults with that driver. Arguments go to
pytest.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.kit.engines import SERVERS, installed

ENGINES = ("sqlite", *SERVERS)
# No engine makes a difference to these: what HTTP, processes and files do before a database is
# asked, and answers from one that is asked little.
ON_SQLITE_ALONE = (
    "tests/unit",
    "tests/api/test_authentication.py",
    "tests/api/test_bounded_answers.py",
    "tests/api/test_dump_cloud.py",
    "tests/api/test_gabbi_tables.py",
    "tests/api/test_gabbits_direct.py",
    "tests/api/test_explain_command.py",
    "tests/api/test_generators.py",
    "tests/api/test_load_cloud.py",
    "tests/api/test_policy.py",
    "tests/api/test_request_log.py",
    "tests/api/test_wsgi_stack.py",
    "tests/cluster/test_make_serve.py",
    "tests/cluster/test_memory.py",
    "tests/cluster/test_serving.py",
    "tests/docs",
    "tests/deploy",
    "tests/explorer",
    "tests/db/test_tree_memory.py",  # drivers keep rows, too
)
SHOW = 20.0  # seconds between two looks at how far the runs are
ELSEWHERE = [f"--ignore={path}" for path in ON_SQLITE_ALONE]


@dataclass(frozen=True)
class OnMariaDB:
    """A run besides those on the engines, when a variable of the environment asks for it."""

    asked_by: str
    tests: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


BESIDES = {
    "galera": OnMariaDB("PLACEMENT_GALERA", ["tests/galera"]),
    "mysqlclient": OnMariaDB(
        "PLACEMENT_MYSQLCLIENT",
        ["tests/db", "tests/cluster/test_faults.py"],
        {"PLACEMENT_MYSQL_DRIVER": "mysqldb"},
    ),
}

_PROGRESS = re.compile(rb"\[ *(\d+)%\]")


@dataclass
class Run:
    """The suite on one engine, or the tests of a cluster, in a process of its own."""

    name: str
    output: IO[bytes]
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, name: str, arguments: Sequence[str]) -> "Run":
        """Begin."""
        environment = {**os.environ, "PLACEMENT_ENGINE": name}
        tests: Sequence[str] = ()
        if name in BESIDES:
            tests = [*BESIDES[name].tests, *ELSEWHERE]
            environment |= {"PLACEMENT_ENGINE": "mariadb", **BESIDES[name].environment}
        elif name != "sqlite":
            tests = ELSEWHERE
        for other in BESIDES.keys() - {name}:
            environment.pop(BESIDES[other].asked_by, None)
        output = tempfile.NamedTemporaryFile(prefix=f"tests-{name}-")  # noqa: SIM115
        command = [
            sys.executable, "-m", "pytest", "--override-ini=addopts=--strict-markers", "-q",
            *tests, *arguments,
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        return cls(name, output, process)

    def text(self) -> bytes:
        """What it has printed."""
        return Path(self.output.name).read_bytes()

    def progress(self) -> str:
        """How far it is."""
        if self.process.poll() is not None:
            return f"{self.name} done"
        found = _PROGRESS.findall(self.text())
        return f"{self.name} {int(found[-1]) if found else 0} %"


def chosen() -> list[str]:
    """The engines to run on."""
    named = os.environ.get("PLACEMENT_ENGINES")
    return named.split(",") if named else [name for name in ENGINES if installed(name)]


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code."""
    engines = chosen()
    missing = [name for name in engines if not installed(name)]
    if missing:
        print(f"not installed: {', '.join(missing)}; nothing was run")
        return 1
    names = [*engines, *(name for name in BESIDES if os.environ.get(BESIDES[name].asked_by))]
    runs = [Run.start(name, arguments) for name in names]
    shown = time.monotonic()
    waiting = list(runs)
    while waiting:
        time.sleep(0.2)
        for run in [each for each in waiting if each.process.poll() is not None]:
            waiting.remove(run)
            print(f"\n===== {run.name} =====", flush=True)
            sys.stdout.buffer.write(run.text())
            sys.stdout.flush()
        if time.monotonic() - shown > SHOW:
            shown = time.monotonic()
            print("; ".join(run.progress() for run in runs), flush=True)
    print()
    for run in runs:
        (last,) = run.text().strip().splitlines()[-1:] or [b"nothing was run"]
        print(f"{run.name}: {last.decode().strip('= ')}")
    for engine in ENGINES:
        if engine not in engines:
            print(f"{engine}: skipped, its server is not installed")
    return max(run.process.returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
