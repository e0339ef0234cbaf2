"""`python -m tests.faults`: plants faults in a copy of the service and runs tests that see them.

Each fault replaces a text that occurs once in a module: those of `faults.yaml` in the search and
what stands on it, those of `api/faults.yaml` in the API, the client and the commands, those of
`schedules/faults.yaml` locks and guards of writes (on MariaDB).
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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
# Exit code of pytest -> whether the tests see the fault.
RESULTS = {0: "not seen", 1: "seen"}


class Catalogue(NamedTuple):
    """A file with faults."""

    path: str
    # The folder of the modules.
    package: str
    # Variables of the tests that are not set.
    environment: Mapping[str, str]


SAMPLE = {"PLACEMENT_ENGINE": "sqlite", "PLACEMENT_EXAMPLES": "0.15"}  # as `make test`
CATALOGUES = (
    Catalogue("tests/faults.yaml", "placement/candidates", SAMPLE),
    Catalogue("tests/api/faults.yaml", ".", SAMPLE),
    Catalogue(
        "tests/schedules/faults.yaml",
        "placement",
        {"PLACEMENT_ENGINE": "mariadb", "PLACEMENT_SCHEDULES": "60"},
    ),
)


class Fault(NamedTuple):
    """A mistake in the code. The fields have the names of the members in a catalogue."""

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


def faults(catalogue: Catalogue) -> list[Fault]:
    """Return the faults of a catalogue."""
    return [Fault(**each) for each in yaml.safe_load((ROOT / catalogue.path).read_text())]


def copy_to(directory: Path) -> None:
    """Copy all files of the repository."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, directory / name)


def plant(fault: Fault, catalogue: Catalogue, copy: Path) -> str:
    """Run the tests of a fault in the copy, and return the result."""
    original = ROOT / catalogue.package / fault.module
    before = original.read_text() if original.exists() else ""
    if before.count(fault.text) != 1:
        return "stale"
    changed = copy / catalogue.package / fault.module
    changed.write_text(before.replace(fault.text, fault.fault))
    command = [sys.executable, "-m", "pytest", "-x", "-q", *shlex.split(fault.seen_by)]
    environment = {**catalogue.environment, **os.environ}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False)
    finally:
        shutil.copy2(original, changed)
    return RESULTS.get(done.returncode, "broken")


def main(parts: Sequence[str]) -> int:
    """Plant the faults; return 1 unless all of them are seen."""
    results: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        copy_to(Path(directory))
        planted = [(each, fault) for each in CATALOGUES for fault in faults(each)]
        for catalogue, fault in planted:
            if not parts or any(part in fault.name for part in parts):
                began = time.monotonic()
                result = plant(fault, catalogue, Path(directory))
                seconds = time.monotonic() - began
                print(f"{result:8} {seconds:4.0f} s  {fault.module}: {fault.name}", flush=True)
                results[result] += 1
    print(", ".join(f"{number} {result}" for result, number in results.items()))
    return int(results.keys() != {"seen"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
