"""`make cloud`: a whole OpenStack on this machine, and what placement holds after each step.

`--small` runs a part of the scenario with a dozen servers. `--reference` puts that version of
openstack-placement in the place of this service. The virtualenvs, the logs and the results of both
services are in `--root`; the report shows both, if both have run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cloud.load import DISTURBANCES, boot_at_random, boot_during
from tests.cloud.machine import OWN, TABLE, Machine, say
from tests.cloud.nova import Nova
from tests.cloud.own import OWN_STEPS
from tests.cloud.state import deviations
from tests.cloud.steps import SMALL, STEPS, Step

# The report of the last full runs, for the page of `tests/conformance`.
RESULTS = Path(__file__).with_name("results.json")
SHOWN = 5  # deviations of one step


@dataclass
class Result:
    """A line of the report."""

    name: str
    # Empty if placement held what it must.
    deviations: list[str]
    seconds: float
    remark: str = ""


def run_step(nova: Nova, function: Step, size: int) -> Result:
    """Run one step and compare the services."""
    name = (function.__doc__ or "").strip()
    return _result(nova, name, lambda: function(nova, size) or "")


def run_random(nova: Nova, minutes: float) -> Result:
    """Boot and delete servers at random, compare the services, and delete the rest."""
    name = "Eight clients boot and delete servers at random"
    result = _result(nova, name, lambda: f"{minutes:g} minutes: {boot_at_random(nova, minutes)}")
    nova.delete(nova.servers())
    result.deviations += deviations(nova.placement, nova.database)
    return result


def run_disturbance(nova: Nova, disturbance: Callable[[Nova], None]) -> Result:
    """Boot servers during a disturbance, compare the services, and delete the servers."""
    name = f"Boots, {(disturbance.__doc__ or '').strip()}"

    def boot() -> str:
        statuses, seconds = boot_during(nova, disturbance)
        number = sum(statuses.values())
        others = {"ERROR": 0, **{k: v for k, v in statuses.items() if k != "ACTIVE"}}
        counts = " and ".join(f"{count} {status}" for status, count in others.items())
        return f"{counts} of {number}, {seconds:.0f} s"

    result = _result(nova, name, boot)
    nova.delete(nova.servers())
    result.deviations += deviations(nova.placement, nova.database)
    return result


def _result(nova: Nova, name: str, run: Callable[[], str]) -> Result:
    began, remark, wrong = time.monotonic(), "", []
    try:
        remark = run()
    except Exception as error:  # a step that fails is a line of the report
        traceback.print_exc()
        wrong.append(f"{type(error).__name__}: {error}"[:1000])
    seconds = time.monotonic() - began
    wrong += deviations(nova.placement, nova.database)
    say(f"{'FAILED' if wrong else 'ok':6} {seconds:6.1f} s  {name}{remark and ': '}{remark}")
    for line in wrong[:SHOWN]:
        print(f"    {line}", flush=True)
    return Result(name, wrong, seconds, remark)


def report(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[list[str]]:
    """Return the rows of a table of the results of services, side by side."""
    names = dict.fromkeys(line["name"] for lines in runs.values() for line in lines)
    by_run = [{line["name"]: _cell(line) for line in lines} for lines in runs.values()]
    return [["Step", *runs], *([name, *(each.get(name, "") for each in by_run)] for name in names)]


def _cell(line: Mapping[str, Any]) -> str:
    wrong = len(line["deviations"])
    state = f"{wrong} deviation{'s' * (wrong > 1)}" if wrong else "ok"
    return f"{state}: {line['remark']}" if line["remark"] else state


def printed(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main(arguments: list[str]) -> int:
    """Run the scenario. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.cloud", description=__doc__)
    parser.add_argument("--root", type=Path, default=f"/var/tmp/placement-cloud-{os.getuid()}")
    parser.add_argument("--release", choices=TABLE["releases"], default="2026.2")
    parser.add_argument("--reference", default="", metavar="VERSION")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--computes", type=int, default=4)
    parser.add_argument("--servers", type=int, default=0, help="default: 60, or 12 with --small")
    parser.add_argument("--write", action="store_true", help=f"keep the results in {RESULTS.name}")
    parser.add_argument("--only", default="", help="names of functions, separated by commas")
    parser.add_argument("--random", type=float, default=0, metavar="MINUTES")
    options = parser.parse_args(arguments)
    size = options.servers or (12 if options.small else 60)
    every = STEPS if options.reference else [*STEPS[:-3], *OWN_STEPS, *STEPS[-3:]]
    steps, disturbances = (SMALL, ()) if options.small else (every, DISTURBANCES)
    if options.random and not options.small:
        steps, disturbances = [], ()
    if options.only:
        wanted = options.only.split(",")
        steps = [each for each in every if each.__name__ in wanted]
        disturbances = tuple(each for each in DISTURBANCES if each.__name__ in wanted)
    signal.signal(signal.SIGTERM, lambda *_arguments: sys.exit(1))  # and stop the cloud
    began = time.monotonic()
    root = options.root / options.release
    root.mkdir(parents=True, exist_ok=True)
    if {options.root.stat().st_uid, root.stat().st_uid} != {os.getuid()}:
        parser.error(f"another user owns {root}")
    machine = Machine(root, options.release, options.reference, options.computes)
    results: list[Result] = []
    try:
        machine.start()
        nova = Nova(machine)
        nova.prepare()
        say(f"the cloud runs after {time.monotonic() - began:.0f} s")
        results += [run_step(nova, function, size) for function in steps]
        results += [run_disturbance(nova, each) for each in disturbances]
        if options.random:
            results.append(run_random(nova, options.random))
    finally:
        machine.stop()
        name = f"openstack-placement {options.reference}" if options.reference else OWN
        (root / f"{name}.json").write_text(json.dumps([vars(each) for each in results], indent=1))
    runs = {path.stem: json.loads(path.read_text()) for path in sorted(root.glob("*.json"))}
    if options.write:
        RESULTS.write_text(json.dumps(report(runs), indent=1) + "\n")
    print(printed(report(runs)))
    print(f"passed {sum(not each.deviations for each in results)} of {len(results)}")
    say(f"ended after {time.monotonic() - began:.0f} s; logs: {machine.home / 'log'}")
    return int(any(each.deviations for each in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
