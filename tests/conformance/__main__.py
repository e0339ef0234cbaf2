"""`python -m tests.conformance`: run tests and clients of OpenStack against this service.

Each result is stored in `figures.json`, and the page is rendered from it. A suite runs in a process
of its own for each engine, with `PLACEMENT_ENGINE`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys

from tests.conformance import page
from tests.conformance.suites import ENGINES, HOME, SUITES, environment, figures
from tests.kit.processes import REPOSITORY


def run(name: str, engine: str) -> None:
    """Run a suite on the engine of this process, and store the result.

    Raises ValueError if the output has no figures; it is in the file that the text names.
    """
    suite = SUITES[name]
    python = environment(suite.shares or name, suite.packages)
    output = suite.run(python)
    HOME.mkdir(parents=True, exist_ok=True)
    log = HOME / f"{name}-{engine}.log"
    log.write_text(output)
    try:
        passed, total = figures(output)
    except ValueError as error:
        raise ValueError(f"{error}: {log}") from error
    print(f"{name} on {engine}: {passed} of {total} passed; {log}")
    store(name, engine, passed, total)


def store(name: str, engine: str, passed: int, total: int) -> None:
    """Write the result of a suite into the file of figures."""
    stored = page.read()
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    results = stored.get(name, {}).get("results", {})
    results[engine] = {
        "passed": passed,
        "run": total,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
    }
    ordered = {each: results[each] for each in ENGINES if each in results}
    stored[name] = {"results": ordered}
    # Suites without a result are rows, too.
    rows = {
        each: {
            "release": suite.release,
            "title": suite.title,
            "note": suite.note,
            "results": stored.get(each, {}).get("results", {}),
        }
        for each, suite in SUITES.items()
    }
    page.FIGURES.write_text(json.dumps(rows, indent=1) + "\n")


def main() -> int:
    """Run the named suites, or all; returns 1 if a suite has no figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument("--engine", choices=ENGINES, help="only on this engine")
    parser.add_argument(
        "--write", action="store_true", help="only write the page of stored results"
    )
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    failed = 0
    if not options.write:
        for name in options.suites or SUITES:
            engines = [options.engine] if options.engine else SUITES[name].engines
            for engine in engines:
                if os.environ.get("CONFORMANCE_CELL") == "1":
                    run(name, engine)
                else:
                    failed |= cell(name, engine)
    page.PAGE.write_text(page.render(page.read()))
    return failed


def cell(name: str, engine: str) -> int:
    """Run one suite on one engine in a process, which has the engine; returns 1 if it failed."""
    command = [sys.executable, "-m", "tests.conformance", name, "--engine", engine]
    more = {"PLACEMENT_ENGINE": engine, "CONFORMANCE_CELL": "1"}
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ | more, check=False)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
