"""`python -m tests`: the whole suite on SQLite, and on each installed engine what has a database.

The engines run beside each other. `PLACEMENT_ENGINES` names those that must run, so that a
missing server fails (`PLACEMENT_ENGINES=sqlite,mariadb,postgresql`); without it those that are
installed run. Arguments go to pytest.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.kit.engines import SERVERS, installed

ENGINES = ("sqlite", *SERVERS)
WITHOUT_DATABASE = ("tests/unit",)
SHOW = 20.0  # seconds between two looks at how far the runs are

_PROGRESS = re.compile(rb"\[ *(\d+)%\]")


@dataclass
class Run:
    """The suite on one engine, in a process of its own."""

    engine: str
    output: IO[bytes]
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, engine: str, arguments: Sequence[str]) -> "Run":
        """Begin."""
        left_out = () if engine == "sqlite" else WITHOUT_DATABASE
        output = tempfile.NamedTemporaryFile(prefix=f"tests-{engine}-")  # noqa: SIM115
        command = [
            sys.executable, "-m", "pytest", "--override-ini=addopts=--strict-markers", "-q",
            *(f"--ignore={path}" for path in left_out), *arguments,
        ]  # fmt: skip
        environment = {**os.environ, "PLACEMENT_ENGINE": engine}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        return cls(engine, output, process)

    def text(self) -> bytes:
        """What it has printed."""
        return Path(self.output.name).read_bytes()

    def progress(self) -> str:
        """How far it is."""
        if self.process.poll() is not None:
            return f"{self.engine} done"
        found = _PROGRESS.findall(self.text())
        return f"{self.engine} {int(found[-1]) if found else 0} %"


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
    runs = [Run.start(engine, arguments) for engine in engines]
    shown = time.monotonic()
    waiting = list(runs)
    while waiting:
        time.sleep(0.2)
        for run in [each for each in waiting if each.process.poll() is not None]:
            waiting.remove(run)
            print(f"\n===== {run.engine} =====", flush=True)
            sys.stdout.buffer.write(run.text())
            sys.stdout.flush()
        if time.monotonic() - shown > SHOW:
            shown = time.monotonic()
            print("; ".join(run.progress() for run in runs), flush=True)
    print()
    for run in runs:
        (last,) = run.text().strip().splitlines()[-1:] or [b"nothing was run"]
        print(f"{run.engine}: {last.decode().strip('= ')}")
    for engine in ENGINES:
        if engine not in engines:
            print(f"{engine}: skipped, its server is not installed")
    return max(run.process.returncode for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
