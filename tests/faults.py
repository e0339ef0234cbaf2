"""`python -m tests.faults`: plants faults in a copy of the service and runs tests that see them.

Each fault replaces a text that occurs once in a module. `faults.yaml` has faults of the search and
of its users, `api/faults.yaml` of the API, the client and the commands, `db/faults.yaml` of the
stored state and the rest of the service, and `schedules/faults.yaml` of the locks and guards of
writes (on MariaDB).

The output is a line for each fault:

* seen: one of its tests fails
* not seen: its tests pass, so they no longer test the behaviour
* stale: the text has changed, so the fault must be planted again in the new code
* broken: pytest cannot run the tests

Arguments are parts of the names of the faults to plant. All random examples run, unless
`PLACEMENT_EXAMPLES` states a share.

`--table` runs all tests of a fault, also after one has failed, and shows the files with failed
tests. At the end, it shows of each file how many faults it sees, and the files that see the same
faults and more. `--tests "tests/db tests/unit"` runs these tests for each fault.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[1]
# Exit code of pytest -> whether the tests see the fault.
RESULTS = {0: "not seen", 1: "seen"}
# pytest's line about a test that has failed. The group is the file of the test.
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py)", re.MULTILINE)


class Catalogue(NamedTuple):
    """A file with faults."""

    path: str
    # The folder of the modules.
    package: str
    # Variables of the tests that are not set.
    environment: Mapping[str, str]


ON_SQLITE = {"PLACEMENT_ENGINE": "sqlite"}
CATALOGUES = (
    Catalogue("tests/faults.yaml", "placement", ON_SQLITE),
    Catalogue("tests/api/faults.yaml", ".", ON_SQLITE),
    Catalogue("tests/db/faults.yaml", ".", {}),
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
    # The engine of the tests, unless the catalogue names one.
    engine: str = "sqlite"


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


def plant(
    fault: Fault, catalogue: Catalogue, copy: Path, tests: str, *, all_tests: bool
) -> tuple[str, set[str]]:
    """Run tests of a fault in the copy.

    Args:
        tests: arguments of pytest.
        all_tests: whether the tests go on after one has failed.

    Returns:
        The result, and the files of the tests that have failed.
    """
    original = ROOT / catalogue.package / fault.module
    before = original.read_text() if original.exists() else ""
    if before.count(fault.text) != 1:
        return "stale", set()
    changed = copy / catalogue.package / fault.module
    changed.write_text(before.replace(fault.text, fault.fault))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", *shlex.split(tests)]
    command += [] if all_tests else ["-x"]
    # The sample of the other tests misses faults that few requests show.
    stated = {"PLACEMENT_ENGINE": fault.engine, "PLACEMENT_EXAMPLES": "1"}
    environment = {**stated, **catalogue.environment, **os.environ}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
    finally:
        shutil.copy2(original, changed)
    return RESULTS.get(done.returncode, "broken"), set(FAILED.findall(done.stdout))


def print_table(seen: Mapping[str, Collection[str]]) -> None:
    """Print of each file how many faults it sees, and the files that see the same and more.

    seen: fault -> the files of the tests that have failed.
    """
    faults_of: dict[str, set[str]] = {}
    for name, files in seen.items():
        for file in files:
            faults_of.setdefault(file, set()).add(name)
    for file, names in sorted(faults_of.items()):
        others = [each for each, more in faults_of.items() if each != file and names <= more]
        covering = f"  all of them also by {', '.join(sorted(others))}" if others else ""
        print(f"{len(names):8} {file}{covering}")


def main(arguments: Sequence[str]) -> int:
    """Plant the faults; return 1 unless all of them are seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("parts", nargs="*", metavar="PART", help="part of the name of a fault")
    parser.add_argument("--table", action="store_true", help="show all files that see a fault")
    parser.add_argument("--tests", help="arguments of pytest, instead of the catalogue's")
    options = parser.parse_args(arguments)
    results: Counter[str] = Counter()
    seen: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory(prefix="faults-") as directory:
        copy_to(Path(directory))
        planted = [(each, fault) for each in CATALOGUES for fault in faults(each)]
        for catalogue, fault in planted:
            if options.parts and not any(part in fault.name for part in options.parts):
                continue
            began = time.monotonic()
            tests = options.tests or fault.seen_by
            result, seen[fault.name] = plant(
                fault, catalogue, Path(directory), tests, all_tests=options.table
            )
            seconds = time.monotonic() - began
            print(f"{result:8} {seconds:4.0f} s  {fault.module}: {fault.name}", flush=True)
            if options.table:
                print(*(f"{'':8}{file}\n" for file in sorted(seen[fault.name])), sep="", end="")
            results[result] += 1
    if options.table:
        print_table(seen)
    print(", ".join(f"{number} {result}" for result, number in results.items()))
    return int(results.keys() != {"seen"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
