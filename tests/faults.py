"""`python -m tests.faults`: plants faults in a copy of the service and runs tests that see them.

Each fault of `faults.yaml` replaces a text that occurs once in a module of `placement/candidates`.
The output is a line for each fault:

* seen: one of its tests fails
* not seen: its tests pass, so they no longer test the behaviour
* stale: the text has changed, so the fault must be planted again in the new code
* broken: pytest cannot run the tests

Arguments are parts of the names of the faults to plant. `PLACEMENT_EXAMPLES=1` runs all examples.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("placement/candidates")
ENVIRONMENT = {"PLACEMENT_ENGINE": "sqlite", "PLACEMENT_EXAMPLES": "0.15"}  # as `make test`
# Exit code of pytest -> whether the tests see the fault.
RESULTS = {0: "not seen", 1: "seen"}


class Fault(NamedTuple):
    """A mistake in the code. The fields have the names of the members in `faults.yaml`."""

    # The broken behaviour.
    name: str
    # The module, relative to the package.
    module: str
    # A text of the module.
    text: str
    # The text that replaces it.
    fault: str
    # Arguments of pytest: the tests of which one must fail.
    seen_by: str


def faults() -> list[Fault]:
    """Return all faults."""
    return [Fault(**each) for each in yaml.safe_load((ROOT / "tests/faults.yaml").read_text())]


def copy_to(directory: Path) -> None:
    """Copy all files of the repository."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, directory / name)


def plant(fault: Fault, copy: Path) -> str:
    """Run the tests of a fault in the copy, and return the result."""
    original = ROOT / PACKAGE / fault.module
    before = original.read_text() if original.exists() else ""
    if before.count(fault.text) != 1:
        return "stale"
    changed = copy / PACKAGE / fault.module
    changed.write_text(before.replace(fault.text, fault.fault))
    command = [sys.executable, "-m", "pytest", "-x", "-q", *shlex.split(fault.seen_by)]
    try:
        done = subprocess.run(
            command, cwd=copy, env={**ENVIRONMENT, **os.environ}, capture_output=True, check=False
        )
    finally:
        shutil.copy2(original, changed)
    return RESULTS.get(done.returncode, "broken")


def main(parts: Sequence[str]) -> int:
    """Plant the faults; return 1 unless all of them are seen."""
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        copy_to(Path(directory))
        for fault in faults():
            if not parts or any(part in fault.name for part in parts):
                began = time.monotonic()
                result = plant(fault, Path(directory))
                seconds = time.monotonic() - began
                print(f"{result:8} {seconds:4.0f} s  {fault.module}: {fault.name}", flush=True)
                results[result] += 1
    print(", ".join(f"{number} {result}" for result, number in results.items()))
    return int(results.keys() != {"seen"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
